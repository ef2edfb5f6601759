import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
    Positive,
    Size,
    mean,
    ones,
    trainable,
    zeros,
)


class FilterResponseNorm(Layer):
    """Filter response normalization with a thresholded linear unit

    nu^2 = mean over space of x^2; y = max(gamma x / sqrt(nu^2 + |epsilon|) + beta, tau).

    Singh & Krishnan, 2020, Filter Response Normalization Layer: Eliminating Batch
    Dependence in the Training of Deep Neural Networks, arXiv:1911.09737.
    """

    features: Size  #: channels
    epsilon: Positive = 1e-6  #: added to the mean square
    learn_epsilon: bool = False  #: whether it is learned, as is needed for 1x1 feature maps

    def setup(self):
        self.gamma = trainable(ones, (self.features,))
        self.beta = trainable(zeros, (self.features,))
        self.tau = trainable(zeros, (self.features,))
        if self.learn_epsilon:
            self.eps_l = trainable(zeros, (self.features,))

    def forward(self, x: Float["batch *spatial features"]) -> Float["batch *spatial features"]:
        eps = self.epsilon
        if self.learn_epsilon:
            eps = eps + jnp.abs(self.eps_l)
        nu2 = mean(jnp.square(x), axis=tuple(range(1, x.ndim - 1)), keepdims=True)
        x = x / jnp.sqrt(nu2 + eps)
        return jnp.maximum(self.gamma * x + self.beta, self.tau)
