"""Attention over several heads: four maps, of which three are one array in some frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlax_scaffold.weights.arrays import Shaped
from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.naming import meanings, words
from mlax_scaffold.weights.recipes.fill import (
    Fill,
    Matrices,
    complete,
    leaf_of,
    vector,
)
from mlax_scaffold.weights.source import Layout, Node

_PARTS = ("query", "key", "value")
_FUSED = ("c_attn", "qkv", "Wqkv", "qkv_proj", "in_proj", "to_qkv", "query_key_value")
"""What maps to queries, keys and values at once are called."""
_KNOWN = ("c_attn",)
"""Those that are always thirds; of the others some lie head by head."""
_OUTPUTS = ("out_proj", "c_proj", "proj", "to_out", "o_proj", "out", "output", "dense")

QKV = "qkv"
THIRDS = "thirds"
HEADS = "heads"
"""How queries, keys and values lie beside each other: each together, or head by head."""

Map = tuple[Shaped | None, Shaped | None, str]
"""A kernel, a bias, and the order of the kernel's axes where it is known."""


def attention(slot: Slot, node: Node, layout: Layout) -> Iterator[Fill]:
    """The maps to_query, to_key, to_value and to_output."""
    maps = _given(node)
    if maps is None and (readings := _fused(node, slot.options.get("heads", 0))):
        for reading, maps in readings.items():
            for found in _filled(slot, maps):
                yield replace(found, reading=reading, about=QKV if reading else "")
        return
    maps = maps or _by_names(node)
    if maps is not None:
        yield from _filled(slot, maps)


def _filled(slot: Slot, maps: dict[str, Map]) -> Iterator[Fill]:
    for assumed in ("io", "oi"):
        matrices = Matrices(assumed)
        found: dict[str, Shaped | None] = {}
        for name, (kernel, bias, order) in maps.items():
            wanted = slot.wanted.get(f"to_{name}/kernel")
            own = f"to_{name}/bias"
            if wanted is None or (bias is not None) != (own in slot.wanted):
                return
            found[f"to_{name}/kernel"] = matrices.take(kernel, wanted, order)
            if own in slot.wanted:
                found[own] = vector(bias, slot.wanted[own][0])
        if filled := complete(slot, found):
            yield matrices.fill(filled)


def _thirds(given: Shaped | None, axis: int) -> list[Shaped | None]:
    if given is None:
        return [None] * 3
    size = given.shape[axis] // 3
    return [given.part(axis, n * size, (n + 1) * size) for n in range(3)]


def _by_heads(given: Shaped | None, axis: int, heads: int) -> list[Shaped | None]:
    """Of (heads, 3, size) as one axis the three, each with its heads beside each other."""
    if given is None:
        return [None] * 3
    before, behind = given.shape[:axis], given.shape[axis + 1 :]
    size = given.shape[axis] // 3
    split = given.reshaped((*before, heads, 3, size // heads, *behind))
    each = (split.picked(n, axis + 1) for n in range(3))
    return [one.reshaped((*before, size, *behind)) for one in each]


def _given(node: Node) -> dict[str, Map] | None:
    """As torch.nn.MultiheadAttention names them."""
    leaves = dict(node.leaves)
    output = node.children.get("out_proj")
    kernels = _thirds(leaves.pop("in_proj_weight", None), 0)
    order = "oi" if kernels[0] is not None else ""
    if not order:
        kernels = [leaves.pop(f"{letter}_proj_weight", None) for letter in "qkv"]
    biases = _thirds(leaves.pop("in_proj_bias", None), 0)
    if output is None or None in kernels or leaves:
        return None
    return _maps(kernels, biases, order, output)


def _fused(node: Node, heads: int) -> dict[str, dict[str, Map]]:
    """One map to all three, and one to the output, in each reading; "" is the only one."""
    first = next((n for n in _FUSED if n in node.children), None)
    last = next((node.children[n] for n in _OUTPUTS if n in node.children), None)
    if first is None or last is None:
        return {}
    kernel, bias = (leaf_of(node.children[first], n) for n in ("kernel", "bias"))
    if kernel is None or len(kernel.shape) != 2:
        return {}
    axis = 0 if kernel.shape[0] > kernel.shape[1] else 1
    order, size = ("oi", "io")[axis], kernel.shape[axis] // 3
    thirds = _maps(_thirds(kernel, axis), _thirds(bias, 0), order, last)
    if first in _KNOWN or heads == 1:
        return {"": thirds}
    if not heads or size % heads:
        return {THIRDS: thirds}
    kernels, biases = _by_heads(kernel, axis, heads), _by_heads(bias, 0, heads)
    return {THIRDS: thirds, HEADS: _maps(kernels, biases, order, last)}


def _maps(
    kernels: list[Shaped | None], biases: list[Shaped | None], order: str, output: Node
) -> dict[str, Map]:
    """Three maps of that order, and one to the output."""
    maps: dict[str, Map] = {
        name: (kernel, bias, order)
        for name, kernel, bias in zip(_PARTS, kernels, biases, strict=True)
    }
    return {**maps, "output": (leaf_of(output, "kernel"), leaf_of(output, "bias"), "")}


def _by_names(node: Node) -> dict[str, Map] | None:
    """Four maps below a place, each with the name of what it makes."""
    found: dict[str, Map] = {}
    for below in node.walk():
        own = below.path[len(node.path) :]
        kernel = leaf_of(below, "kernel")
        if not own or kernel is None or len(kernel.shape) < 2:
            continue
        said = meanings(own)
        names = [name for name in (*_PARTS, "output") if name in said]
        if not names and words(own[-1]) == ("linear",) and len(own) == 1:
            names = ["output"]  # what haiku calls it
        if len(names) == 1:
            if names[0] in found:
                return None
            found[names[0]] = kernel, leaf_of(below, "bias"), ""
    return found if set(found) == {*_PARTS, "output"} else None
