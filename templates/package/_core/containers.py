"""Containers of layers and arrays: what `init` makes of them, and how states are replaced in them.

A container is a list, a tuple or a dictionary, of such ones or of members. It has one key, which is
split among its members in the order in which they stand in it.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from . import arrays
from .outlines import SHAPES, stacked_shapes


@dataclass(eq=False)
class _Array:
    initializer: Callable[..., jax.Array]
    shape: tuple[int, ...]
    dtype: DTypeLike | None
    narrowest: DTypeLike | None
    is_state: bool
    made: bool = False


@dataclass(eq=False)
class _Layer:
    init: Callable[..., Any]
    args: tuple[Any, ...]
    inputs: dict[str, Any]
    keyed: bool
    stacked: str
    made: bool = False


def weight(
    initializer: Any, shape: Sequence[int], dtype: DTypeLike | None = None
) -> Any:
    """A member that is a weight; with a complex dtype it is complex."""
    return _Array(initializer, tuple(shape), dtype, None, False)


def state(
    initializer: Any,
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    *,
    at_least: DTypeLike | None = None,
) -> Any:
    """A member that is a state; its dtype is that of the weights, unless given."""
    return _Array(initializer, tuple(shape), dtype, at_least, True)


def layer(init: Callable[..., Any], *args: Any, **inputs: Any) -> Any:
    """A member that is a layer whose `init` takes a key."""
    return _Layer(init, args, inputs, True, "")


def plain(init: Callable[..., Any], *args: Any, **inputs: Any) -> Any:
    """A member that is a layer without weights and state of its own, such as a block."""
    return _Layer(init, args, inputs, False, "")


def stacked(field: str, init: Callable[..., Any], *args: Any, **inputs: Any) -> Any:
    """A member that is a block whose layer, in that field, is made `depth` times."""
    keyed = "key" in inspect.signature(init).parameters
    return _Layer(init, args, inputs, keyed, field)


def made(key: Any, tree: Any, dtype: DTypeLike | None) -> tuple[Any, Any, Any]:
    """Weights, states and hyperparameters of a container: a tree of each.

    Raises:
        ValueError: where one layer stands at several places, or in another container.
    """
    leaves = list(_keyed(tree))
    several = len({id(leaf) for leaf in leaves}) < len(leaves)
    if several or any(leaf.made for leaf in leaves):
        raise ValueError(
            "one layer or weight stands at several places of a container, which would make "
            "as many of it: declare each, or use the one by its name in both places"
        )
    for leaf in leaves:
        leaf.made = True
    single = isinstance(tree, _Array | _Layer) and leaves == [tree]
    keys = [key] if single else arrays.declared_keys(key, len(leaves)) if leaves else []
    # By their indices, as in other layers: iterating is another operation in newer jax.
    return _made(tree, (keys[i] for i in range(len(leaves))), dtype)


def _keyed(tree: Any) -> Iterator[Any]:
    """The members that have a key, in their order."""
    match tree:
        case dict():
            for item in tree.values():
                yield from _keyed(item)
        case list() | tuple():
            for item in tree:
                yield from _keyed(item)
        case _Array():
            yield tree
        case _Layer():
            yield from _keyed((tree.args, tree.inputs))
            if tree.keyed:
                yield tree


def _made(tree: Any, keys: Iterator[Any], dtype: DTypeLike | None) -> Any:
    match tree:
        case dict():
            parts = [_made(item, keys, dtype) for item in tree.values()]
            weights, states, hyperparams = (
                dict(zip(tree, (part[i] for part in parts), strict=True))
                for i in range(3)
            )
            return weights, states, hyperparams
        case list() | tuple():
            return arrays.unzip([_made(item, keys, dtype) for item in tree])
        case _Array():
            own = arrays.declared_dtype(tree.dtype, dtype)
            if tree.narrowest is not None:
                own = arrays.at_least(dtype, tree.narrowest)
            array = arrays.create(tree.initializer, next(keys), tree.shape, own)
            return (None, array, None) if tree.is_state else (array, None, None)
        case _Layer():
            return _layer(tree, keys, dtype)
    return None, None, tree


def _layer(member: _Layer, keys: Iterator[Any], dtype: DTypeLike | None) -> Any:
    args, inputs = member.args, member.inputs
    if member.stacked:
        first = (None,) if member.keyed else ()
        signature = inspect.signature(member.init)
        given = signature.bind(*first, *args, **inputs)
        default = signature.parameters["depth"].default
        depth = given.arguments.get("depth", default)
        part = given.arguments[member.stacked]
        given.arguments[member.stacked] = _stack(part, keys, depth, dtype)
        args, inputs = given.args[len(first) :], given.kwargs
    args = tuple(_given(arg, keys, dtype) for arg in args)
    inputs = {name: _given(value, keys, dtype) for name, value in inputs.items()}
    if not member.keyed:
        return member.init(*args, **inputs)
    return member.init(next(keys), *args, **inputs, dtype=dtype)


def _given(value: Any, keys: Iterator[Any], dtype: DTypeLike | None) -> Any:
    """An argument, with initialized layers in the place of members."""
    if isinstance(value, _Layer):
        return _layer(value, keys, dtype)
    if type(value) in (list, tuple):
        return type(value)(_given(item, keys, dtype) for item in value)
    return value


def _stack(part: Any, keys: Iterator[Any], depth: int, dtype: DTypeLike | None) -> Any:
    """A layer that is made several times, its arrays stacked along a first axis."""
    if not isinstance(part, _Layer):
        return part
    own = [next(keys) for _ in _keyed(part)]
    if any(key is SHAPES for key in own):
        return stacked_shapes(_layer(part, iter(own), dtype), depth)
    split = [jax.random.split(key, depth) for key in own]
    if not split:
        return _layer(part, iter(()), dtype)
    return jax.vmap(lambda rows: _layer(part, iter(rows), dtype))(split)


def replaced(tree: Any, steps: Sequence[Any], value: Any) -> Any:
    """The tree with another value at a place, which indices and keys lead to."""
    if not steps:
        return value
    first, *rest = steps
    if isinstance(tree, dict):
        return {**tree, first: replaced(tree[first], rest, value)}
    items = list(tree)
    items[first] = replaced(items[first], rest, value)
    return tuple(items)


def stored(tree: Any, steps: Sequence[Any], value: Any) -> Any:
    """States with others at a place, in the dtypes and containers that they are stored in."""
    old = tree
    for step in steps:
        old = old[step]
    return replaced(tree, steps, _like(old, value))


def _like(old: Any, value: Any) -> Any:
    if isinstance(old, dict):
        return {name: _like(item, value[name]) for name, item in old.items()}
    if isinstance(old, tuple):
        return tuple(_like(a, b) for a, b in zip(old, value, strict=True))
    return None if old is None else jnp.asarray(value, old.dtype)


def apply(
    hyperparams: Any,
    x: Any,
    trainables: Any,
    non_trainables: Any,
    inference_mode: bool,
    key: Any = None,
    **inputs: Any,
) -> tuple[Any, Any]:
    """A member of one of several kinds: a layer, or a function of its input."""
    if not hasattr(hyperparams, "apply"):
        return hyperparams(x, **inputs), non_trainables
    return hyperparams.apply(
        x, trainables, non_trainables, inference_mode, key, **inputs
    )


def functions(
    hyperparams: Any, trainables: Any, non_trainables: Any, inference_mode: bool
) -> Any:
    """The layers of a container as functions of their inputs: none draws or changes a state."""

    def each(part: Any, weights: Any, states: Any) -> Any:
        return functions(part, weights, states, inference_mode)

    if isinstance(hyperparams, dict):
        return {
            name: each(part, _part(trainables, name), _part(non_trainables, name))
            for name, part in hyperparams.items()
        }
    if type(hyperparams) is tuple:
        return tuple(
            each(part, _part(trainables, i), _part(non_trainables, i))
            for i, part in enumerate(hyperparams)
        )
    if not hasattr(hyperparams, "apply"):
        return hyperparams

    def call(*x: Any, **inputs: Any) -> Any:
        given = x[0] if len(x) == 1 else x
        trees = trainables, non_trainables
        return hyperparams.apply(given, *trees, inference_mode, None, **inputs)[0]

    return call


def _part(tree: Any, key: Any) -> Any:
    return None if tree is None else tree[key]
