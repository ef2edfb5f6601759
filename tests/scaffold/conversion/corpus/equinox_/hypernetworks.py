"""A hypernetwork in equinox."""

import equinox as eqx
import jax
import jax.numpy as jnp


class HyperLinear(eqx.Module):
    """A linear layer whose weights another network makes of a context."""

    hyper: eqx.nn.MLP
    in_size: int = eqx.field(static=True)
    out_size: int = eqx.field(static=True)

    def __init__(
        self, in_size: int, out_size: int, context_size: int, width: int = 32, *, key
    ):
        self.in_size = in_size
        self.out_size = out_size
        self.hyper = eqx.nn.MLP(
            context_size, in_size * out_size + out_size, width, depth=2, key=key
        )

    def __call__(self, x, context):
        params = self.hyper(context)
        w = params[: self.in_size * self.out_size].reshape(self.out_size, self.in_size)
        b = params[self.in_size * self.out_size :]
        return w @ x + b
