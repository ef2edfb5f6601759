"""The moments of optimizers that run eagerly: arrays, or lists, tuples and dictionaries of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.runtime import runtime

_held = runtime("_core.trees._held")
Held, joined = _held.Held, _held.joined


def created(declared: Any, dtype: Any) -> Any:
    """What a leaf keeps, as it is declared: an array at each place; None where there is nothing."""

    def array(declaration: Declaration) -> jax.Array:
        chosen = jnp.dtype(declaration.dtype or dtype)
        return declaration.initializer(jax.random.key(0), declaration.shape, chosen)

    return jax.tree.map(array, declared)


def held_names(moments: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of the moments of a leaf that are containers."""
    return tuple(n for n, m in moments.items() if isinstance(m, list | tuple | dict))


def rows(tree: Any, structure: Any, held: bool) -> list[Any]:
    """The moment of each leaf."""
    if tree is None:
        return [None] * structure.num_leaves
    return Held(tree).rows(structure) if held else structure.flatten_up_to(tree)


def together(column: Sequence[Any], structure: Any, before: Any) -> Any:
    """A moment of all leaves; `before` is the one that it takes the place of."""
    return joined(structure, column, None) if column else before


def stored(new: Any, old: Any) -> Any:
    """The new moment of a leaf, in the dtypes and containers of the old one."""
    return _held.rebuilt(new, old, lambda new, old: new.astype(old.dtype))
