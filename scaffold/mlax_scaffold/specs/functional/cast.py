import jax
import jax.numpy as jnp

from mlax_scaffold.spec import DType, PyTree, function


@function
def cast(
    tree: PyTree,
    *,
    dtype: DType,  #: of the result
) -> PyTree:
    """Casts the floating leaves of a tree; other leaves, and None, stay as they are."""

    def leaf(x):
        return x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(leaf, tree)
