"""Words for whole trees of weights, gradients and updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.spec.runtime import runtime

_trees = runtime("_core.trees")
tree_dot: Callable[..., jax.Array] = _trees.tree_dot
matrix_shape: Callable[..., tuple[int, ...]] = _trees.matrix_shape
to_matrices: Callable[..., jax.Array] = _trees.to_matrices
from_matrices: Callable[..., jax.Array] = _trees.from_matrices
of_any: Callable[..., dict[str, Any]] = _trees.of_any
scales_loss: Callable[[Any], bool] = _trees.scales_loss


def _saturated(x: jax.Array) -> jax.Array:
    largest = float(jnp.finfo(x.dtype).max)
    return jnp.clip(x, -largest, largest)


def tree_add(tree: Any, other: Any, scale: Any = 1.0) -> Any:
    """A tree plus `scale` times another, each array in the dtype of its leaf of `tree`."""

    def leaf(x: jax.Array, y: jax.Array) -> jax.Array:
        factor = _saturated(jnp.asarray(scale, x.dtype))
        return _saturated(x + factor * y.astype(x.dtype))

    return jax.tree.map(leaf, tree, other)


def tree_select(tree: Any, chosen: Any) -> Any:
    """The leaves of a tree where a tree of bools is True, None in the place of the others."""
    return jax.tree.map(lambda leaf, keep: leaf if keep else None, tree, chosen)


def tree_merge(parts: Any, tree: Any) -> Any:
    """A tree with those leaves replaced that `parts` has: it has None for the others."""
    leaves, structure = jax.tree.flatten(tree)
    found = structure.flatten_up_to(parts)
    pairs = zip(found, leaves, strict=True)
    return structure.unflatten([y if x is None else x for x, y in pairs])


def tree_prune(state: Any, params: Any, chosen: Any) -> Any:
    """The state of an optimizer, its moments without the weights that are not chosen."""
    structure = jax.tree.structure(params)

    def field(value: Any) -> Any:
        same = jax.tree.structure(value) == structure and structure.num_leaves
        return tree_select(value, chosen) if same else value

    if isinstance(state, dict):
        return {name: field(value) for name, value in state.items()}
    return type(state)(*map(field, state))


def tree_where(condition: jax.Array | bool, a: Any, b: Any) -> Any:
    """The tree `a` where a scalar condition holds, else the tree `b`."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)


def all_finite(tree: Any) -> jax.Array:
    """Whether every number of a tree is finite: a boolean scalar."""
    finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.all(jnp.stack(finite)) if finite else jnp.asarray(True)


def path_name(path: Any) -> str:
    """What a leaf is called: the names of its path, joined by `/`, with `~1` for a `/`."""
    names: list[str] = []
    for part in path:
        found = [getattr(part, a) for a in ("key", "idx", "name") if hasattr(part, a)]
        key = found[0] if found else part
        # A tuple of names is a path: so the parameters of modules are kept.
        joined = isinstance(key, tuple) and key and all(isinstance(n, str) for n in key)
        names += map(str, key if joined else (key,))
    return "/".join(n.replace("~", "~0").replace("/", "~1") for n in names)
