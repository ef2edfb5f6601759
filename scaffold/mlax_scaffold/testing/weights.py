"""Contracts of weights and state that belong to another layer: each is an error that names it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.module import call_module, make_module

PyTree = Any

_Changed = tuple[str, str, PyTree]
"""What was changed in a tree, the path of the place, and the tree."""


def assert_rejects_other_weights(case: Case) -> None:
    """A ValueError names the layer and the weight where trees are not those of `init`.

    Each array of both trees gets another size, rank and kind, and is left out; each None gets
    an array; each tuple becomes that of another layer, and one entry longer and shorter.
    Only traces.
    """
    x, trainables, non_trainables, hyperparams, inputs = case.abstract_arguments(
        jnp.float32, jnp.float32
    )
    for root, tree in (("trainables", trainables), ("non_trainables", non_trainables)):
        for what, path, changed in _changes(tree, ""):
            trees = {"trainables": trainables, "non_trainables": non_trainables}
            trees[root] = changed

            def call(trees: dict[str, PyTree] = trees) -> object:
                return case.on_devices(
                    lambda: case.fwd(x, **trees, hyperparams=hyperparams, **inputs)
                )

            place = repr(path) if path else root
            _assert_refused(
                call, f"{what} at {place}", case.name, f"{case.name}: ", place
            )


def assert_module_rejects_other_weights(case: Case) -> None:
    """A ValueError names the parameter where that has another shape. Only traces."""
    module, _, params = make_module(case)
    arguments = case.abstract_arguments(jnp.float32, jnp.float32)
    arrays = arguments.x, arguments.inputs

    def run(params: Any, x: PyTree, inputs: PyTree) -> Any:
        return call_module(case, module, params, False, x, inputs)

    made = jax.eval_shape(run, params, *arrays)[1].locked()
    leaves, structure = jax.tree.flatten(made)
    for number, path in enumerate(made):
        if path in params:
            continue
        for what, changed in _other_arrays(leaves[number]):
            others = [*leaves[:number], changed, *leaves[number + 1 :]]
            given = jax.tree.unflatten(structure, others)
            _assert_refused(
                lambda given=given: jax.eval_shape(run, given, *arrays),
                what,
                case.name,
                path[-1],
            )


def _assert_refused(
    call: Callable[[], object], what: str, owner: str, *said: str
) -> None:
    try:
        call()
    except ValueError as error:
        missing = [part for part in said if part not in str(error)]
        if missing:
            raise AssertionError(
                f"{owner} refuses {what} with {error!r}, which does not say "
                f"{' and '.join(missing)}"
            ) from error
        return
    except Exception as error:
        raise AssertionError(
            f"{owner} fails with {what}, expected a ValueError: {error!r}"
        ) from error
    raise AssertionError(
        f"{owner} takes {what}, expected a ValueError that says {' and '.join(said)}"
    )


def _changes(tree: PyTree, path: str) -> Iterator[_Changed]:
    if tree is None:
        yield "an array for None", path, jax.ShapeDtypeStruct((2,), jnp.float32)
        return
    yield "None", path, None
    if isinstance(tree, dict):
        if tree:
            yield "one entry less", path, dict([*tree.items()][:-1])
        for name, part in tree.items():
            below = f"{path}/{name}" if path else str(name)
            for what, place, other in _changes(part, below):
                yield what, place, {**tree, name: other}
        return
    if not isinstance(tree, tuple):
        for what, array in _other_arrays(tree):
            yield what, path, array
        yield "a number", path, 1.0
        yield "a dict", path, {"value": tree}
        return
    yield from _other_nodes(tree, path)
    names = getattr(tree, "_fields", range(len(tree)))
    for number, name in enumerate(names):
        below = f"{path}/{name}" if path else str(name)
        for what, place, part in _changes(tree[number], below):
            parts = (*tree[:number], part, *tree[number + 1 :])
            yield what, place, _like(tree, parts)


def _other_arrays(array: jax.ShapeDtypeStruct) -> Iterator[tuple[str, Any]]:
    shape = array.shape
    shapes: dict[str, tuple[int, ...]] = {"a longer rank": (1, *shape)}
    for axis, size in enumerate(shape):
        shapes[f"axis {axis} of one more"] = _with_size(shape, axis, size + 1)
        if size != 1:
            shapes[f"axis {axis} of size 1"] = _with_size(shape, axis, 1)
        shapes[f"no axis {axis}"] = (*shape[:axis], *shape[axis + 1 :])
    for what, other in shapes.items():
        yield what, jax.ShapeDtypeStruct(other, array.dtype)


def _with_size(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _other_nodes(tree: Any, path: str) -> Iterator[_Changed]:
    fields = getattr(tree, "_fields", None)
    if fields is None:
        yield "a list", path, list(tree)
        yield "one entry more", path, (*tree, *tree[-1:], None)
        if tree:
            yield "one entry less", path, tree[:-1]
        return
    yield "a plain tuple", path, tuple(tree)
    yield "a dict", path, tree._asdict()
    for what, names in (
        ("the tuple of another layer", fields),
        ("a tuple with one field more", (*fields, "surplus")),
        ("a tuple with one field less", fields[:-1]),
    ):
        values = (*tree, None)[: len(names)]
        yield what, path, namedtuple("Other", names)(*values)  # type: ignore[misc]


def _like(tree: Any, parts: tuple[Any, ...]) -> Any:
    return type(tree)(*parts) if hasattr(tree, "_fields") else parts
