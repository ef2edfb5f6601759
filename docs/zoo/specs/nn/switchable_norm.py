import jax.numpy as jnp

from mlax_scaffold.spec import (
    Decay,
    Float,
    Layer,
    Positive,
    Size,
    ema,
    ones,
    softmax,
    state,
    trainable,
    zeros,
)
from mlax_scaffold.spec import mean as strict_mean
from mlax_scaffold.spec import var as strict_var


class SwitchableNorm(Layer):
    """Learns how to mix instance, layer and batch normalization

    Luo et al., 2019, Differentiable Learning-to-Normalize via Switchable Normalization,
    arXiv:1806.10779. Statistics of layers and batches are computed from those of
    instances (equation 4).
    """

    features: Size  #: channels
    momentum: Decay = 0.9  #: of the moving averages
    epsilon: Positive = 1e-5  #: added to the variance

    def setup(self):
        shape = (self.features,)
        self.scale = trainable(ones, shape)
        self.bias = trainable(zeros, shape)
        self.mean_logits = trainable(ones, (3,))
        self.var_logits = trainable(ones, (3,))
        self.running = {
            "mean": state(zeros, shape, at_least=jnp.float32),
            "var": state(ones, shape, at_least=jnp.float32),
        }

    def forward(
        self, x: Float["batch height width features"]
    ) -> Float["batch height width features"]:
        mean_in = strict_mean(x, axis=(1, 2), keepdims=True)
        var_in = strict_var(x, axis=(1, 2), keepdims=True)
        mean_ln = strict_mean(mean_in, axis=-1, keepdims=True)
        second = var_in + mean_in**2
        var_ln = strict_mean(second, axis=-1, keepdims=True) - mean_ln**2
        if self.training:
            mean_bn = strict_mean(mean_in, axis=0, keepdims=True)
            var_bn = strict_mean(second, axis=0, keepdims=True) - mean_bn**2
            self.running["mean"] = ema(self.running["mean"], mean_bn.squeeze(), decay=self.momentum)
            self.running["var"] = ema(self.running["var"], var_bn.squeeze(), decay=self.momentum)
        else:
            mean_bn, var_bn = self.running["mean"], self.running["var"]
        wm = softmax(self.mean_logits)
        wv = softmax(self.var_logits)
        mean = wm[0] * mean_in + wm[1] * mean_ln + wm[2] * mean_bn
        var = wv[0] * var_in + wv[1] * var_ln + wv[2] * var_bn
        return (x - mean) / jnp.sqrt(var + self.epsilon) * self.scale + self.bias
