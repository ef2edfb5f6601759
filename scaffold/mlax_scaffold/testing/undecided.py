"""Weights of an original that names do not tell apart, in the orders in which they may have been made."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import replace
from itertools import count, groupby
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.weights.arrays import Expression, names_in, parse
from mlax_scaffold.weights.mapping import Mapping, Weight
from mlax_scaffold.weights.matching import NAMES
from mlax_scaffold.weights.paths import key_names

__all__ = ["as_declared", "as_made_in_loops", "as_named", "as_numbered", "moved"]


def as_declared(mapping: Mapping) -> Mapping:
    """The mapping, in which what is open is taken in the order of the weights of the layer.

    What the original has not, which these hyperparameters leave unused, keeps its initial value:
    whether all this was right, the results say.
    """
    return _taken(mapping, mapping.weights)


def as_made_in_loops(mapping: Mapping) -> Mapping:
    """The same, where the layers of lists beside each other were made in turn, as a loop makes them."""
    order: list[Weight] = []
    for holder, group in groupby(mapping.weights, _holder_of):
        weights = list(group)
        order += sorted(weights, key=_number_of) if holder is not None else weights
    return _taken(mapping, order)


def as_numbered(mapping: Mapping) -> Mapping:
    """The same, where names that only count what was made, `layer_norm_2`, say nothing of the layer."""
    return as_made_in_loops(replace(mapping, weights=tuple(_opened(mapping))))


def _opened(mapping: Mapping) -> Iterator[Weight]:
    """The weights, of which those of a layer beside lists are open where its name counts with theirs."""
    counted = {
        id(w): [v for v in mapping.weights if not w.initial and _is_beside(v, w)]
        for w in mapping.weights
        if w.reason == NAMES and _COUNTS.search(str(w.expression))
    }
    more = {
        id(v): str(w.expression)
        for w in mapping.weights
        for v in counted.get(id(w), ())
    }
    for weight in mapping.weights:
        beside = counted.get(id(weight), [])
        texts = {c for v in beside for c in v.candidates} | {str(weight.expression)}
        if id(weight) in more:
            texts = {*weight.candidates, more[id(weight)]}
        elif not beside:
            yield weight
            continue
        yield replace(
            weight,
            expression=None,
            reason="",
            candidates=tuple(sorted(texts, key=_count_of)),
        )


_COUNTS = re.compile(r"_(\d+)/[^/]*$")


def _count_of(text: str) -> int:
    found = _COUNTS.search(text)
    return int(found[1]) if found else 0


def _is_beside(listed: Weight, weight: Weight) -> bool:
    """Whether a weight of a list is open, and what stands beside the list has one like it."""
    *holder, _, own = weight.leaf.path.split("/")
    same = (
        listed.leaf.path.endswith(f"/{own}") and listed.leaf.shape == weight.leaf.shape
    )
    return same and bool(listed.candidates) and _holder_of(listed) == "/".join(holder)


def as_named(mapping: Mapping) -> Mapping:
    """The same as declared, where of what is open that is taken first whose layer has the same name."""
    return _taken(mapping, mapping.weights, _named_alike)


def _named_alike(weight: Weight, array: Expression) -> bool:
    """Whether a layer of the original is called as the one that has the weight, by its own name."""
    own = weight.leaf.path.split("/")[-2:-1]
    return bool(own) and all(
        name.replace(".", "/").split("/")[-2:-1] == own for name in names_in(array)
    )


def _place(weight: Weight) -> tuple[str, int] | None:
    """What holds the first list that a weight is in, and the place there of the layer that it is one of."""
    parts = weight.leaf.path.split("/")
    for at, part in enumerate(parts):
        if part.isdigit() and at:
            return "/".join(parts[: at - 1]), int(part)
    return None


def _holder_of(weight: Weight) -> str | None:
    place = _place(weight)
    return place[0] if place is not None else None


def _number_of(weight: Weight) -> int:
    place = _place(weight)
    return place[1] if place is not None else 0


def _taken(
    mapping: Mapping,
    order: Sequence[Weight],
    first: Callable[[Weight, Expression], bool] = lambda *_: False,
) -> Mapping:
    used = {n for w in mapping.weights if w.expression for n in names_in(w.expression)}
    known = set(used)
    made: dict[int, Weight] = {}
    for weight in order:
        if weight.decided:
            continue
        fitting = [parse(text) for text in weight.candidates]
        known.update(n for f in fitting for n in names_in(f))
        left = [f for f in fitting if not used & set(names_in(f))]
        left.sort(key=lambda f, weight=weight: not first(weight, f))
        used.update(n for f in left[:1] for n in names_in(f))
        chosen = left[0] if left else None
        made[id(weight)] = replace(weight, expression=chosen, initial=chosen is None)
    weights = tuple(made.get(id(w), w) for w in mapping.weights)
    unused = tuple(sorted({*mapping.unused, *(known - used)}))
    return replace(mapping, weights=weights, unused=unused)


def _moved_state(state: Any, other: Callable[[Any], Any], used: Collection[str]) -> Any:
    """The averages that the layer has, too, are others; what else is in a state stays."""
    if not isinstance(state, MappingOf):
        return jax.tree.map(other, state)

    def unless_unread(path: Any, leaf: Any) -> Any:
        name = "/".join(key_names(path))
        return other(leaf) if {name, f"1/{name}"} & set(used) else leaf

    return jax.tree_util.tree_map_with_path(unless_unread, state)


def moved(tree: Any, mapping: Mapping) -> Any:
    """Weights other than the initial ones, each another: zeros and ones would hide what is exchanged."""
    used = {n for w in mapping.weights if w.expression for n in names_in(w.expression)}
    numbers = count()

    def other(leaf: Any) -> Any:
        if not jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
            return leaf
        drawn = jax.random.normal(jax.random.key(next(numbers)), leaf.shape)
        made = leaf + 0.1 * jnp.abs(drawn)
        return np.asarray(made, leaf.dtype) if isinstance(leaf, np.ndarray) else made

    if isinstance(tree, dict) and used <= set(tree):
        # What the layer computes from its hyperparameters stays what it is.
        return {name: other(x) if name in used else x for name, x in tree.items()}
    if isinstance(tree, tuple) and len(tree) == 2:
        # Parameters, and the state of haiku or equinox beside them.
        return jax.tree.map(other, tree[0]), _moved_state(tree[1], other, used)
    paths = (path for path, _ in jax.tree_util.tree_leaves_with_path(tree))
    known = used <= {"/".join(key_names(path)) for path in paths}

    def unless_computed(path: Any, leaf: Any) -> Any:
        """Another array, unless it is one that the layer computes; those are not all of one number."""
        computed = known and "/".join(key_names(path)) not in used
        return leaf if computed and np.ptp(leaf) > 0 else other(leaf)

    return jax.tree_util.tree_map_with_path(unless_computed, tree)
