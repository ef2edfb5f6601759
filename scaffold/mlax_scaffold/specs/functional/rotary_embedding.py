import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Positive, Size, function, require, sinusoids


@function
def rotary_embedding(
    x: Float["*batch positions heads features"],
    positions: Int["# *batch positions"] | None = None,
    *,
    base: Positive = 10000.0,  #: what the wavelengths grow up to, by 2 pi
    interleaved: bool = False,  #: whether neighbours are a pair, else the two halves
    rotary_features: Size | None = None,  #: how many features turn; None: all
) -> Float["*batch positions heads features"]:
    """Turns pairs of features by angles that are proportional to the position.

    (a, b) becomes (a cos - b sin, b cos + a sin) with the angle position / base^(2 i / n)
    for pair i, so that products of queries and keys depend on differences of positions.

    Su et al., 2021, arXiv:2104.09864. Positions are 0, 1, 2 ... unless they are given.
    """
    size = x.shape[-1] if rotary_features is None else rotary_features
    require(size % 2 == 0, "the number of features that turn must be even")
    require(size <= x.shape[-1], "rotary_features must be at most the features")
    positions = jnp.arange(x.shape[-3]) if positions is None else positions
    sin, cos = sinusoids(x, positions, features=size, base=base)
    sin, cos = sin[..., None, :], cos[..., None, :]
    pairs, rest = x[..., :size], x[..., size:]
    if interleaved:
        a, b = pairs[..., ::2], pairs[..., 1::2]
        turned = jnp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1)
        turned = turned.reshape(pairs.shape)
    else:
        a, b = pairs[..., : size // 2], pairs[..., size // 2 :]
        turned = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
    return jnp.concatenate([turned, rest], axis=-1)
