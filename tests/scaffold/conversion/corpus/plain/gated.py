"""A layer of stax, with a nonlinearity after a convolution-free mixer."""

import jax
import jax.numpy as jnp
from jax import random


def GatedDense(out_dim, hidden=32):
    """Constructor of a gated layer, in the style of stax."""

    def init_fun(rng, input_shape):
        k1, k2, k3 = random.split(rng, 3)
        in_dim = input_shape[-1]
        W = random.normal(k1, (in_dim, hidden)) / jnp.sqrt(in_dim)
        V = random.normal(k2, (in_dim, hidden)) / jnp.sqrt(in_dim)
        U = random.normal(k3, (hidden, out_dim)) / jnp.sqrt(hidden)
        b = jnp.zeros((out_dim,))
        return input_shape[:-1] + (out_dim,), (W, V, U, b)

    def apply_fun(params, inputs, **kwargs):
        W, V, U, b = params
        gate = jax.nn.sigmoid(inputs @ V)
        return (jnp.tanh(inputs @ W) * gate) @ U + b

    return init_fun, apply_fun
