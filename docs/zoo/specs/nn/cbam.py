import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, mean
from mlax_scaffold.specs.nn.conv import Conv
from mlax_scaffold.specs.nn.linear import Linear


class CBAM(Layer):
    """Convolutional block attention module: which channels, then where.

    Woo et al., 2018, arXiv:1807.06521.
    """

    features: Size  #: number of channels
    reduction: Size = 16  #: by how much the hidden layer is narrower
    kernel_size: Size = 7  #: of the convolution of the spatial attention

    def setup(self):
        hidden = max(self.features // self.reduction, 1)
        self.squeeze = Linear(self.features, hidden)
        self.excite = Linear(hidden, self.features)
        self.spatial = Conv(2, 2, 1, self.kernel_size, channel_last=True, use_bias=False)

    def _mlp(self, v):
        return self.excite(jax.nn.relu(self.squeeze(v)))

    def _channel_attention(self, x):
        average = mean(x, axis=(1, 2))
        maximum = x.max(axis=(1, 2))
        return jax.nn.sigmoid(self._mlp(average) + self._mlp(maximum))

    def _spatial_attention(self, x):
        pooled = jnp.stack([mean(x, axis=-1), jnp.max(x, axis=-1)], axis=-1)
        return jax.nn.sigmoid(self.spatial(pooled))

    def forward(
        self, x: Float["batch height width features"]
    ) -> Float["batch height width features"]:
        x = x * self._channel_attention(x)[:, None, None, :]
        return x * self._spatial_attention(x)
