import jax.numpy as jnp

from mlax_scaffold.spec import Float, cumsum, function


@function
def sparsemax(logits: Float["..."], *, axis: int = -1) -> Float["..."]:
    """Euclidean projection of logits onto the simplex, which is sparse.

    Martins & Astudillo, 2016, From Softmax to Sparsemax, arXiv:1602.02068, algorithm 1.
    """
    z = jnp.moveaxis(logits, axis, -1)
    ordered = jnp.flip(jnp.sort(z, axis=-1), axis=-1)
    k = jnp.arange(1, z.shape[-1] + 1)
    cumulative = cumsum(ordered, axis=-1)
    support = 1 + k * ordered > cumulative
    size = jnp.sum(support, axis=-1, keepdims=True)
    tau = (jnp.take_along_axis(cumulative, size - 1, axis=-1) - 1) / size
    return jnp.moveaxis(jnp.maximum(z - tau, 0), -1, axis)
