import jax.numpy as jnp

from mlax_scaffold.spec import (
    Bool,
    Float,
    Layer,
    NonNegative,
    Size,
    lecun_normal,
    log_softmax,
    trainable,
)


class PointerHead(Layer):
    """Pointer network head: log probabilities over the positions of the input.

    u_j = v^T tanh(W1 e_j + W2 d), p = softmax(u).

    Vinyals, Fortunato & Jaitly, 2015, Pointer Networks, arXiv:1506.03134; the clipping of
    logits is that of Bello et al., 2017, arXiv:1611.09940.
    """

    encoder_features: Size  #: size of the encoder's states
    decoder_features: Size  #: size of the decoder's state
    hidden: Size  #: size of the attention
    logit_clipping: NonNegative | None = None  #: C, logits become C tanh(u)

    def setup(self):
        self.W1 = trainable(lecun_normal(), (self.encoder_features, self.hidden))
        self.W2 = trainable(lecun_normal(), (self.decoder_features, self.hidden))
        self.v = trainable(lecun_normal(), (self.hidden, 1))

    def forward(
        self,
        encoder: Float["batch n encoder_features"],
        decoder: Float["batch decoder_features"],
        visited: Bool["batch n"],
    ) -> Float["batch n"]:
        u = jnp.tanh(encoder @ self.W1 + (decoder @ self.W2)[:, None, :]) @ self.v
        u = u.squeeze(-1)
        if self.logit_clipping is not None:
            u = self.logit_clipping * jnp.tanh(u)
        u = jnp.where(visited, -jnp.inf, u)
        return log_softmax(u, axis=-1)
