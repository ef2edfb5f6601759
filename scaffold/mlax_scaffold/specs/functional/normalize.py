from jax import lax

from mlax_scaffold.spec import Float, Positive, function


@function
def normalize(
    x: Float["..."],
    mean: Float["..."],
    var: Float["..."],
    *,
    epsilon: Positive = 1e-5,  #: added to the variance
) -> Float["..."]:
    """(x - mean) / sqrt(var + epsilon); the moments broadcast against x."""
    return (x - mean) * lax.rsqrt(var + epsilon)
