import jax.numpy as jnp

from mlax_scaffold.spec import (
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


class Einsum(Layer):
    """Einstein sum of the input and a kernel: y = einsum(equation, x, W) + b.

    The bias has the axes of the kernel that are in the result. LeCun normal kernels
    count the axes that are summed over as inputs.
    """

    equation: str  #: such as "...a,ab->...b": of the input, the kernel, and the result
    kernel_shape: Shape  #: shape of the kernel
    use_bias: bool = False  #: whether a bias is added
    precision: Precision | None = None  #: of the product, see jax.lax.Precision

    examples = (
        {
            "equation": "...a,ab->...b",
            "kernel_shape": (3, 2),
            "x": (4, 3),
            "y": (4, 2),
        },
        {
            "equation": "nta, hab -> nthb",
            "kernel_shape": (2, 3, 4),
            "x": (2, 3, 3),
            "y": (2, 3, 2, 4),
        },
        {
            "equation": "ab...,ac->c...b",
            "kernel_shape": (2, 3),
            "x": (2, 4, 2, 1),
            "y": (3, 2, 1, 4),
        },
        {
            "equation": "nha,hab->nhb",
            "kernel_shape": (2, 3, 2),
            "x": (4, 2, 3),
            "y": (4, 2, 2),
        },
    )

    def setup(self):
        operands, _, target = self.equation.replace(" ", "").partition("->")
        source, _, axes = operands.partition(",")
        require(
            len(set(axes)) == len(axes) == len(self.kernel_shape)
            and axes.isalpha()
            and set(axes) <= set(source + target),
            "the equation is of the input, the kernel with a letter for each axis, and "
            "the result",
        )
        self.result: str = target
        self.kernel_axes: str = axes
        sizes = dict(zip(axes, self.kernel_shape, strict=True))
        self.kernel = trainable(
            variance_scaling(
                1.0,
                "fan_in",
                "truncated_normal",
                in_axis=tuple(i for i, a in enumerate(axes) if a not in target),
                out_axis=tuple(i for i, a in enumerate(axes) if a not in source),
                batch_axis=tuple(
                    i for i, a in enumerate(axes) if a in source and a in target
                ),
            ),
            self.kernel_shape,
        )
        self.bias = (
            trainable(zeros, tuple(sizes[a] for a in target if a in sizes))
            if self.use_bias
            else None
        )

    def forward(self, x: Float["..."]) -> Float["..."]:
        y = jnp.einsum(self.equation, x, self.kernel, precision=self.precision)
        if self.bias is None:
            return y
        first, _, last = self.result.partition("...")
        free = " " * (y.ndim - len(first) - len(last))
        sizes = dict(zip(self.kernel_axes, self.kernel_shape, strict=True))
        bias = self.bias.reshape([sizes.get(a, 1) for a in first + free + last])
        return y + spread(bias, y.shape)
