"""Layers whose arrays correspond one to one: linear maps, convolutions, norms, tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

from mlax_scaffold.weights.arrays import Shaped, elements
from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.recipes.fill import (
    Fill,
    Matrices,
    complete,
    leaf_of,
    vector,
)
from mlax_scaffold.weights.source import BARE, Layout, Node

GRADIENT = "gradient"
"""How flax lays the kernels of transposed convolutions out."""


def linear(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """A kernel (in, out), and a bias."""
    wanted = slot.wanted
    for order in ("io", "oi"):
        matrices = Matrices(order)
        found = {"kernel": matrices.take(leaf_of(node, "kernel"), wanted["kernel"])}
        if "bias" in wanted:
            found["bias"] = vector(leaf_of(node, "bias"), wanted["bias"][0])
        if filled := complete(slot, found):
            yield matrices.fill(filled)


def _labels(layout: str, spatial: int) -> tuple[str, ...]:
    """The axes of a layout, each with a name."""
    found: list[str] = []
    for letter in layout:
        found += [f"s{i}" for i in range(spatial)] if letter == "*" else [letter]
    return tuple(found)


def _permuted(given: Shaped, theirs: str, ours: str) -> Shaped:
    spatial = len(given.shape) - 2
    labels = _labels(theirs, spatial)
    return given.transposed(*(labels.index(a) for a in _labels(ours, spatial)))


def _ours(options: Mapping[str, Any]) -> list[str]:
    """The layouts that a convolution of the model may have."""
    if "channel_last" in options:
        return ["o*i" if options["channel_last"] else "oi*"]
    return ["oi*", "o*i"]


def conv(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """A kernel OIHW or OHWI, and a bias."""
    given = leaf_of(node, "kernel")
    wanted = slot.wanted
    if given is None or len(given.shape) != len(wanted["kernel"]):
        return
    for ours in _ours(slot.options):
        kernel = _permuted(given, layout.conv or ours, ours)
        yield from _with_bias(slot, node, kernel)


def conv_transpose(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """A kernel of a transposed convolution, which torch flips in space and has by inputs."""
    given = leaf_of(node, "kernel")
    wanted, options = slot.wanted["kernel"], slot.options
    if given is None or len(given.shape) != len(wanted):
        return
    groups = options.get("groups", 1)
    for ours in _ours(options):
        kernel, theirs = given, layout.conv_transpose or ours
        if theirs == "io*" and groups > 1:
            kernel, theirs = _by_outputs(given, groups), "oi*"
        readings = _readings(
            layout, theirs, flipped := bool(options.get("flip_kernel"))
        )
        fitting = {
            said: (turned, flips)
            for said, (axes, flips) in readings.items()
            if (turned := _permuted(kernel, axes, ours)).shape == wanted
        }
        first = 1 if ours == "o*i" else 2
        spatial = [a for a in range(first, first + len(wanted) - 2) if wanted[a] > 1]
        for said, (turned, flips) in fitting.items():
            differs = flips != flipped and layout.name != "mlax"
            laid = turned.flipped(*spatial) if differs else turned
            reading = said if len(fitting) > 1 else ""
            for fill in _with_bias(slot, node, laid):
                yield replace(fill, reading=reading, about=GRADIENT if reading else "")


def _readings(
    layout: Layout, theirs: str, flipped: bool
) -> dict[str, tuple[str, bool]]:
    """How the axes of a kernel lie, and whether it is flipped; first what is as in the model."""
    if layout.name != "flax":
        return {"": (theirs, layout.flips)}
    found = {
        "transpose_kernel=False": (theirs, False),
        # The gradient of a convolution.
        "transpose_kernel=True": ("*oi", True),
    }
    return dict(reversed(found.items())) if flipped else found


def _by_outputs(given: Shaped, groups: int) -> Shaped:
    """(in, out / groups, ...) of torch as (out, in / groups, ...)."""
    inputs, outputs, *spatial = given.shape
    if inputs % groups:
        return given
    split = given.reshaped((groups, inputs // groups, outputs, *spatial))
    turned = split.transposed(0, 2, 1, *range(3, 3 + len(spatial)))
    return turned.reshaped((groups * outputs, inputs // groups, *spatial))


def _with_bias(slot: Slot, node: Node, kernel: Shaped) -> Iterator[Fill]:
    found: dict[str, Shaped | None] = {"kernel": kernel}
    if "bias" in slot.wanted:
        found["bias"] = vector(leaf_of(node, "bias"), slot.wanted["bias"][0])
    if filled := complete(slot, found):
        yield Fill(filled)


def vectors(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """Norms, slopes: each weight has a size only."""
    found = {
        name: _sized(leaf_of(node, name), shape) for name, shape in slot.wanted.items()
    }
    if filled := complete(slot, found):
        yield Fill(filled)


def _sized(given: Shaped | None, shape: tuple[int, ...]) -> Shaped | None:
    if given is None or elements(given.shape) != elements(shape):
        return None
    kept = [n for n in given.shape if n > 1]
    return given.reshaped(shape) if kept == [n for n in shape if n > 1] else None


def table(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """An embedding is (entries, features) everywhere; one of positions can be a bare array."""
    given = leaf_of(node, "embedding") or node.leaves.get(BARE)
    array = _sized(given, slot.wanted["embedding"])
    if filled := complete(slot, {"embedding": array}):
        yield Fill(filled)


def alone(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """A weight that belongs to no layer, such as a token of a class."""
    array = _sized(node.leaves.get(BARE), slot.wanted["value"])
    if filled := complete(slot, {"value": array}):
        yield Fill(filled)


def by_shape(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """Any other layer: the same names, and shapes up to the order of axes."""
    fills: list[dict[str, Shaped]] = [{}]
    for name, shape in slot.wanted.items():
        given = leaf_of(node, name)
        if given is None or sorted(given.shape) != sorted(shape) or len(shape) > 4:
            return
        orders = [
            given.transposed(*axes)
            for axes in permutations(range(len(shape)))
            if tuple(given.shape[a] for a in axes) == shape
        ]
        orders = orders[:1] if given.shape == shape else orders
        fills = [{**fill, name: order} for fill in fills for order in orders]
    yield from (Fill(fill) for fill in fills if fill)
