"""Recurrent cells: gates that lie beside each other, in an order of each framework's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlax_scaffold.weights.arrays import Shaped, concat, zeros
from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.recipes.fill import Fill, complete
from mlax_scaffold.weights.source import Layout, Node


@dataclass(frozen=True)
class Cell:
    """The arrays of a cell, kernels as (in, gates * size), gates in the order of ours."""

    kernel: Shaped
    recurrent: Shaped
    biases: tuple[Shaped, ...]
    """None, one, or that of the input and that of the state."""
    last: Shaped | None = None
    """That of the state in the last gate, where it is an array of its own."""


def lstm(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """Gates i, f, g, o in ours, torch, equinox and flax; i, g, f, o in haiku."""
    for cell in _cells(node, "ifgo", slot):
        if cell.last is not None:
            continue
        bias = _sum(cell.biases)
        own = slot.options.get("forget_bias", 0.0)
        if bias is not None and layout.forget_bias != own:
            size = bias.shape[0] // 4
            parts = [bias.part(0, n * size, (n + 1) * size) for n in range(4)]
            parts[1] = parts[1].shifted(layout.forget_bias - own)
            bias = concat(parts, 0)
        elif layout.forget_bias != own:
            continue
        yield from _filled(slot, cell, {"bias": bias})


def gru(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """Gates r, z, n; haiku's are z, r, n, with 1 - z for z."""
    own = slot.wanted
    after = slot.options.get("reset_after", "recurrent_bias" in own)
    if "w_h" in node.leaves:
        if not after:
            yield from _haiku_gru(slot, node)
        return
    for cell in _cells(node, "rzn", slot):
        if not after or len(cell.recurrent.shape) != 2:
            continue
        size, last = cell.recurrent.shape[0], cell.last
        bias = cell.biases[0] if cell.biases else None
        if len(cell.biases) == 2:
            first, second = cell.biases
            gates = first.part(0, 0, 2 * size).plus(second.part(0, 0, 2 * size))
            bias = concat([gates, first.part(0, 2 * size, 3 * size)], 0)
            last = second.part(0, 2 * size, 3 * size)
        if bias is not None and last is None:
            last = zeros(size)
        yield from _filled(slot, cell, {"bias": bias, "recurrent_bias": last})


def _haiku_gru(slot: Slot, node: Node) -> Iterator[Fill]:
    turned = {}
    for ours, theirs in (("kernel", "w_i"), ("recurrent_kernel", "w_h"), ("bias", "b")):
        if theirs not in node.leaves:
            continue
        given = node.leaves[theirs]
        axis, size = len(given.shape) - 1, given.shape[-1] // 3
        z, r, n = (given.part(axis, k * size, (k + 1) * size) for k in range(3))
        # sigmoid(-a) is 1 - sigmoid(a).
        turned[ours] = concat([r, z.negated(), n], axis)
    if filled := complete(slot, turned):
        yield Fill(filled)


def simple(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """One gate."""
    for cell in _cells(node, "", slot):
        if cell.last is None:
            yield from _filled(slot, cell, {"bias": _sum(cell.biases)})


def minimal(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """Gates f, n, as flax has them."""
    cells = {name: node.children.get(name) for name in ("if", "in", "hf", "hn")}
    if any(child is None for child in cells.values()):
        return
    leaf = {k: child.leaves for k, child in cells.items() if child is not None}
    kernels = [leaf[k].get("kernel") for k in ("if", "in", "hf", "hn")]
    if any(k is None for k in kernels):
        return
    a, b, c, d = (k for k in kernels if k is not None)
    found = {
        "kernel": concat([a, b], 1),
        "recurrent_kernel": concat([c, d], 1),
        "forget_bias": leaf["if"].get("bias"),
        "bias": leaf["in"].get("bias"),
        "recurrent_bias": leaf["hn"].get("bias"),
    }
    if filled := complete(slot, found):
        yield Fill(filled)


def _filled(slot: Slot, cell: Cell, biases: dict[str, Shaped | None]) -> Iterator[Fill]:
    found = {"kernel": cell.kernel, "recurrent_kernel": cell.recurrent, **biases}
    if filled := complete(slot, found):
        yield Fill(filled)


def _sum(biases: Sequence[Shaped]) -> Shaped | None:
    if len(biases) == 2:
        return biases[0].plus(biases[1])
    return biases[0] if biases else None


def _cells(node: Node, gates: str, slot: Slot) -> Iterator[Cell]:
    """The arrays of a node as those of a cell, in each form that they have somewhere."""
    leaves = node.leaves
    if {"weight_ih", "weight_hh"} <= set(leaves):
        names = {"weight_ih", "weight_hh", "bias_ih", "bias_hh", "bias", "bias_n"}
        if set(leaves) <= names:
            given = [leaves[n] for n in ("bias_ih", "bias_hh", "bias") if n in leaves]
            yield Cell(
                leaves["weight_ih"].transposed(1, 0),
                leaves["weight_hh"].transposed(1, 0),
                tuple(given),
                leaves.get("bias_n"),
            )
    children = {name.rstrip("_"): child.leaves for name, child in node.children.items()}
    if {"dense_i", "dense_h"} <= set(children):
        yield from _two(children["dense_i"], children["dense_h"])
    elif not gates and {"i", "h"} <= set(children):
        yield from _two(children["i"], children["h"])
    elif not gates and {"linear_0", "linear_1"} <= set(children):
        yield from _two(children["linear_0"], children["linear_1"])
    elif gates and {side + gate for side in "ih" for gate in gates} <= set(children):
        yield from _by_gates(children, gates)
    elif gates == "ifgo" and "w" in children.get("linear", {}):
        yield from _haiku_lstm(children["linear"], slot)


def _two(first: dict[str, Shaped], second: dict[str, Shaped]) -> Iterator[Cell]:
    """A map of the input and one of the state, each with its bias or without."""
    for kernel, bias in (("kernel", "bias"), ("w", "b")):
        if kernel in first and kernel in second:
            biases = [own[bias] for own in (first, second) if bias in own]
            yield Cell(first[kernel], second[kernel], tuple(biases))


def _by_gates(children: dict[str, dict[str, Shaped]], gates: str) -> Iterator[Cell]:
    """A map of the input and one of the state for each gate."""
    kernels, biases = [], []
    for side in "ih":
        own = [children[f"{side}{gate}"] for gate in gates]
        if not all("kernel" in leaves for leaves in own):
            return
        kernels.append(concat([leaves["kernel"] for leaves in own], 1))
        given = [leaves["bias"] for leaves in own if "bias" in leaves]
        if len(given) == len(gates):
            biases.append(concat(given, 0))
        elif given and not (side == "h" and len(given) == 1 and gates == "rzn"):
            return
    last = children["hn"].get("bias") if gates == "rzn" else None
    yield Cell(kernels[0], kernels[1], tuple(biases), last)


def _haiku_lstm(leaves: dict[str, Shaped], slot: Slot) -> Iterator[Cell]:
    """One map of the input and the state, beside each other."""
    inputs = slot.wanted["kernel"][0]
    rows, columns = leaves["w"].shape
    size = columns // 4
    if rows != inputs + size:
        return

    def ordered(given: Shaped) -> Shaped:
        axis = len(given.shape) - 1
        places = [given.part(axis, k * size, (k + 1) * size) for k in (0, 2, 1, 3)]
        return concat(places, axis)

    kernel = ordered(leaves["w"].part(0, 0, inputs))
    recurrent = ordered(leaves["w"].part(0, inputs, rows))
    biases = (ordered(leaves["b"]),) if "b" in leaves else ()
    yield Cell(kernel, recurrent, biases)
