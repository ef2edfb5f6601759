import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class GATLayer(eqx.Module):
    """Graph attention (Velickovic et al.), dense adjacency."""

    w: eqx.nn.Linear
    a_src: Float[Array, "out"]
    a_dst: Float[Array, "out"]
    negative_slope: float = eqx.field(static=True)

    def __init__(
        self,
        in_size: int,
        out_size: int,
        negative_slope: float = 0.2,
        *,
        key: PRNGKeyArray,
    ):
        k1, k2, k3 = jax.random.split(key, 3)
        self.w = eqx.nn.Linear(in_size, out_size, use_bias=False, key=k1)
        self.a_src = jax.random.normal(k2, (out_size,)) * 0.1
        self.a_dst = jax.random.normal(k3, (out_size,)) * 0.1
        self.negative_slope = negative_slope

    def __call__(
        self, x: Float[Array, "nodes in"], adj: Float[Array, "nodes nodes"]
    ) -> Float[Array, "nodes out"]:
        h = jax.vmap(self.w)(x)
        e = jax.nn.leaky_relu(
            (h @ self.a_src)[:, None] + (h @ self.a_dst)[None, :], self.negative_slope
        )
        e = jnp.where(adj > 0, e, -1e9)
        alpha = jax.nn.softmax(e, axis=-1)
        return alpha @ h
