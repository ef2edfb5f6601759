from typing import Callable

import equinox as eqx
import jax
import jax.nn as jnn
import jax.numpy as jnp
import jax.random as jr


class SirenLayer(eqx.Module):
    weight: jax.Array
    bias: jax.Array
    omega: float = eqx.field(static=True)

    def __init__(self, in_size, out_size, omega=30.0, is_first=False, *, key):
        wkey, bkey = jr.split(key)
        lim = 1.0 / in_size if is_first else jnp.sqrt(6.0 / in_size) / omega
        self.weight = jr.uniform(wkey, (out_size, in_size), minval=-lim, maxval=lim)
        self.bias = jr.uniform(bkey, (out_size,), minval=-lim, maxval=lim)
        self.omega = omega

    def __call__(self, x):
        return jnp.sin(self.omega * (self.weight @ x + self.bias))


class Siren(eqx.Module):
    layers: list
    final: eqx.nn.Linear

    def __init__(self, in_size, out_size, width, depth, *, key):
        keys = jr.split(key, depth + 1)
        self.layers = [SirenLayer(in_size, width, is_first=True, key=keys[0])] + [
            SirenLayer(width, width, key=k) for k in keys[1:depth]
        ]
        self.final = eqx.nn.Linear(width, out_size, key=keys[depth])

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.final(x)


class VectorField(eqx.Module):
    """The right-hand side of a neural ODE."""

    mlp: eqx.nn.MLP
    scale: jax.Array

    def __init__(self, data_size, width_size=16, depth=2, *, key, **kwargs):
        super().__init__(**kwargs)
        self.mlp = eqx.nn.MLP(
            in_size=data_size + 1,
            out_size=data_size,
            width_size=width_size,
            depth=depth,
            activation=jnn.softplus,
            final_activation=jnn.tanh,
            key=key,
        )
        self.scale = jnp.ones(())

    def __call__(self, t, y, args=None):
        t = jnp.asarray(t, y.dtype)
        return self.scale * self.mlp(jnp.concatenate([jnp.broadcast_to(t, (1,)), y]))
