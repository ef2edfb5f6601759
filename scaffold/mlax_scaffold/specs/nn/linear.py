import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    DotGeneral,
    Float,
    Layer,
    Precision,
    Size,
    lecun_normal,
    spread,
    trainable,
    zeros,
)


class Linear(Layer, aliases={"out_features": "output_size"}):
    """Affine map of the last axis: y = x W + b.

    The kernel is (in_features, out_features), or with `transposed_kernel` (out_features,
    in_features). Where `kernel_mask` is False, it counts as zero. An input with more than
    two axes is reshaped to a matrix for the product, and back.

    `dot_general` may multiply in a dtype of its own, such as an 8-bit float: it gets both
    factors in the dtype of x, and its result has that dtype.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the product, see jax.lax.Precision
    transposed_kernel: bool = False  #: whether the first axis of the kernel is y's
    dot_general: DotGeneral = lax.dot_general  #: what multiplies x and the kernel

    def setup(self):
        if self.transposed_kernel:
            self.kernel = trainable(
                lecun_normal(in_axis=1, out_axis=0),
                (self.out_features, self.in_features),
            )
        else:
            self.kernel = trainable(
                lecun_normal(), (self.in_features, self.out_features)
            )
        self.bias = trainable(zeros, (self.out_features,)) if self.use_bias else None

    def forward(
        self,
        x: Float["*batch in_features"],
        *,
        kernel_mask: Bool[
            "# out_features in_features if transposed_kernel else # in_features out_features"
        ]
        | None = None,
    ) -> Float["*batch out_features"]:
        batch = x.shape[:-1]
        # One matrix product is faster than a batch of them.
        matrix = x.reshape(-1, self.in_features) if len(batch) > 1 else x
        kernel = (
            self.kernel
            if kernel_mask is None
            else jnp.where(kernel_mask, self.kernel, 0.0)
        )
        if self.dot_general is lax.dot_general and not self.transposed_kernel:
            # The same product, which is dispatched in less time.
            y = jnp.matmul(matrix, kernel, precision=self.precision)
        else:
            kernel_axis = 1 if self.transposed_kernel else 0
            y = self.dot_general(
                matrix,
                kernel,
                (((matrix.ndim - 1,), (kernel_axis,)), ((), ())),
                precision=self.precision,
            )
        y = y if self.bias is None else y + spread(self.bias, y.shape)
        return y.reshape(*batch, y.shape[-1]) if len(batch) > 1 else y
