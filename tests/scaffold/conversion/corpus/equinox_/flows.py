"""RealNVP layers for density estimation."""

from typing import Tuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray


class AffineCoupling(eqx.Module):
    """Affine coupling layer of RealNVP (Dinh et al., 2017)."""

    net: eqx.nn.MLP
    log_scale: Float[Array, "half"]
    flip: bool = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        width: int,
        depth: int = 2,
        flip: bool = False,
        *,
        key: PRNGKeyArray,
    ):
        half = dim // 2
        self.net = eqx.nn.MLP(
            half, 2 * half, width, depth, activation=jax.nn.tanh, key=key
        )
        self.log_scale = jnp.zeros((half,))
        self.flip = flip
        self.dim = dim

    def __call__(
        self, x: Float[Array, "dim"]
    ) -> Tuple[Float[Array, "dim"], Float[Array, ""]]:
        a, b = jnp.split(x, 2)
        if self.flip:
            a, b = b, a
        s, t = jnp.split(self.net(a), 2)
        s = jnp.tanh(s) * jnp.exp(self.log_scale)
        b = b * jnp.exp(s) + t
        if self.flip:
            a, b = b, a
        return jnp.concatenate([a, b]), jnp.sum(s)
