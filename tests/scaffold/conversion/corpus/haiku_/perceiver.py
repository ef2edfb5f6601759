"""Latents that attend to an input."""

import haiku as hk
import jax
import jax.numpy as jnp


class CrossAttend(hk.Module):
    def __init__(self, num_heads, head_dim, name=None):
        super().__init__(name=name)
        self.num_heads = num_heads
        self.head_dim = head_dim

    def __call__(self, latents, inputs):
        width = self.num_heads * self.head_dim
        q = hk.Linear(width, with_bias=False, name="q")(latents)
        k = hk.Linear(width, with_bias=False, name="k")(inputs)
        v = hk.Linear(width, with_bias=False, name="v")(inputs)
        split = lambda t: t.reshape(*t.shape[:-1], self.num_heads, self.head_dim)
        logits = (
            jnp.einsum("...qhd,...khd->...hqk", split(q), split(k))
            * self.head_dim**-0.5
        )
        weights = jax.nn.softmax(logits)
        out = jnp.einsum("...hqk,...khd->...qhd", weights, split(v))
        return hk.Linear(latents.shape[-1], name="o")(
            out.reshape(*out.shape[:-2], width)
        )


class Perceiver(hk.Module):
    def __init__(
        self,
        num_latents,
        latent_dim,
        num_heads=2,
        depth=2,
        num_classes=10,
        dropout_rate=0.1,
        name="perceiver",
    ):
        super().__init__(name=name)
        self._num_latents = num_latents
        self._latent_dim = latent_dim
        self._num_heads = num_heads
        self._depth = depth
        self._num_classes = num_classes
        self._dropout_rate = dropout_rate

    def __call__(self, x, is_training=True):
        init = hk.initializers.TruncatedNormal(0.02)
        latents = hk.get_parameter(
            "latents", [self._num_latents, self._latent_dim], init=init
        )
        z = jnp.broadcast_to(latents, (x.shape[0],) + latents.shape)
        for i in range(self._depth):
            norm = lambda t, n: hk.LayerNorm(
                axis=-1, create_scale=True, create_offset=True, name=f"{n}_{i}"
            )(t)
            z = z + CrossAttend(
                self._num_heads, self._latent_dim // self._num_heads, name=f"cross_{i}"
            )(norm(z, "ln_z"), norm(x, "ln_x"))
            h = hk.nets.MLP(
                [4 * self._latent_dim, self._latent_dim],
                activation=jax.nn.gelu,
                name=f"mlp_{i}",
            )(norm(z, "ln_mlp"))
            if is_training:
                h = hk.dropout(hk.next_rng_key(), self._dropout_rate, h)
            z = z + h
        return hk.Linear(self._num_classes, w_init=jnp.zeros)(z.mean(axis=1))
