import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Positive, Size, ones, require, trainable, var, zeros


class EvoNormS0(Layer):
    """EvoNorm-S0: x sigmoid(v x) / std of groups, an activation and a normalization in one.

    Liu et al., 2020, Evolving Normalization-Activation Layers, arXiv:2004.02967.
    """

    features: Size  #: channels
    groups: Size = 8  #: number of groups of channels
    nonlinear: bool = True  #: whether there is an activation
    epsilon: Positive = 1e-5  #: added to the variance

    def setup(self):
        require(self.features % self.groups == 0, "groups must divide features")
        self.gamma = trainable(ones, (self.features,))
        self.beta = trainable(zeros, (self.features,))
        if self.nonlinear:
            self.v = trainable(ones, (self.features,))
        else:
            self.v = None

    def group_std(self, x):
        n, h, w, c = x.shape
        grouped = x.reshape(n, h, w, self.groups, c // self.groups)
        variance = var(grouped, axis=(1, 2, 4), keepdims=True)
        std = jnp.sqrt(variance + self.epsilon)
        return jnp.broadcast_to(std, grouped.shape).reshape(x.shape)

    def forward(self, x: Float["n h w features"]) -> Float["n h w features"]:
        if self.nonlinear:
            x = x * jax.nn.sigmoid(self.v * x) / self.group_std(x)
        return x * self.gamma + self.beta
