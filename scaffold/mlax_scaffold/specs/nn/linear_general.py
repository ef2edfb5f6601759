from jax import lax

from mlax_scaffold.spec import (
    Axis,
    DotGeneral,
    Float,
    Layer,
    Precision,
    Shape,
    require,
    spread,
    trainable,
    variance_scaling,
    zeros,
)


class LinearGeneral(Layer):
    """Affine map of several axes to several: y = x W + b, summed over `axis` of x.

    The result has the batch axes, then the other axes of x, then `out_features`. The
    kernel is (*batch_features, *in_features, *out_features), and there is one map for
    each index of the batch axes.
    """

    in_features: Shape  #: sizes of the axes that are summed over
    out_features: Shape  #: sizes of the axes that take their place, last in the result
    axis: Axis = -1  #: the axes that are summed over
    batch_features: Shape = ()  #: sizes of the batch axes
    batch_axis: Axis = ()  #: axes for whose indices there are maps of their own
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the product, see jax.lax.Precision
    dot_general: DotGeneral = lax.dot_general  #: what multiplies x and the kernel

    examples = (
        {
            "in_features": (3,),
            "out_features": (2, 2),
            "axis": -1,
            "batch_features": (),
            "batch_axis": (),
            "x": (5, 3),
            "y": (5, 2, 2),
        },
        {
            "in_features": (2, 3),
            "out_features": (4,),
            "axis": (1, -1),
            "batch_features": (),
            "batch_axis": (),
            "x": (4, 2, 2, 3),
            "y": (4, 2, 4),
        },
        {
            "in_features": (3,),
            "out_features": (2,),
            "axis": 1,
            "batch_features": (2,),
            "batch_axis": -1,
            "x": (5, 3, 2),
            "y": (2, 5, 2),
        },
    )

    def setup(self):
        require(
            len(self.axis) == len(self.in_features),
            "in_features has a size for each axis",
        )
        require(
            len(self.batch_axis) == len(self.batch_features),
            "batch_features has a size for each axis of batch_axis",
        )
        batch, last = len(self.batch_axis), len(self.batch_axis) + len(self.axis)
        shape = (*self.batch_features, *self.in_features, *self.out_features)
        self.kernel = trainable(
            variance_scaling(
                1.0,
                "fan_in",
                "truncated_normal",
                in_axis=tuple(range(batch, last)),
                out_axis=tuple(range(last, len(shape))),
                batch_axis=tuple(range(batch)),
            ),
            shape,
        )
        self.bias = (
            trainable(zeros, (*self.batch_features, *self.out_features))
            if self.use_bias
            else None
        )

    def forward(self, x: Float["..."]) -> Float["..."]:
        count = len(self.axis) + len(self.batch_axis)
        require(x.ndim >= count, "the input has axis and batch_axis among its axes")
        axis = tuple(a % x.ndim for a in self.axis)
        batch_axis = tuple(a % x.ndim for a in self.batch_axis)
        require(
            tuple(x.shape[a] for a in axis) == self.in_features,
            "the axes that are summed over have the sizes in_features",
        )
        require(
            tuple(x.shape[a] for a in batch_axis) == self.batch_features,
            "the batch axes have the sizes batch_features",
        )
        batch = tuple(range(len(batch_axis)))
        summed = tuple(range(len(batch), count))
        y = self.dot_general(
            x,
            self.kernel,
            ((axis, summed), (batch_axis, batch)),
            precision=self.precision,
        )
        if self.bias is None:
            return y
        free = (1,) * (x.ndim - count)
        bias = self.bias.reshape(*self.batch_features, *free, *self.out_features)
        return y + spread(bias, y.shape)
