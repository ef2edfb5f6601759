"""An update of every weight: scalars, rows of leaves, and what is stored of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from ..placement import in_place
from ..static import Weights
from ..steps import at_step
from ._held import Held, joined, rebuilt

Made = TypeVar("Made")


def scalar(value: Any) -> jax.Array:
    """A scalar in the default float dtype: coefficients are cast to a leaf's dtype once.

    What is true or false stays a boolean.
    """
    if isinstance(value, jax.Array) and value.dtype == jnp.bool_:
        return value
    return jnp.asarray(value, jnp.result_type(float))


def scheduled(value: Any, step: jax.Array) -> Any:
    """The value of a schedule, or the number, at a step; None stays None."""
    if value is None:
        return None
    return scalar(at_step(value, step) if callable(value) else value)


def incremented(step: jax.Array) -> jax.Array:
    """The next number of steps. After the largest of its dtype it stays there."""
    return jnp.minimum(step, jnp.iinfo(step.dtype).max - 1) + 1


def dither(step: jax.Array) -> jax.Array:
    """A number in [0, 1) for each step: multiples of the golden ratio, without integers.

    Rounding up where the lost fraction exceeds it rounds to the mean: over any number of
    steps the errors add up to about one unit in the last place.
    """
    spread = step.astype(jnp.uint32) * jnp.uint32(2654435769)
    return scalar((spread >> 8).astype(jnp.float32) * jnp.float32(2.0**-24))


def map_leaves(
    update: Callable[..., tuple[Any, ...]],
    trainables: Any,
    gradients: Any,
    *moments: Any,
    scalars: Sequence[Any] = (),
    dtype: DTypeLike | None = None,
    masks: Sequence[Any] = (),
    key: jax.Array | None = None,
) -> tuple[Any, ...]:
    """Call `update(grad, param, *moments, *scalars, *masks)` for every weight.

    Floating arrays and scalars, which are numbers for all weights, arrive in `dtype`
    (None: that of the weight), others as they are; with a key, `update` gets one for each
    weight as its last argument. Results are trees with the structure of `trainables`:
    updates in the dtypes of the weights, moments in their own. A moment of None stays
    None, and those that are held in a container stay in it.
    """
    params, structure = jax.tree.flatten(trainables)
    trees = (gradients, *moments, *masks)
    columns = [
        [None] * len(params)
        if tree is None
        else tree.rows(structure)
        if isinstance(tree, Held)
        else structure.flatten_up_to(tree)
        for tree in trees
    ]
    if key is not None:
        own = jax.random.split(key, len(params))
        columns.append([own[i] for i in range(len(params))])
    count = 1 + len(moments)
    rows = []
    numbers: dict[Any, list[Any]] = {}
    for param, grad, *others in zip(params, *columns, strict=True):
        compute = param.dtype if dtype is None else dtype
        kept = others[: len(moments)]
        arrive = [jax.tree.map(lambda a: _arriving(a, compute), m) for m in kept]  # noqa: B023
        if compute not in numbers:
            numbers[compute] = [
                None if s is None else _arriving(s, compute) for s in scalars
            ]
        arrive += numbers[compute]
        given = (grad.astype(compute), param.astype(compute), *arrive)
        step, *new = update(*given, *others[len(moments) :])
        pairs = zip(new, kept, strict=True)
        new = [rebuilt(a, b, lambda a, b: _stored(a, b, param)) for a, b in pairs]  # noqa: B023
        rows.append([jnp.asarray(step, param.dtype), *new])
    return tuple(
        _of_all(structure, [r[i] for r in rows], moments[i - 1] if i else gradients)
        for i in range(count)
    )


def _of_all(structure: Any, column: list[Any], before: Any) -> Any:
    if isinstance(before, Held):
        return joined(structure, column, None) if column else before.trees
    return None if before is None else structure.unflatten(column)


def _arriving(array: Any, dtype: DTypeLike) -> Any:
    if jnp.issubdtype(array.dtype, jnp.floating):
        return array.astype(dtype)
    return array


def unzip(
    trainables: Any, rows: Callable[..., Mapping[str, Any]], *masks: Any
) -> dict[str, Any]:
    """Trees, by name, from a function that makes one leaf of each for a weight.

    Where it makes None, the tree is None.
    """
    params, structure = jax.tree.flatten(trainables)
    columns = [structure.flatten_up_to(mask) for mask in masks]
    made = [rows(*row) for row in zip(params, *columns, strict=True)]
    names = made[0] if made else of_any(lambda w: rows(w, *(True for _ in masks)))
    return {
        name: joined(structure, [row[name] for row in made], leaf)
        for name, leaf in names.items()
    }


def of_any(made: Callable[[jax.Array], Made]) -> Made:
    """What a function makes of a leaf, where there is none: of a scalar, if it does not refuse that.

    Raises:
        ValueError: what it says of a scalar, where it refuses leaves of up to five axes.
    """
    refused: list[ValueError] = []
    for axes in range(6):
        try:
            return made(jnp.zeros((2,) * axes, jnp.float32))
        except ValueError as error:
            refused.append(error)
    raise refused[0]


def stored(tree: Any, like: Any, trainables: Any = None) -> Any:
    """A new tree of the state, in the dtypes of the old one and where that lies.

    With the weights, it is a moment of other shapes than theirs.
    """
    if trainables is None or like is None:
        return jax.tree.map(_stored, tree, like)
    return jax.tree.map(lambda w, a, b: _stored(a, b, w), trainables, tree, like)


def _stored(new: Any, old: Any, param: Any = None) -> jax.Array:
    return in_place(jnp.asarray(new, old.dtype), old, param)


def apply_updates(trainables: Weights, updates: Weights) -> Weights:
    """The weights after a step: each with its update added, in its own dtype."""
    return jax.tree.map(lambda w, update: in_place(w + update, w), trainables, updates)
