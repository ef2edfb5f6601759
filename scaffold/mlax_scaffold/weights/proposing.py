"""The mapping that is proposed for a model and a checkpoint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from collections.abc import Mapping as Table
from dataclasses import replace

from mlax_scaffold.weights.arrays import Expression, Given, Shape, names_in, stacked
from mlax_scaffold.weights.mapping import Mapping, Weight
from mlax_scaffold.weights.matching import LEFT, NAMES, Match, match
from mlax_scaffold.weights.model import Leaf, Model, Slot
from mlax_scaffold.weights.recipes import Fill
from mlax_scaffold.weights.recipes.attention import QKV
from mlax_scaffold.weights.recipes.simple import GRADIENT
from mlax_scaffold.weights.source import LAYOUTS, Source, components, read_source

_ROLES = {"attention_norm", "feed_forward_norm", "widen", "narrow"}
_QKV_OPEN = (
    "One array of queries, keys and values has them in thirds, or head by head: which of these is"
    " open; say --qkv thirds or --qkv heads."
)
_QKV_ASKED = "One array of queries, keys and values has them in {}, as was asked for."
_QKV = (
    "One array of queries, keys and values is taken as thirds. It may have them head by head: map"
    " an initialized layer, which says how many heads there are, for both to be listed."
)
_GRADIENT_OPEN = (
    "Transposed convolutions with as many inputs as outputs do not tell what transpose_kernel was:"
    " False, as flax has it by default, or True."
)
Key = tuple[str, str]


def propose(
    model: Model,
    shapes: Table[str, Shape],
    framework: str | None = None,
    linear: str | None = None,
    qkv: str | None = None,
    integers: Collection[str] = (),
) -> Mapping:
    """Propose what each weight of a model is made of.

    Args:
        model: what is expected.
        shapes: of the arrays of the checkpoint, by name.
        framework: a key of `LAYOUTS`; None: as the names say.
        linear: how 2-D kernels lie, "oi" or "io"; None: as in the framework.
        qkv: how queries, keys and values lie in one array, "thirds" or "heads"; None: not known.
        integers: the names of arrays of integers.
    """
    if framework in (None, "mlax") and (same := _same_names(model, shapes)):
        return same
    # What the model keeps at its initial value is told so where it is found.
    kept = {leaf.path.rpartition("/")[2] for leaf in model.kept}
    whole = [n for n in integers if components(n)[-1] not in kept]
    source = read_source(shapes, framework, whole)
    roles = any(_ROLES & set(slot.path) for slot in model.slots)
    found = match(model.slots, source, roles)
    order, notes = _order(found.matches, source, linear)
    chosen: dict[int, tuple[Match, Sequence[Fill]]] = {
        id(one.slot): (one, _settled(one.fills, order, qkv)) for one in found.matches
    }
    several: dict[int, list[Fill]] = {}
    for slot, rows in found.open:
        ways = [way for _, ways in rows for way in _settled(ways, order, qkv)]
        several[id(slot)] = ways
    notes += _of_readings(chosen, qkv) + _of_projections(source)
    weights = _weights(model, chosen, several, source.shapes)
    weights = _left_in_place(_named_alike(weights, source), source)
    touched = {
        name
        for fills in (*several.values(), *(fills for _, fills in chosen.values()))
        for fill in fills
        for name in _names(fill)
    } | {name for w in weights if w.expression for name in names_in(w.expression)}
    ignored = {**source.ignored, **_kept(found.matches)}
    unused = [n for n in shapes if n not in touched and n not in ignored]
    return Mapping(
        source.layout.name if source.layout else "",
        weights,
        tuple(unused),
        tuple(ignored.items()),
        tuple(notes),
    )


def _named_alike(weights: tuple[Weight, ...], source: Source) -> tuple[Weight, ...]:
    """Weights, of which those of the path and shape of an array are that array.

    Where weights are called otherwise than in the framework, its arrays lie as they do.
    """
    torch = source.layout is not None and source.layout.name == "torch"
    used = {n for w in weights if w.expression for n in names_in(w.expression)}
    paths: dict[str, list[str]] = {}
    for name in source.shapes:
        paths.setdefault(_path(name), []).append(name)
    made: list[Weight] = []
    for weight in weights:
        alike = paths.get(_path(weight.leaf.path), [])
        name = alike[0] if len(alike) == 1 else ""
        fits = name and tuple(source.shapes[name]) == weight.leaf.shape
        if weight.decided:
            fits = fits and torch and weight.expression is not None
            fits = fits and not _of_another_layer(weight, name)
        elif name in used:
            fits = False
        made.append(Weight(weight.leaf, Given(name), NAMES) if fits else weight)
    return tuple(made)


def _of_another_layer(weight: Weight, name: str) -> bool:
    """Whether a weight is that array, or one of the same name of a layer that was decided.

    `layers_0/1/bias` is `layers.1.0.bias` where that is decided, and not `layers.0.1.bias`.
    """
    match weight.expression:
        case Given(name=own):
            ends = (n.rpartition(".")[2] for n in (own, name))
            exact = name.replace(".", "/") == weight.leaf.path
            return own == name or (len({*ends}) == 1 and not exact)
    return False


def _left_in_place(weights: tuple[Weight, ...], source: Source) -> tuple[Weight, ...]:
    """Weights, of which the only one left of a layer is the only array left of it.

    `norm/weight` is `params/norm/kernel` where both have no other, however each is called.
    """
    used = {n for w in weights if w.expression for n in names_in(w.expression)}
    left: dict[str, list[str]] = {}
    for name in source.shapes:
        if name not in used:
            left.setdefault(_place(name), []).append(name)
    open_ = Counter(_place(w.leaf.path) for w in weights if not w.decided)
    made: list[Weight] = []
    for weight in weights:
        place = _place(weight.leaf.path)
        alike = [n for p, below in left.items() if _is_end(p, place) for n in below]
        fits = not weight.decided and open_[place] == len(alike) == 1
        fits = fits and tuple(source.shapes[alike[0]]) == weight.leaf.shape
        made.append(Weight(weight.leaf, Given(alike[0]), LEFT) if fits else weight)
    return tuple(made)


def _place(name: str) -> str:
    """The path of the layer that an array is of, without the collection of flax."""
    return _path(name).removeprefix("params/").rpartition("/")[0]


def _is_end(one: str, other: str) -> bool:
    """Whether a path is the last parts of another one: `0/norm` and `blocks/0/norm`."""
    long, short = sorted((f"/{one}", f"/{other}"), key=len, reverse=True)
    return short != "/" and long.endswith(short)


def _path(name: str) -> str:
    """A name, however its parts are told apart."""
    return re.sub(r"[\W_]+", "/", name)


def _of_path(ways: Sequence[Expression], leaf: Leaf) -> list[Expression]:
    """Of several ways to make a weight, those of arrays of the very layer that it is of."""
    place = _path(leaf.path).rpartition("/")[0]
    return [
        way
        for way in ways
        if {_path(n).rpartition("/")[0] for n in names_in(way)} == {place}
    ]


def _kept(matches: Sequence[Match]) -> dict[str, str]:
    """Arrays beside those that are taken, which the model has and keeps as they are."""
    return {
        name: "keeps its initial value"
        for found in matches
        for own, leaf in found.node.leaves.items()
        if own in found.slot.kept
        for name in names_in(leaf.expression)
    }


def _names(fill: Fill) -> set[str]:
    return {n for array in fill.arrays.values() for n in names_in(array.expression)}


def _settled(ways: Sequence[Fill], order: str, qkv: str | None) -> list[Fill]:
    """The ways in which kernels lie so; all where that is not known."""
    return [
        way
        for way in ways
        if (not way.assumed or not order or way.assumed == order)
        and (way.about != QKV or not qkv or way.reading == qkv)
    ]


def _of_readings(
    chosen: Table[int, tuple[Match, Sequence[Fill]]], qkv: str | None
) -> list[str]:
    """What is to be said of arrays whose shapes do not tell how they are to be read."""
    found = {fill.about: fills for _, fills in chosen.values() for fill in fills}
    notes = []
    if QKV in found:
        several = len({fill.reading for fill in found[QKV]}) > 1
        notes.append(_QKV_ASKED.format(qkv) if qkv else _QKV_OPEN if several else _QKV)
    if GRADIENT in found:
        notes.append(_GRADIENT_OPEN)
    return notes


def _of_projections(source: Source) -> list[str]:
    """What is to be said of the projections that LSTM of torch has with `proj_size`."""
    names = [n for n in source.shapes if re.search(r"(^|\W)weight_hr_l\d+", n)]
    if not names:
        return []
    return [
        f"{', '.join(names)}: an LSTM of torch with proj_size maps its state to fewer features at "
        "each step, for which LSTMCell has no weight. Write such a cell as a spec, "
        "`new-layer --like LSTMCell`, with a weight of that name."
    ]


def _order(
    matches: Sequence[Match], source: Source, linear: str | None
) -> tuple[str, list[str]]:
    """How square kernels lie, "" where that is not known, and what is to be said of it."""
    votes = {o for m in matches for way in m.fills[:1] for o in way.orders}
    expected = source.layout.linear if source.layout else ""
    if linear:
        return linear, [
            f"Square kernels are ({linear[0]}, {linear[1]}), as was asked for."
        ]
    if expected and votes - {expected}:
        name = source.layout.name if source.layout else ""
        return "", [
            f"Kernels of {name} are ({expected[0]}, {expected[1]}), yet some of this checkpoint"
            f" are not: how square ones lie is open; say --linear oi or --linear io."
        ]
    if expected:
        return expected, []
    return (votes.pop() if len(votes) == 1 else ""), []


def _weights(
    model: Model,
    chosen: Table[int, tuple[Match, Sequence[Fill]]],
    several: Table[int, Sequence[Fill]],
    shapes: Table[str, Shape],
) -> tuple[Weight, ...]:
    by_leaf: dict[Key, list[tuple[Slot, str]]] = {}
    for slot in model.slots:
        for name, leaf in slot.leaves.items():
            by_leaf.setdefault((leaf.group, leaf.path), []).append((slot, name))
    weights = []
    for leaf in model.leaves:
        rows = by_leaf.get((leaf.group, leaf.path))
        if rows is None:
            weights.append(Weight(leaf, reason="nothing to load", initial=True))
            continue
        weights.append(_weight(leaf, rows, chosen, several, shapes))
    return tuple(weights)


def _weight(
    leaf: Leaf,
    rows: Sequence[tuple[Slot, str]],
    chosen: Table[int, tuple[Match, Sequence[Fill]]],
    several: Table[int, Sequence[Fill]],
    shapes: Table[str, Shape],
) -> Weight:
    stack = bool(rows[0][0].depth)
    orders = _stacks(rows, chosen, shapes) if stack else {}
    if len(orders) > 1:
        return Weight(
            leaf, candidates=tuple(map(str, orders)), readings=tuple(orders.values())
        )
    parts: list[Expression] = []
    reasons: list[str] = []
    candidates: list[str] = []
    readings: list[str] = []
    for slot, name in rows:
        found, fills = chosen.get(id(slot), (None, several.get(id(slot), ())))
        made = {fill.arrays[name].expression: fill.reading for fill in fills}
        ways = list(made)
        named = _of_path(ways, leaf) if len(ways) > 1 and not stack else []
        if found is None and len(named) == 1:
            parts.append(named[0])
            reasons.append(NAMES)
        elif found is not None and len(ways) == 1:
            parts.append(ways[0])
            reasons.append(found.reason)
            alike = [way for way in found.fills if way.reading == fills[0].reading]
            if len({way.arrays[name] for way in alike}) > 1:
                reasons.append(f"square, taken as ({', '.join(fills[0].assumed)})")
        else:
            layer = f"layer {slot.index} of {slot.depth}: " if slot.depth else ""
            candidates += [f"{layer}{way}" for way in ways]
            readings += [made[way] for way in ways]
    if len(parts) < len(rows):
        return Weight(leaf, candidates=tuple(candidates), readings=tuple(readings))
    expression = stacked(parts, shapes) if stack else parts[0]
    return Weight(leaf, expression, "; ".join(dict.fromkeys(reasons)))


def _stacks(
    rows: Sequence[tuple[Slot, str]],
    chosen: Table[int, tuple[Match, Sequence[Fill]]],
    shapes: Table[str, Shape],
) -> dict[Expression, str]:
    """The ways to make a weight of a stack of layers whose places are known, and as what."""
    if not all(id(slot) in chosen for slot, _ in rows):
        return {}
    ways = [
        [(fill.arrays[name].expression, fill.reading) for fill in chosen[id(slot)][1]]
        for slot, name in rows
    ]
    return {
        stacked([part for part, _ in parts], shapes): parts[0][1]
        for parts in zip(*ways, strict=False)
    }


def _same_names(model: Model, shapes: Table[str, Shape]) -> Mapping | None:
    """The mapping where a checkpoint has the names and shapes of the model itself."""
    for prefixed in (False, True):
        weights = []
        for leaf in model.leaves:
            number = str(model.groups.index(leaf.group))
            name = (
                "/".join(n for n in (number, leaf.path) if n) if prefixed else leaf.path
            )
            if tuple(shapes.get(name, (-1,))) != leaf.shape:
                if leaf in model.kept and name not in shapes:
                    weights.append(Weight(leaf, reason="nothing to load", initial=True))
                    continue
                break
            weights.append(Weight(leaf, Given(name), "the same name"))
        else:
            made = Mapping(LAYOUTS["mlax"].name, tuple(weights))
            used = {n for w in weights if w.expression for n in names_in(w.expression)}
            return replace(made, unused=tuple(n for n in shapes if n not in used))
    return None
