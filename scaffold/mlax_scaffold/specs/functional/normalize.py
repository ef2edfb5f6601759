from jax import lax

from mlax_scaffold.spec import Float, NonNegative, function


@function
def normalize(
    x: Float["..."],
    mean: Float["..."],
    var: Float["..."],
    *,
    epsilon: NonNegative = 1e-5,  #: added to the variance
) -> Float["..."]:
    """(x - mean) / sqrt(var + epsilon); the moments broadcast against x."""
    return (x - mean) * lax.rsqrt(var + epsilon)
