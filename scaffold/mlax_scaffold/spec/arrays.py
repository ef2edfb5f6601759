"""Words for arrays that are no function of the library."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def cast(tree: Any, dtype: Any) -> Any:
    """The tree with its floating leaves in `dtype`; a dtype of None changes nothing."""
    if dtype is None:
        return tree

    def leaf(x: Any) -> Any:
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(leaf, tree)
