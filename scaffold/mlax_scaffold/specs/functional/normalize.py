from jax import lax

from mlax_scaffold.spec import Float, Positive, function, spread


@function
def normalize(
    x: Float["..."],
    mean: Float["..."],
    var: Float["..."],
    *,
    epsilon: Positive = 1e-5,  #: added to the variance
) -> Float["..."]:
    """(x - mean) / sqrt(var + epsilon); the moments broadcast against x."""
    root = lax.rsqrt(var + epsilon)
    return (x - spread(mean, x.shape)) * spread(root, x.shape)
