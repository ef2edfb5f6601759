"""Creating and casting arrays, splitting keys."""

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike, DTypeLike

from .outlines import ANYTHING, SHAPES
from .static import frozen as frozen

Initializer = Callable[..., jax.Array]
"""`initializer(key, shape, dtype)`, as in `jax.nn.initializers`."""


def create(
    initializer: Initializer,
    key: jax.Array,
    shape: Sequence[int],
    dtype: DTypeLike | None,
) -> jax.Array:
    """A new array on the default device; a dtype of None is the initializer's own.

    An initializer that computes with numbers of NumPy makes another precision than it is asked for.
    """
    shape = tuple(shape)
    if key is SHAPES:
        return jax.ShapeDtypeStruct(shape, jnp.float32)  # type: ignore[return-value]
    if dtype is None and _needs_dtype(initializer):
        dtype = jnp.result_type(float)
    arguments = () if dtype is None else (dtype,)
    weight = initializer(key, shape, *arguments)
    if getattr(weight, "shape", None) != shape:
        raise ValueError(
            f"the initializer {initializer!r} must return an array of shape {shape}, got "
            f"{getattr(weight, 'shape', weight)}; one that takes arguments is called with "
            "them first, as in lecun_normal()"
        )
    return in_precision(weight, dtype)


def in_precision(x: jax.Array, dtype: DTypeLike | None) -> jax.Array:
    """The array in a floating dtype, where it has another one; None: as it is."""
    if dtype is None or x.dtype == dtype:
        return x
    kinds = x.dtype, jnp.dtype(dtype)
    floating = all(jnp.issubdtype(kind, jnp.floating) for kind in kinds)
    return x.astype(dtype) if floating else x


def _needs_dtype(initializer: Initializer) -> bool:
    """Whether an initializer has no dtype of its own, as `lambda key, shape, dtype: ...`."""
    try:
        parameters = inspect.signature(initializer).parameters
    except (TypeError, ValueError):  # it is not written in Python
        return False
    required = [
        p
        for p in parameters.values()
        if p.kind in _BY_PLACE and p.default is inspect.Parameter.empty
    ]
    return len(required) > 2 or "dtype" in (p.name for p in required)


_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def matching(own: Any, dtype: DTypeLike) -> Any:
    """The dtype of the precision of another: complex where the array's own is, else real."""
    dtype = jnp.dtype(dtype)
    is_complex = jnp.issubdtype(dtype, jnp.complexfloating)
    if jnp.issubdtype(own, jnp.complexfloating):
        return dtype if is_complex else complex_dtype(dtype)
    return jnp.finfo(dtype).dtype if is_complex else dtype


def complex_dtype(dtype: DTypeLike | None) -> Any:
    """The complex dtype whose parts have a floating one; None: the default one.

    Raises:
        ValueError: in half precision there are none.
    """
    if dtype is None:
        return jnp.result_type(complex)
    given = jnp.dtype(dtype)
    if jnp.issubdtype(given, jnp.complexfloating):
        return given
    if given.itemsize < 4:
        raise ValueError(
            f"complex numbers are of float32 or float64, and not of {given}: give "
            "their weights one of these dtypes"
        )
    return jnp.result_type(given, jnp.complex64)


def declared_dtype(declared: DTypeLike | None, dtype: DTypeLike | None) -> Any:
    """The declared one, if any; what is declared complex has the precision of the weights."""
    is_complex = declared and jnp.issubdtype(declared, jnp.complexfloating)
    return complex_dtype(dtype) if is_complex else declared or dtype


def at_least(dtype: DTypeLike | None, narrowest: DTypeLike) -> DTypeLike | None:
    """The wider of two dtypes; None, the initializer's own, is the default one."""
    if dtype is None:
        return None
    # Who lets jax mix no dtypes lets it tell which one is wider.
    with jax.numpy_dtype_promotion("standard"):
        return jnp.promote_types(dtype, narrowest)


def in_dtype(x: Any, dtype: DTypeLike) -> Any:
    """The array in a dtype, itself where it has it; None stays None.

    What is complex stays so, in the precision of the dtype. Outside of `jax.jit` a cast costs a call
    even where it changes nothing.
    """
    if x is None or (x.dtype == dtype and not getattr(x, "weak_type", False)):
        return x
    return x.astype(matching(x.dtype, dtype))


def cast(tree: Any, dtype: DTypeLike | None) -> Any:
    """The tree with its floating leaves in another dtype; a dtype of None changes nothing."""
    if dtype is None:
        return tree

    def leaf(x: Any) -> Any:
        inexact = jnp.issubdtype(x.dtype, jnp.inexact)
        return x.astype(matching(x.dtype, dtype)) if inexact else x

    return jax.tree.map(leaf, tree)


def floating_dtype(tree: Any) -> Any:
    """The dtype of the first floating leaf of a tree; None where there is none."""
    for leaf in jax.tree.leaves(tree):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf.dtype
    return None


def stored_moments(
    mean: jax.Array, var: jax.Array, dtype: DTypeLike
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Moments in float16, which has not their range: mean / u, var / s^2, u and s.

    The scales u and s are 1 unless a moment is large. Casts to integers take such moments
    apart, so that nothing is computed in the dtype that they have.
    """
    one = jnp.ones(mean.shape, dtype)
    whole, square = mean.astype(jnp.int32), var.astype(jnp.uint32)
    parts = (whole >> 8).astype(dtype), (whole & 255).astype(dtype)
    large = lax.abs(whole) > 2**15
    unit = jnp.where(large, 256.0, one)
    mean = jnp.where(large, parts[0] + parts[1] / 256.0, mean.astype(dtype))
    large = square > 2**15
    parts = (square >> 16).astype(dtype), ((square & 65535) >> 1).astype(dtype)
    scale = jnp.where(large, 256.0, one)
    var = jnp.where(large, parts[0] + parts[1] / 32768.0, var.astype(dtype))
    return mean, var, unit, scale


def declared_keys(key: Any, count: int) -> Any:
    """A key for each declaration of a layer: split from one, or a list of them as it is."""
    if key is SHAPES:
        return [SHAPES] * count
    return key if isinstance(key, list) else jax.random.split(key, count)


def floating(x: ArrayLike) -> jax.Array:
    """The array in its floating dtype, or in the default one where it has another."""
    dtype = jnp.result_type(x)
    if isinstance(x, float) or not jnp.issubdtype(dtype, jnp.floating):
        dtype = jnp.result_type(float)
    return jnp.asarray(x, dtype)


def exact(x: ArrayLike) -> jax.Array:
    """An integer as an integer of the default dtype, the nearest one that this has.

    A number that is floating stays so, see `floating`.
    """
    given = jnp.result_type(x)
    if isinstance(x, float) or jnp.issubdtype(given, jnp.floating):
        return floating(x)
    dtype = jnp.result_type(int)
    limits = jnp.iinfo(dtype)
    if not isinstance(x, jax.Array):
        x = np.clip(x, limits.min, limits.max)
    elif (
        jnp.issubdtype(given, jnp.unsignedinteger) and given.itemsize >= dtype.itemsize
    ):
        x = jnp.minimum(x, given.type(limits.max))
    return jnp.asarray(x, dtype)


def split_keys(key: jax.Array | None, count: int) -> Any:
    """Several keys from one; as many times None where there is no key.

    A number that is a symbol is that of steps, none of which has a key then.
    """
    if key is not None:
        return jax.random.split(key, count)
    return [None] * count if isinstance(count, int) else None


def keyed(key: Any, items: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Each item with a key of its own: split from one, or of a list of as many.

    Where there is no key, each has None.
    """
    given = list(items)
    if key is None:
        return [(None, item) for item in given]
    keys = declared_keys(key, len(given))
    return [(keys[i], item) for i, item in enumerate(given)]


def pass_keys(key: jax.Array | None) -> Iterator[jax.Array | None]:
    """The keys of the passes of a loop, as many as it takes; None for each where there is no key."""
    for number in itertools.count():
        yield None if key is None else jax.random.fold_in(key, number)


ANY = "**"
"""Stands among keyword inputs for any that has another name."""


def keyword_inputs(*layers: Any) -> tuple[str, ...]:
    """The keyword inputs that some of the layers take, each once; see `ANY`."""
    names = (name for layer in layers for name in getattr(layer, "keyword_inputs", ()))
    return tuple(dict.fromkeys(names))


def taken(layer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Those of the keyword inputs that the layer takes."""
    if not inputs:
        return inputs
    known = keyword_inputs(layer)
    if ANY in known:
        return inputs
    return {name: value for name, value in inputs.items() if name in known}


def packed(*inputs: Any) -> Any:
    """The one input that `fwd` takes: several are a tuple."""
    return inputs[0] if len(inputs) == 1 else inputs


def each(trees: Sequence[Any] | None, count: int) -> list[Any]:
    """The trees of several layers: as many times None where there are none."""
    return [None] * count if trees is None else list(trees)


def together(trees: Sequence[Any]) -> tuple[Any, ...] | None:
    """The trees of several layers; None where no layer has one.

    A compiled function takes and returns every None of a tuple by itself, at each call.
    """
    for tree in trees:
        if tree is not None:
            break
    else:
        return None
    # Layers that do not say whether they have one may be such that have none.
    unknown = all(tree is None or tree is ANYTHING for tree in trees)
    return ANYTHING if unknown else tuple(trees)


def unzip(layers: Iterable[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Weights, states and hyperparameters of initialized layers: a tuple of each."""
    given = list(layers)
    trainables, non_trainables, hyperparams = (
        tuple(layer[part] for layer in given) for part in range(3)
    )
    return trainables, non_trainables, hyperparams
