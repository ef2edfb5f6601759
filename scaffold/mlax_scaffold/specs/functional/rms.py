from jax import lax

from mlax_scaffold.spec import Float, function, mean, range_scale


@function
def rms(x: Float["..."]) -> Float[""]:
    """Root mean square of all elements: sqrt(mean(x^2)), in the dtype of x.

    It is finite where squares are not, as those above 256 in float16, and 0 of nothing.
    """
    scale = range_scale(x)
    root = scale * lax.sqrt(mean(lax.square(x / scale), keepdims=True))
    return lax.squeeze(root, range(x.ndim))
