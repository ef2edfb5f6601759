import math

import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Int, Positive, Size, function, require


@function
def sinusoids(
    like: Float["..."],
    positions: Int["*positions"],
    *,
    features: Size,  #: twice the number of angles
    base: Positive = 10000.0,  #: what the wavelengths grow up to, by 2 pi
) -> tuple[Float["*positions features//2"], Float["*positions features//2"]]:
    """Sines and cosines of the angles position / base^(2 i / features).

    Vaswani et al., 2017, arXiv:1706.03762. The result has the dtype of `like`.

    Angles are integers, fractions of a turn in 32 bits (in float64: 64), which wrap as
    angles do. So a position that bfloat16 cannot hold still has the right angle, to
    position * 1e-9, and nothing is computed in another floating dtype.
    """
    require(features % 2 == 0, "features must be even")
    bits = 64 if like.dtype == jnp.float64 else 32
    word = jnp.dtype(f"uint{bits}")
    steps = [base ** (-2 * i / features) / math.tau for i in range(features // 2)]
    steps = [round(step * 2**bits) % 2**bits for step in steps]
    turns = positions[..., None].astype(word) * jnp.asarray(steps, word)
    # In two halves, that float16 can hold: a signed one, and fifteen bits of the rest.
    half = bits // 2
    high = lax.bitcast_convert_type(turns, jnp.dtype(f"int{bits}")) >> half
    low = (turns & (2**half - 1)) >> 1
    angle = high.astype(like.dtype) + low.astype(like.dtype) * 0.5 ** (half - 1)
    angle = angle * (math.tau / 2**half)
    return jnp.sin(angle), jnp.cos(angle)
