from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray


class DeepSet(eqx.Module):
    """Permutation-invariant: a sum of features of the elements."""

    phi: eqx.nn.MLP
    rho: eqx.nn.MLP

    def __init__(self, in_size, out_size, width=16, *, key):
        a, b = jr.split(key)
        self.phi = eqx.nn.MLP(in_size, width, width, 1, activation=jax.nn.relu, key=a)
        self.rho = eqx.nn.MLP(width, out_size, width, 1, key=b)

    def __call__(self, x):
        return self.rho(jnp.sum(jax.vmap(self.phi)(x), axis=0))
