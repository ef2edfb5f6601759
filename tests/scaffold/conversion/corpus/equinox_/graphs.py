"""Networks of graphs, with shapes that jaxtyping tells."""

from typing import Callable, List

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray


class GraphConv(eqx.Module):
    weight: Float[Array, "in out"]
    bias: Float[Array, "out"]
    normalize: bool = eqx.field(static=True)

    def __init__(
        self, in_dim: int, out_dim: int, *, normalize: bool = True, key: PRNGKeyArray
    ):
        lim = jnp.sqrt(6.0 / (in_dim + out_dim))
        self.weight = jr.uniform(key, (in_dim, out_dim), minval=-lim, maxval=lim)
        self.bias = jnp.zeros((out_dim,))
        self.normalize = normalize

    def __call__(
        self, x: Float[Array, "n in"], adj: Float[Array, "n n"]
    ) -> Float[Array, "n out"]:
        adj = adj + jnp.eye(adj.shape[0])
        if self.normalize:
            deg = jnp.sum(adj, axis=-1)
            d = jax.lax.rsqrt(deg)
            adj = d[:, None] * adj * d[None, :]
        return adj @ (x @ self.weight) + self.bias


class GCN(eqx.Module):
    layers: List[GraphConv]
    dropout: eqx.nn.Dropout
    readout: eqx.nn.Linear
    activation: Callable = eqx.field(static=True)

    def __init__(
        self, in_dim, hidden, out_dim, depth=2, p=0.5, activation=jax.nn.relu, *, key
    ):
        keys = jr.split(key, depth + 1)
        dims = [in_dim] + [hidden] * depth
        self.layers = [
            GraphConv(i, o, key=k) for i, o, k in zip(dims[:-1], dims[1:], keys[:-1])
        ]
        self.dropout = eqx.nn.Dropout(p)
        self.readout = eqx.nn.Linear(hidden, out_dim, key=keys[-1])
        self.activation = activation

    def __call__(self, x, adj, *, key=None, inference=False):
        keys = (
            [None] * len(self.layers)
            if key is None
            else jr.split(key, len(self.layers))
        )
        for layer, k in zip(self.layers, keys):
            x = self.activation(layer(x, adj))
            x = self.dropout(x, key=k, inference=inference)
        return self.readout(jnp.mean(x, axis=0))
