import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DotGeneral,
    Float,
    Layer,
    Precision,
    Shape,
    require,
    spread,
    sum,
    trainable,
    variance_scaling,
    zeros,
)


class Einsum(Layer):
    """Einstein sum of the input and a kernel: y = einsum(equation, x, W) + b.

    The bias has the axes of the kernel that are in the result. LeCun normal kernels
    count the axes that are summed over as inputs. `dot_general` may multiply in a dtype
    of its own, as in `Linear`.
    """

    equation: str  #: such as "...a,ab->...b": of the input, the kernel, and the result
    kernel_shape: Shape  #: shape of the kernel
    use_bias: bool = False  #: whether a bias is added
    precision: Precision | None = None  #: of the product, see jax.lax.Precision
    dot_general: DotGeneral = lax.dot_general  #: what multiplies x and the kernel

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
            "equation": "nac..., ab->b...n",
            "kernel_shape": (3, 2),
            "x": (4, 3, 2, 1),
            "y": (2, 1, 4),
        },
        {
            "equation": "nha,hab->nhb",
            "kernel_shape": (2, 3, 2),
            "x": (4, 2, 3),
            "y": (4, 2, 2),
        },
    )

    def setup(self):
        operands, arrow, target = self.equation.replace(" ", "").partition("->")
        source, _, axes = operands.partition(",")
        require(
            len(set(axes)) == len(axes) == len(self.kernel_shape)
            and axes.isalpha()
            and set(axes) <= set(source + target)
            and set(target) <= set(source + axes)
            and arrow == "->",
            "the equation is of the input, the kernel with a letter for each axis, and "
            "the result",
        )
        self.source: str = source
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
        first, dots, last = self.source.partition("...")
        count = x.ndim - len(first) - len(last)
        require(
            count == 0 or (count > 0 and dots == "..."),
            "the equation has a letter for each axis of the input",
        )
        # What the dots stand for is numbered.
        others = [str(i) for i in range(count)]
        letters = [*first, *others, *last]
        before, dots, after = self.result.partition("...")
        wanted = [*before, *(others if dots else []), *after]
        axes = list(dict.fromkeys(letters))
        if len(axes) < len(letters):
            places = {a: i for i, a in enumerate(axes)}
            x = jnp.einsum(x, [places[a] for a in letters], list(range(len(axes))))
        alone = [a for a in axes if a not in wanted and a not in self.kernel_axes]
        if alone:
            x = sum(x, axis=tuple(axes.index(a) for a in alone))
            axes = [a for a in axes if a not in alone]
        shared = [a for a in axes if a in self.kernel_axes]
        require(
            all(
                x.shape[axes.index(a)] == self.kernel_shape[self.kernel_axes.index(a)]
                for a in shared
            ),
            "axes of the input that the kernel has, too, have its sizes",
        )
        batch = [a for a in shared if a in wanted]
        summed = [a for a in shared if a not in wanted]
        y = self.dot_general(
            x,
            self.kernel,
            (
                (
                    tuple(axes.index(a) for a in summed),
                    tuple(self.kernel_axes.index(a) for a in summed),
                ),
                (
                    tuple(axes.index(a) for a in batch),
                    tuple(self.kernel_axes.index(a) for a in batch),
                ),
            ),
            precision=self.precision,
        )
        left = [a for a in (*axes, *self.kernel_axes) if a not in shared]
        made = [*batch, *left]
        y = y.transpose([made.index(a) for a in wanted])
        if self.bias is None:
            return y
        sizes = dict(zip(self.kernel_axes, self.kernel_shape, strict=True))
        bias = self.bias.reshape([sizes.get(a, 1) for a in wanted])
        return y + spread(bias, y.shape)
