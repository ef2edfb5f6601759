"""Trees of arrays as parameters with paths."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp

from .._core.outlines import fits
from ._graph import Path, shown_path
from ._param import Param
from ._params import Params


class Tree(NamedTuple):
    """Where the leaves of a tree are among parameters."""

    paths: tuple[Path, ...]
    shapes: list[tuple[int, ...]]
    structure: Any
    dtypes: tuple[Any, ...]

    def structs(self, stack: tuple[int, ...] = ()) -> dict[Path, jax.ShapeDtypeStruct]:
        """Shapes and dtypes by path, of as many modules together as `stack` says."""
        rows = zip(self.paths, self.shapes, self.dtypes, strict=True)
        return {
            path: jax.ShapeDtypeStruct((*stack, *shape), dtype)
            for path, shape, dtype in rows
        }

    def read(self, owner: Any, params: Params, check: bool = True) -> Any:
        """The tree, with its leaves from the parameters.

        Raises:
            KeyError: where one is missing.
            ValueError: where one has another shape.
        """
        if not self.paths:
            return self.structure.unflatten(())
        try:
            leaves = params.values_at(self.paths)
        except KeyError:
            missing = params.lacking(self.paths)
            params.require_unlocked(*missing)
            raise KeyError(
                f"{type(owner).__name__}: there is no parameter {shown_path(missing[0])}; the first "
                "call of the module returns params that have it"
            ) from None
        # Mostly all of them fit, which one comparison tells.
        if check and [getattr(leaf, "shape", None) for leaf in leaves] != self.shapes:
            self._check_shapes(owner, leaves)
        return self.structure.unflatten(leaves)

    def _check_shapes(self, owner: Any, leaves: list[Any]) -> None:
        for path, shape, leaf in zip(self.paths, self.shapes, leaves, strict=True):
            if not fits(jnp.shape(leaf), shape):
                raise ValueError(
                    f"{type(owner).__name__}: the parameter {shown_path(path)} must have shape {shape} "
                    f"for this input, got {jnp.shape(leaf)}"
                )

    def by_path(self, tree: Any) -> dict[Path, Any]:
        """The leaves of such a tree, by path."""
        leaves = self.structure.flatten_up_to(tree)
        return dict(zip(self.paths, leaves, strict=True))


class Outline(NamedTuple):
    """What `init` of a layer returns, with shapes in the place of arrays."""

    trainables: Tree
    non_trainables: Tree
    hyperparams: Any

    @classmethod
    def of(cls, place: Path, made: tuple[Any, Any, Any]) -> Outline:
        """That of what `init` made, or of its shapes, where the names begin with those of the place."""
        weights, state, hyperparams = made
        return cls(outline_of(place, weights), outline_of(place, state), hyperparams)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Those of the weights, then those of the state."""
        return (*self.trainables.paths, *self.non_trainables.paths)


def outline_of(place: Path, tree: Any) -> Tree:
    """Where the leaves of a tree are, below a place."""
    rows, structure = jax.tree_util.tree_flatten_with_path(tree)
    paths = tuple((*place, *map(_name, keys)) for keys, _ in rows)
    shapes = [jnp.shape(leaf) for _, leaf in rows]
    return Tree(
        paths,
        shapes,
        structure,
        tuple(getattr(leaf, "dtype", None) for _, leaf in rows),
    )


def struct_of(value: Any) -> jax.ShapeDtypeStruct | None:
    """Shape and dtype of an array or a number; None of what is neither."""
    dtype = getattr(value, "dtype", None)
    if dtype is None and isinstance(value, bool | int | float | complex):
        dtype = jnp.result_type(value)
    return None if dtype is None else jax.ShapeDtypeStruct(jnp.shape(value), dtype)


_KINDS = (
    jnp.bool_,
    jnp.integer,
    jnp.floating,
    jnp.complexfloating,
    jax.dtypes.prng_key,
)


def kind(struct: jax.ShapeDtypeStruct) -> Any:
    """What sort of numbers a dtype holds."""
    return next((k for k in _KINDS if jnp.issubdtype(struct.dtype, k)), struct.dtype)


def shown(struct: jax.ShapeDtypeStruct) -> str:
    """A dtype and a shape, as in an error."""
    return f"{struct.dtype}{list(struct.shape)}"


def _name(key: Any) -> str:
    for attribute in ("name", "key", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def check_like(
    owner: Any, path: Path, value: Any, expected: Any, exact: bool = False
) -> None:
    """Refuse a value that does not fit in the place of another one.

    What is no array, such as a sharding in its place, fits.
    """
    if isinstance(value, Param):
        return  # `Params` says what is wrong with that.
    wanted, given = struct_of(expected), struct_of(value)
    if wanted is None or given is None:
        return
    alike = wanted.dtype == given.dtype if exact else kind(wanted) == kind(given)
    if wanted.shape != given.shape or not alike:
        raise ValueError(
            f"{type(owner).__name__}: the parameter {shown_path(path)} must be {shown(wanted)}, got "
            f"{shown(given)}"
        )


def same_values(a: Any, b: Any) -> bool:
    """Whether two arrays are known to hold the same; those that are traced are not."""
    if a is b:
        return True
    if isinstance(a, jax.core.Tracer) or isinstance(b, jax.core.Tracer):
        return False
    return jnp.shape(a) == jnp.shape(b) and bool(
        jnp.all(jnp.asarray(a) == jnp.asarray(b))
    )
