import haiku as hk
import jax
import jax.numpy as jnp


class ResidualMLP(hk.Module):
    """Two maps and a residual, with a learned scale."""

    def __init__(self, hidden_size: int, name: str | None = None):
        super().__init__(name=name)
        self._hidden_size = hidden_size

    def __call__(self, x: jax.Array) -> jax.Array:
        size = x.shape[-1]
        scale = hk.get_parameter("scale", [size], init=jnp.ones)
        h = hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(x)
        h = jax.nn.gelu(hk.Linear(self._hidden_size)(h))
        return x + scale * hk.Linear(size)(h)
