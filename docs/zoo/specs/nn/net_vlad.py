import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
    Size,
    l2_norm,
    normal,
    softmax,
    sum,
    trainable,
)
from mlax_scaffold.specs.nn.conv import Conv


class NetVLAD(Layer):
    """Pools local descriptors to one vector of residuals to learned cluster centers.

    V(k) = sum_i a_k(x_i) (x_i - c_k), each normalized, then all together.

    Arandjelovic et al., 2016, NetVLAD: CNN architecture for weakly supervised place
    recognition, arXiv:1511.07247.
    """

    features: Size  #: channels of the descriptors
    clusters: Size = 64  #: number of cluster centers

    def setup(self):
        self.assign = Conv(2, self.features, self.clusters, kernel_size=1, channel_last=True)
        self.centers = trainable(normal(0.1), (self.clusters, self.features))

    def forward(
        self, x: Float["batch height width features"]
    ) -> Float["batch clusters*features"]:
        normalize = lambda v: v / jnp.maximum(l2_norm(v, axis=-1, keepdims=True), 1e-12)
        x = normalize(x)
        a = softmax(self.assign(x), axis=-1).reshape(x.shape[0], -1, self.clusters)
        x = x.reshape(x.shape[0], -1, self.features)
        v = jnp.einsum("bnk,bnf->bkf", a, x) - sum(a, axis=1)[..., None] * self.centers
        return normalize(normalize(v).reshape(x.shape[0], -1))
