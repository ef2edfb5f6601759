import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Bool,
    Float,
    Layer,
    Size,
    require,
    softmax,
    trainable,
    truncated_normal,
)
from mlax_scaffold.specs.nn.layer_norm import LayerNorm
from mlax_scaffold.specs.nn.linear import Linear


class PerceiverCrossAttention(Layer):
    """Latents of a Perceiver that attend to an array of bytes.

    A learned array of `num_latents` vectors queries the inputs, however many there are,
    followed by an MLP; both are residual.

    Jaegle et al., 2021, arXiv:2103.03206
    """

    in_features: Size  #: channels of the inputs
    latent_features: Size  #: channels of the latents
    num_latents: Size  #: number of latents
    num_heads: Size = 1  #: heads of the attention
    widening: Size = 1  #: how much wider the hidden layer of the MLP is

    def setup(self):
        require(
            self.latent_features % self.num_heads == 0,
            "num_heads must divide latent_features",
        )
        self.latents = trainable(
            truncated_normal(), (self.num_latents, self.latent_features)
        )
        self.norms = {
            "latents": LayerNorm(self.latent_features),
            "inputs": LayerNorm(self.in_features),
            "mlp": LayerNorm(self.latent_features),
        }
        self.query = Linear(self.latent_features, self.latent_features)
        self.key_value = Linear(self.in_features, 2 * self.latent_features)
        self.out = Linear(self.latent_features, self.latent_features)
        hidden = self.widening * self.latent_features
        self.mlp = [
            Linear(self.latent_features, hidden),
            Linear(hidden, self.latent_features),
        ]

    def split_heads(self, x):
        batch, length, features = x.shape
        return x.reshape(batch, length, self.num_heads, features // self.num_heads)

    def forward(
        self,
        x: Float["batch length in_features"],
        *,
        mask: Bool["batch length"] | None = None,
    ) -> Float["batch num_latents latent_features"]:
        batch = x.shape[0]
        z = jnp.broadcast_to(self.latents, (batch, *self.latents.shape))
        q = self.split_heads(self.query(self.norms["latents"](z)))
        k, v = jnp.split(self.key_value(self.norms["inputs"](x)), 2, axis=-1)
        k, v = self.split_heads(k), self.split_heads(v)
        logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        if mask is not None:
            logits = jnp.where(mask[:, None, None, :], logits, -1e9)
        attended = jnp.einsum("bhqk,bkhd->bqhd", softmax(logits, axis=-1), v)
        z = z + self.out(attended.reshape(z.shape))
        h = jax.nn.gelu(self.mlp[0](self.norms["mlp"](z)))
        return z + self.mlp[1](h)
