"""Stacks of layers that constructors put together of several parts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class ConcatSquash(eqx.Module):
    lin1: eqx.nn.Linear
    lin2: eqx.nn.Linear
    lin3: eqx.nn.Linear

    def __init__(self, *, in_size, out_size, key, **kwargs):
        super().__init__(**kwargs)
        key1, key2, key3 = jr.split(key, 3)
        self.lin1 = eqx.nn.Linear(in_size, out_size, key=key1)
        self.lin2 = eqx.nn.Linear(1, out_size, key=key2)
        self.lin3 = eqx.nn.Linear(1, out_size, use_bias=False, key=key3)

    def __call__(self, t, y):
        return self.lin1(y) * jax.nn.sigmoid(self.lin2(t)) + self.lin3(t)


class FlowField(eqx.Module):
    """The vector field of a continuous normalising flow."""

    layers: list[eqx.nn.Linear]

    def __init__(self, *, data_size, width_size, depth, key, **kwargs):
        super().__init__(**kwargs)
        keys = jr.split(key, depth + 1)
        layers = []
        if depth == 0:
            layers.append(
                ConcatSquash(in_size=data_size, out_size=data_size, key=keys[0])
            )
        else:
            layers.append(
                ConcatSquash(in_size=data_size, out_size=width_size, key=keys[0])
            )
            for i in range(depth - 1):
                layers.append(
                    ConcatSquash(
                        in_size=width_size, out_size=width_size, key=keys[i + 1]
                    )
                )
            layers.append(
                ConcatSquash(in_size=width_size, out_size=data_size, key=keys[-1])
            )
        self.layers = layers

    def __call__(self, t, y, args):
        t = jnp.asarray(t)[None]
        for layer in self.layers[:-1]:
            y = layer(t, y)
            y = jnp.tanh(y)
        y = self.layers[-1](t, y)
        return y


class NormedStack(eqx.Module):
    layers: list
    norms: list

    def __init__(self, in_size, out_size, width, depth, *, key):
        keys = jr.split(key, depth + 1)
        self.layers = []
        self.norms = []
        size = in_size
        for k in keys[:-1]:
            self.layers.append(eqx.nn.Linear(size, width, key=k))
            self.norms.append(eqx.nn.LayerNorm(width))
            size = width
        self.layers.append(eqx.nn.Linear(width, out_size, key=keys[-1]))

    def __call__(self, x):
        for layer, norm in zip(self.layers[:-1], self.norms):
            x = jax.nn.relu(norm(layer(x)))
        return self.layers[-1](x)


class RadianceField(eqx.Module):
    """Layers of which one is given the input again."""

    layers: list
    skip: int

    def __init__(self, in_size, out_size, width, *, key):
        k = jr.split(key, 4)
        self.layers = [
            eqx.nn.Linear(in_size, width, key=k[0]),
            eqx.nn.Linear(width, width, key=k[1]),
            eqx.nn.Linear(width + in_size, width, key=k[2]),
            eqx.nn.Linear(width, out_size, key=k[3]),
        ]
        self.skip = 2

    def __call__(self, x):
        h = x
        for i, layer in enumerate(self.layers):
            if i == self.skip:
                h = jnp.concatenate([h, x])
            h = layer(h)
            if i < len(self.layers) - 1:
                h = jax.nn.relu(h)
        return h
