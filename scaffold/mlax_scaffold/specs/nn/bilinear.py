import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
    Precision,
    Size,
    spread,
    trainable,
    variance_scaling,
    zeros,
)


class Bilinear(Layer):
    """Bilinear map of two inputs: y_o = sum_lr left_l W_lro right_r + b_o.

    As torch.nn.Bilinear. Deviations: the kernel is (left, right, out), not (out, left,
    right), and is drawn LeCun normal with left * right inputs, not uniformly.
    """

    left_features: Size  #: size of the last axis of the first input
    right_features: Size  #: size of the last axis of the second input
    out_features: Size  #: size of the last axis of the result
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        self.kernel = trainable(
            variance_scaling(1.0, "fan_in", "truncated_normal", in_axis=(0, 1)),
            (self.left_features, self.right_features, self.out_features),
        )
        self.bias = trainable(zeros, (self.out_features,)) if self.use_bias else None

    def forward(
        self,
        left: Float["*batch left_features"],
        right: Float["*batch right_features"],
    ) -> Float["*batch out_features"]:
        maps = jnp.einsum(
            "...l,lro->...ro", left, self.kernel, precision=self.precision
        )
        y = jnp.einsum("...r,...ro->...o", right, maps, precision=self.precision)
        return y if self.bias is None else y + spread(self.bias, y.shape)
