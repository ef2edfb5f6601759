import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, normal, softmax, sum, trainable

EPSILON = 1e-8


def squash(s, axis=-1):
    """Shrinks short vectors to almost zero and long ones to just below unit length."""
    square = sum(s**2, axis=axis, keepdims=True)
    return square / (1.0 + square) * s / jnp.sqrt(square + EPSILON)


class CapsuleRouting(Layer):
    """Layer of capsules with dynamic routing by agreement.

    Each input capsule predicts the pose of each output capsule; the couplings between
    them are found by a few rounds of routing.

    Sabour, Frosst & Hinton, 2017, Dynamic Routing Between Capsules, arXiv:1710.09829.
    """

    in_capsules: Size  #: number of input capsules
    in_dim: Size  #: length of the vector of an input capsule
    out_capsules: Size  #: number of output capsules
    out_dim: Size  #: length of the vector of an output capsule
    iterations: Size = 3  #: rounds of routing

    def setup(self):
        self.W = trainable(
            normal(0.1),
            (self.in_capsules, self.out_capsules, self.in_dim, self.out_dim),
        )

    def forward(
        self, u: Float["*batch in_capsules in_dim"]
    ) -> Float["*batch out_capsules out_dim"]:
        u_hat = jnp.einsum("...id,ijde->...ije", u, self.W)
        b = jnp.zeros(u_hat.shape[:-1], u_hat.dtype)
        for r in range(self.iterations):
            c = softmax(b, axis=-1)
            v = squash(jnp.einsum("...ij,...ije->...je", c, u_hat))
            if r < self.iterations - 1:
                b = b + jnp.einsum("...ije,...je->...ij", u_hat, v)
        return v
