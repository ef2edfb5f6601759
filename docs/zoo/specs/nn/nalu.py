import jax.numpy as jnp
from jax.nn import sigmoid

from mlax_scaffold.spec import Float, Layer, Positive, Size, glorot_uniform, trainable


class NALU(Layer):
    """Neural arithmetic logic unit

    a = x W with W = tanh(W^) * sigmoid(M^), m = exp(log(|x| + eps) W), and the gate
    g = sigmoid(x G) chooses: y = g * a + (1 - g) * m.

    Trask et al., 2018, Neural Arithmetic Logic Units, arXiv:1808.00508.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    epsilon: Positive = 1e-7  #: keeps the logarithm finite

    def setup(self):
        shape = (self.in_features, self.out_features)
        self.W_hat = trainable(glorot_uniform(), shape)
        self.M_hat = trainable(glorot_uniform(), shape)
        self.G = trainable(glorot_uniform(), shape)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        W = jnp.tanh(self.W_hat) * sigmoid(self.M_hat)
        a = x @ W
        m = jnp.exp(jnp.log(jnp.abs(x) + self.epsilon) @ W)
        g = sigmoid(x @ self.G)
        return g * a + (1 - g) * m
