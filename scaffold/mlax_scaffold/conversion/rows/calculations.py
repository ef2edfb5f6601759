"""What rows compute of their arguments: paddings, ranks, axes, and sizes that are yet to be found."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from mlax_scaffold.conversion.rows.array_calculations import (
    Arg,
    ArrayCalculations,
    is_given,
    with_keywords,
)
from mlax_scaffold.conversion.rows.attention_calculations import AttentionCalculations
from mlax_scaffold.conversion.rows.functional_calculations import (
    FunctionalCalculations,
)
from mlax_scaffold.conversion.rows.initializer_calculations import (
    InitializerCalculations,
)
from mlax_scaffold.conversion.rows.loss_calculations import LossCalculations
from mlax_scaffold.conversion.rows.pooling_calculations import PoolingCalculations
from mlax_scaffold.conversion.rows.resizing_calculations import ResizingCalculations
from mlax_scaffold.conversion.rows.rows import MisfitError, follows_mode, missing
from mlax_scaffold.conversion.rows.scattering_calculations import (
    ScatteringCalculations,
)
from mlax_scaffold.conversion.rows.tables.activations import VALUES
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    folded,
    is_none,
    literal,
    marked,
    name,
    self_attribute,
)


@dataclass
class Calculations(
    ArrayCalculations,
    AttentionCalculations,
    FunctionalCalculations,
    InitializerCalculations,
    LossCalculations,
    PoolingCalculations,
    ResizingCalculations,
    ScatteringCalculations,
):
    """The functions by the names that rows call them by."""

    first_input: str = "x"
    keyed: bool = True
    """Whether random numbers are drawn with `self.key()`."""
    holes: int = field(default=0)
    optional: dict[str, ast.expr] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    """Inputs of methods that may be None."""
    lengths: dict[str, int] = field(default_factory=dict)
    """How many sizes hyperparameters hold, always or by default, of which a window is one."""

    def __getitem__(self, key: str) -> Callable[..., Arg | None]:
        return getattr(self, f"_{key}")

    # Sizes.

    def _hole(self, kind: str) -> Arg:
        self.holes += 1
        return name(f"@{kind}:{self.holes}")

    def _last(self) -> Arg:
        return self._hole("last")

    def _second(self) -> Arg:
        return self._hole("second")

    def _channels(self, data_format: Arg) -> Arg:
        return self._hole("last" if self._is_last(data_format) else "second")

    def _is_last(self, data_format: Arg) -> bool:
        return str(literal(data_format)).upper().endswith(("C", "CHANNELS_LAST"))

    def _channel_last(self, data_format: Arg) -> Arg:
        return constant(self._is_last(data_format))

    def _scalar(self, size: Arg) -> Arg:
        if literal(size) == "scalar":
            raise MisfitError('the size "scalar" (a layer of size 1 and a reshape)')
        return size

    def _innermost(self, shape: Arg) -> Arg:
        """The last of the sizes of axes."""
        sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else []
        return sizes[-1] if sizes else shape

    def _outer(self, shape: Arg) -> Arg | None:
        """The sizes of axes before the last one; None where there are none."""
        sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else []
        return ast.Tuple(sizes[:-1], ast.Load()) if len(sizes) > 1 else None

    def _trailing(self, shape: Arg) -> Arg | None:
        """The last axes, as many as there are sizes; None for one."""
        count = len(shape.elts) if isinstance(shape, ast.Tuple | ast.List) else 1
        return constant(tuple(range(-count, 0))) if count > 1 else None

    def _single(self, shape: Arg) -> Arg:
        if isinstance(shape, ast.Tuple | ast.List):
            if len(shape.elts) != 1:
                raise MisfitError(
                    f"`{ast.unparse(shape)}`, several axes with weights of their own"
                )
            return shape.elts[0]
        return shape

    def _sizes(self, sizes: Arg) -> Arg:
        value = literal(sizes)
        if isinstance(value, int) or isinstance(sizes, ast.Name | ast.Attribute):
            return ast.Tuple([sizes], ast.Load())
        return sizes

    def _rank(self, window: Arg) -> Arg:
        if self._elements(window):
            return constant(len(self._elements(window)))
        if isinstance(window, ast.BinOp) and isinstance(window.op, ast.Mult):
            parts = (window.left, window.right)
            counts = [p for p in parts if isinstance(literal(p), int)]
            tuples = [p for p in parts if isinstance(p, ast.Tuple)]
            if counts and tuples and len(tuples[0].elts) == 1:
                return counts[0]
        if isinstance(literal(window), int):
            return constant(1)
        length = self.lengths.get(self_attribute(window) or "")
        if length is not None:
            # As many as it has by default: a convolution takes no other number for so many axes.
            return constant(length)
        return expression("len(w)", w=window)

    def _window(self, window: Arg) -> Arg | None:
        """Equal sizes of all axes as one number, which is the same."""
        value = literal(window)
        if value is None:
            return None
        if isinstance(value, list):
            return ast.Tuple(window.elts, ast.Load())  # type: ignore[attr-defined]
        return window

    def _pool_rank(self, window: Arg) -> Arg:
        value = literal(window)
        if isinstance(value, tuple | list) and len(value) > 2:
            return constant(len(value) - 2 if value[0] == 1 else len(value) - 1)
        return constant(2)

    def _pool_window(self, window: Arg) -> Arg:
        value = literal(window)
        if isinstance(value, tuple | list) and len(value) > 2:
            inner = value[1:-1] if value[0] == 1 else value[:-1]
            return constant(tuple(inner))
        return window

    def _groups(self, groups: Arg, size: Arg, features: Arg | None = None) -> Arg:
        if is_none(size):
            return groups
        return expression("c // s", c=features or self._last(), s=size)

    def _share(self, total: Arg, heads: Arg, features: Arg | None = None) -> Arg | None:
        if missing(total) or is_none(total):
            return None
        if features is not None and ast.unparse(total) == ast.unparse(features):
            return None
        return folded(expression("t // h", t=total, h=heads))

    def _product(self, given: Arg, heads: Arg, size: Arg) -> Arg:
        return (
            given if is_given(given) else folded(expression("h * s", h=heads, s=size))
        )

    def _final(self, sizes: Arg) -> Arg:
        elements = self._elements(_last_of_sum(sizes)[1])
        return elements[-1] if elements else expression("s[-1]", s=sizes)

    def _before_final(self, sizes: Arg) -> Arg:
        before, last = _last_of_sum(sizes)
        if before is not None and len(self._elements(last)) == 1:
            return before
        if isinstance(sizes, ast.Tuple | ast.List) and self._elements(sizes):
            return ast.Tuple(sizes.elts[:-1], ast.Load())
        return expression("s[:-1]", s=sizes)

    def _elements(self, node: Arg) -> list[Arg]:
        if isinstance(node, ast.Tuple | ast.List):
            return (
                [] if any(isinstance(e, ast.Starred) for e in node.elts) else node.elts
            )
        return []

    def _dense_general(
        self, features: Arg, axis: Arg, use_bias: Arg, dot_general: Arg, *rest: Arg
    ) -> Arg:
        axes = literal(axis)
        number = len(axes) if isinstance(axes, tuple | list) else 1
        several = isinstance(features, ast.Tuple | ast.List)
        product = self._unless_none(dot_general)
        titles = ("precision", "kernel_initializer", "bias_initializer")
        given = {t: self._unless_none(a) for t, a in zip(titles, rest, strict=True)}
        if number == 1 and not several and axes in (-1, (-1,)):
            call = expression(
                "L(n, f)", L=name("@layer:Linear"), n=self._last(), f=features
            )
            return with_keywords(call, use_bias=use_bias, dot_general=product, **given)
        ends = tuple(range(-number, 0))
        if axes not in (-1, (-1,), ends, list(ends)):
            raise MisfitError(f"`axis={ast.unparse(axis)}`, which is not the last axes")
        holes = [self._hole("last" if a == -1 else f"from_end{-a}") for a in ends]
        call = expression(
            "L(n, f)",
            L=name("@layer:LinearGeneral"),
            n=ast.Tuple(list(holes), ast.Load()),
            f=features if several else ast.Tuple([features], ast.Load()),
        )
        return with_keywords(
            call,
            axis=constant(ends) if number > 1 else None,
            use_bias=use_bias,
            dot_general=product,
            **given,
        )

    # Numbers and flags.

    def _rest(self, momentum: Arg) -> Arg:
        value = literal(momentum)
        if is_none(momentum):
            raise MisfitError("`momentum=None`, an average over all batches")
        if isinstance(value, float | int):
            return constant(round(1.0 - value, 12))
        return expression("1.0 - m", m=momentum)

    def _both(self, left: Arg, right: Arg) -> Arg:
        if literal(left) is True:
            return right
        return (
            left if literal(right) is True else expression("a and b", a=left, b=right)
        )

    def _given(self, value: Arg) -> Arg:
        return constant(is_given(value))

    def _unless_none(self, value: Arg) -> Arg | None:
        return None if is_none(value) or missing(value) else value

    def _repeated(self, value: Arg, times: Arg) -> Arg:
        """A number so many times; several numbers as they are."""
        if isinstance(value, ast.Tuple | ast.List):
            return value
        return ast.Tuple([value] * int(str(literal(times))), ast.Load())

    def _axis_name(self, value: Arg) -> Arg | None:
        """The axis of several devices; None for one that is named in the code: it is told of."""
        return None if isinstance(literal(value), str) else self._unless_none(value)

    def _if_dropped(self, rate: Arg, value: Arg) -> Arg | None:
        """What is to be said where something is dropped at all."""
        return value if literal(rate) else None

    def _alike(self, *flags: Arg) -> Arg:
        return flags[0] if len(set(map(ast.unparse, flags))) == 1 else constant(False)

    def _apart(self, flag: Arg, *others: Arg) -> Arg | None:
        """A flag that is not that of all; None where it is, or where it is False."""
        alone = len({ast.unparse(f) for f in (flag, *others)}) > 1
        return flag if alone and literal(flag) is not False else None

    def _lower(self, text: Arg) -> Arg:
        value = literal(text)
        return constant(value.lower()) if isinstance(value, str) else text

    def _either(self, first: Arg, second: Arg) -> Arg:
        return first if is_given(first) else second

    def _some(self, padding: Arg) -> Arg | None:
        return None if literal(padding) in (0, (0, 0)) else padding

    def _padding(self, padding: Arg) -> Arg:
        value = literal(padding)
        return constant(value.upper()) if isinstance(value, str) else padding

    def _batch_first(self, rate: Arg, batch_first: Arg) -> Arg:
        if literal(batch_first) is not True:
            raise MisfitError(
                "without `batch_first=True`: the batch is the first axis here"
            )
        return rate

    def _flattening(self, start: Arg, end: Arg) -> Arg:
        """The layer that flattens all axes from one on, or what joins others of x."""
        first = literal(start)
        if literal(end) == -1 and not (isinstance(first, int) and first < 0):
            layer = ast.Call(name("@layer:Flatten"), [], [])
            return with_keywords(layer, batch_dims=start)
        if isinstance(first, int) and first < 0 and literal(end) == -1:
            return expression("x.reshape(*x.shape[:a], -1)", a=start)
        return self._flattened(name("x"), start, end)

    def _final_activation(self, final: Arg, activation: Arg) -> Arg | None:
        if literal(final) is False:
            return None
        return activation if is_given(activation) else marked("jax.nn.relu")

    def _named(self, activation: Arg) -> Arg:
        if literal(activation) == "gelu":
            # PyTorch's is exact where a layer is given its name.
            return marked("lambda x: word_gelu(x, approximate=False)")
        text = VALUES.get(str(literal(activation)))
        return marked(text.replace("word.", "word_")) if text else activation

    # Random numbers.

    def _key(self, key: Arg) -> Arg:
        return expression("self.key()") if self.keyed else key

    def _dtype(self, shape: Arg) -> Arg:
        if isinstance(shape, ast.Attribute) and shape.attr == "shape":
            return expression("x.dtype", x=shape.value)
        return self.own_dtype()

    def _dropout(self, x: Arg, rate: Arg, training: Arg | None = None) -> Arg:
        if training is not None and literal(training) is not True:
            if literal(training) is False:
                return x
            if not follows_mode("training", training):
                raise MisfitError(f"`training={ast.unparse(training)}`")
        return expression("D(rate)(x)", D=name("@layer:Dropout"), rate=rate, x=x)

    def _dropped(self, x: Arg, rate: Arg, training: Arg, dims: Arg) -> Arg:
        """Dropout of whole channels, with so many axes behind them; 0 for another kind of dropout."""
        made = self._dropout(x, rate, training)
        count = literal(dims)
        if isinstance(made, ast.Call) and isinstance(count, int) and count:
            assert isinstance(made.func, ast.Call)
            with_keywords(
                made.func, broadcast_axis=constant(tuple(range(2, count + 2)))
            )
        elif isinstance(made, ast.Call) and made is not x:
            assert isinstance(made.func, ast.Call)
            made.func.func = name("@layer:AlphaDropout")
        return made

    def _layer_call(self, x: Arg, layer: Arg) -> Arg:
        return ast.Call(layer, [x], [])

    def _spread(self, array: Arg, shape: Arg) -> Arg:
        """A number over a shape is an array of it in the dtype of what is computed here."""
        if isinstance(literal(array), int | float):
            text = "jnp.full(s, v, d)"
            return marked(text, s=shape, v=array, d=self.own_dtype())
        return marked("jnp.broadcast_to(a, s)", a=array, s=shape)

    def _drawn(self, p: Arg) -> Arg:
        return marked("word_bernoulli(self.key(), p=p, shape=p.shape)", p=p)

    def _drawn_classes(self, p: Arg, count: Arg) -> Arg:
        if literal(count) != 1:
            raise MisfitError("`num_samples` other than 1")
        text = "jax.random.categorical(self.key(), jnp.log(p))[..., None]"
        return marked(text, p=p)

    def _drawn_normal(self, sizes: list[Arg]) -> Arg:
        return self._drawn_of("normal", sizes)

    def _drawn_uniform(self, sizes: list[Arg]) -> Arg:
        return self._drawn_of("uniform", sizes)

    def _drawn_of(self, kind: str, sizes: list[Arg]) -> Arg:
        text = f"jax.random.{kind}(self.key(), s, d)"
        return marked(text, s=self._tuple(sizes), d=self.own_dtype())

    # Arrays.

    # Attention and cells.


def _last_of_sum(sizes: Arg) -> tuple[ast.expr | None, Arg]:
    """What stands before the list that a sum of lists ends with, `[width] * depth + [out]`, and that list."""
    match sizes:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.List() as last):
            return left, last
    return None, sizes
