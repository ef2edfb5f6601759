"""What rows compute of functions of PyTorch that take settings, as their modules do."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from mlax_scaffold.conversion.rows.array_calculations import (
    Arg,
    is_given,
    with_keywords,
)
from mlax_scaffold.conversion.rows.rows import MisfitError, missing
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    folded,
    is_none,
    literal,
    marked,
    name,
    replaced,
    same,
)


class FunctionalCalculations:
    """Functions that rows tell of more than a text does."""

    _count: Callable[[Arg], Arg | None]

    def _less(self, x: Arg, other: Arg, alpha: Arg) -> Arg:
        text = "x - other" if literal(alpha) == 1 else "x - alpha * other"
        return expression(text, x=x, other=other, alpha=alpha)

    def _quotient(self, x: Arg, other: Arg, rounding: Arg) -> Arg:
        kinds = {None: "x / other", "floor": "x // other"}
        text = kinds.get(str(literal(rounding)) if not is_none(rounding) else None)
        return marked(text or "jnp.trunc(x / other)", x=x, other=other)

    def _like(self, x: Arg, dtype: Arg) -> Arg | None:
        """The dtype of an array that is made like another one; None where it is the same."""
        if missing(dtype):
            return None
        if isinstance(dtype, ast.Attribute) and dtype.attr == "dtype":
            return None if same(dtype.value, x) else dtype  # type: ignore[arg-type]
        return self._count(dtype)

    def _norm_of_matrices(self, x: Arg, order: Arg, axis: Arg, keepdims: Arg) -> Arg:
        """A norm of NumPy: one of matrices along two axes, but for that of Frobenius."""
        along = literal(axis) if is_given(axis) else None
        several = along is None or (isinstance(along, tuple | list) and len(along) == 2)
        plain = not is_given(order) or is_none(order) or literal(order) == "fro"
        if plain or not several:
            return self._norm(x, order, axis, keepdims)
        made = marked("jnp.linalg.norm(x, p)", x=x, p=order)
        return with_keywords(made, axis=axis, keepdims=keepdims)

    def _norm(self, x: Arg, order: Arg, axis: Arg, keepdims: Arg) -> Arg:
        value = literal(order) if is_given(order) else 2
        if value in (2, 2.0, "fro"):
            return with_keywords(
                marked("word_l2_norm(x)", x=x), axis=axis, keepdims=keepdims
            )
        if value in (1, 1.0):
            return with_keywords(
                marked("word_sum(jnp.abs(x))", x=x), axis=axis, keepdims=keepdims
            )
        if ast.unparse(order).endswith(("inf", "float('inf')")):
            word = "min" if ast.unparse(order).startswith("-") else "max"
            return with_keywords(
                marked(f"jnp.{word}(jnp.abs(x))", x=x), axis=axis, keepdims=keepdims
            )
        if value == 0:
            call = marked("jnp.count_nonzero(x)", x=x)
            counted = with_keywords(call, axis=axis, keepdims=keepdims)
            return expression("c.astype(x.dtype)", c=counted, x=x)
        if isinstance(value, int | float):
            powers = marked("word_sum(jnp.abs(x) ** p)", x=x, p=order)
            made = with_keywords(powers, axis=axis, keepdims=keepdims)
            return expression("s ** (1 / p)", s=made, p=order)
        raise MisfitError(f"a norm of order `{ast.unparse(order)}`")

    def _renormalized(self, x: Arg, order: Arg, dim: Arg, most: Arg) -> Arg:
        """Slices along an axis whose norms are no larger than that."""
        axes = expression("tuple(a for a in range(x.ndim) if a != d)", x=x, d=dim)
        length = self._norm(x, order, axes, constant(True))
        return marked("x * jnp.minimum(1, m / (n + 1e-7))", x=x, m=most, n=length)

    def _matrix_norm(self, x: Arg, order: Arg, axis: Arg, keepdims: Arg) -> Arg:
        """A norm of two axes is that of a matrix where it has an order."""
        axes = literal(axis)
        pair = missing(axis) or (isinstance(axes, tuple | list) and len(axes) == 2)
        if not pair or is_none(order) or literal(order) == "fro":
            return self._norm(x, order, axis, keepdims)
        call = marked("jnp.linalg.norm(x, o)", x=x, o=order)
        return with_keywords(call, axis=self._axes(axis), keepdims=keepdims)

    def _axes(self, axes: Arg) -> Arg:
        """Axes as a tuple, which functions of jax.numpy take alone."""
        return ast.Tuple(axes.elts, ast.Load()) if isinstance(axes, ast.List) else axes

    def _axis_of(self, x: Arg, dim: Arg) -> Arg:
        """The axis of a softmax, which PyTorch chooses by the rank where none is given."""
        if not is_none(dim):
            return dim
        return expression("0 if x.ndim in (0, 1, 3) else 1", x=x)

    def _axis_of_x(self, dim: Arg) -> Arg:
        return self._axis_of(name("x"), dim)

    def _unflattened_of_x(self, dim: Arg, sizes: Arg) -> Arg:
        return self._unflattened(name("x"), dim, sizes)  # type: ignore[attr-defined]

    def _so_far(self, kind: Arg, x: Arg, dim: Arg, dtype: Arg) -> Arg:
        call = with_keywords(marked(f"jnp.{literal(kind)}(x)", x=x), axis=dim)
        return with_keywords(call, dtype=self._count(dtype))  # type: ignore[attr-defined]

    def _contracted(self, equation: Arg, operands: list[Arg]) -> Arg:
        """An einsum, whose operands may stand in a list."""
        if len(operands) == 1 and isinstance(operands[0], ast.List | ast.Tuple):
            operands = operands[0].elts
        call = marked("jnp.einsum(e)", e=equation)
        assert isinstance(call, ast.Call)
        call.args += operands
        return call

    def _of_matrices(self, x: Arg, other: Arg) -> Arg:
        """A product of two matrices, which have no other axes: for what follows shapes."""
        made = marked("jnp.matmul(x, other)", x=x, other=other)
        made.flat = True  # type: ignore[attr-defined]
        return made

    def _multiplied(self, tensors: list[Arg]) -> Arg:
        made = tensors[0]
        for tensor in tensors[1:]:
            made = marked("jnp.matmul(a, b)", a=made, b=tensor)
        return made

    def _logit(self, x: Arg, epsilon: Arg) -> Arg:
        if not is_none(epsilon):
            x = marked("jnp.clip(x, e, 1 - e)", x=x, e=epsilon)
        return marked("jnp.log(x / (1 - x))", x=x)

    def _product_added(self, x: Arg, a: Arg, b: Arg, beta: Arg, alpha: Arg) -> Arg:
        product = marked("jnp.matmul(a, b)", a=a, b=b)
        if literal(alpha) != 1:
            product = expression("c * p", c=alpha, p=product)
        if literal(beta) == 0:
            return product
        if literal(beta) != 1:
            x = expression("c * x", c=beta, x=x)
        return expression("x + p", x=x, p=product)

    def _softplus_of(self, x: Arg, beta: Arg) -> Arg:
        return replaced(self._softplus(beta), {"x": x})  # type: ignore[attr-defined]

    def _with_statistics(
        self, x: Arg, average: Arg, variance: Arg, weight: Arg, bias: Arg, training: Arg,
        epsilon: Arg,
    ) -> Arg:  # fmt: skip
        """What a batch is normalized by statistics that are given, for each of the channels."""
        if literal(training) is not False or is_none(average):
            raise MisfitError("statistics of the batch")
        text = "(x - m.reshape(s)) / jnp.sqrt(v.reshape(s) + e)"
        along = expression("(-1, *[1] * (x.ndim - 2))", x=x)
        y = marked(text, x=x, m=average, v=variance, e=epsilon, s=along)
        return self._affine_second(y, x, weight, bias)

    def _affine_second(self, y: Arg, x: Arg, weight: Arg, bias: Arg) -> Arg:
        """A weight and a bias for each of the channels, which are the second axis."""
        for sign, number, given in (("*", 1.0, weight), ("+", 0.0, bias)):
            if is_none(given):
                continue
            along = partial(_along_second, x)
            told = self._if_any(given, along, number)  # type: ignore[attr-defined]
            y = expression(f"y {sign} w", y=y, w=told)
        return y

    def _over_neighbours(self, x: Arg, size: Arg, alpha: Arg, beta: Arg, k: Arg) -> Arg:
        """Channels that are divided by what those beside them are."""
        window = marked(
            "lax.reduce_window(x**2, x.dtype.type(0), lax.add, (1, n) + (1,) * (x.ndim - 2), "
            "(1,) * x.ndim, [(0, 0), (n // 2, (n - 1) // 2)] + [(0, 0)] * (x.ndim - 2))",
            x=x, n=size,
        )  # fmt: skip
        text = "x / (k + a * s / n) ** b"
        return expression(text, x=x, k=k, a=alpha, s=window, n=size, b=beta)

    def _neighbours_of_x(self, size: Arg, alpha: Arg, beta: Arg, k: Arg) -> Arg:
        return self._over_neighbours(name("x"), size, alpha, beta, k)

    def _patches(
        self, x: Arg, kernel: Arg, dilation: Arg, padding: Arg, stride: Arg
    ) -> Arg:
        """The windows of an image, with the elements of each as features."""
        p = _pair(padding)
        sides = [ast.Tuple([side, side], ast.Load()) for side in p.elts]
        return marked(
            "lax.conv_general_dilated_patches(x, k, s, p, rhs_dilation=d)"
            ".reshape(x.shape[0], x.shape[1] * math.prod(k), -1)",
            x=x, k=_pair(kernel), s=_pair(stride), d=_pair(dilation),
            p=ast.List([*sides], ast.Load()),
        )  # fmt: skip

    def _patches_of_x(
        self, kernel: Arg, dilation: Arg, padding: Arg, stride: Arg
    ) -> Arg:
        return self._patches(name("x"), kernel, dilation, padding, stride)

    def _unpatched(
        self,
        x: Arg,
        size: Arg,
        kernel: Arg,
        dilation: Arg,
        padding: Arg,
        stride: Arg,
    ) -> Arg:
        """The sum of windows, each put where it was in an image."""
        given = (_pair(a).elts for a in (size, kernel, dilation, padding, stride))
        places: list[Arg] = []
        counts: list[Arg] = []
        sides = list(zip(*given, strict=True))
        for length, k, d, p, s in sides:
            count = folded(
                expression(
                    "(n + 2 * p - d * (k - 1) - 1) // s + 1",
                    n=length,
                    k=k,
                    d=d,
                    p=p,
                    s=s,
                )
            )
            text = "jnp.arange(k)[:, None] * d + jnp.arange(c) * s"
            places.append(marked(text, k=k, d=d, c=count, s=s))
            counts.append(count)
        (height, k0, _, p0, _), (width, k1, _, p1, _) = sides
        return marked(
            "jnp.zeros((x.shape[0], x.shape[1] // (a * b), h + 2 * p, w + 2 * q), x.dtype)"
            ".at[:, :, (rows)[:, None, :, None], (columns)[:, None, :]]"
            ".add(x.reshape(x.shape[0], -1, a, b, m, n))[:, :, p:p + h, q:q + w]",
            x=x, a=k0, b=k1, h=height, w=width, p=p0, q=p1, m=counts[0], n=counts[1],
            rows=places[0], columns=places[1],
        )  # fmt: skip

    def _transposed_conv(
        self,
        x: Arg,
        weight: Arg,
        stride: Arg,
        padding: Arg,
        further: Arg,
        dilation: Arg,
        dims: Arg,
    ) -> Arg:
        """A convolution whose input is put apart, of a weight (in, out, *window)."""
        count = int(str(literal(dims)))
        given = [_several(a, count) for a in (padding, further, dilation)]
        sides: list[Arg] = []
        for i, (p, o, d) in enumerate(zip(*given, strict=True)):
            text = "(d * (w.shape[i] - 1) - p, d * (w.shape[i] - 1) - p + o)"
            at = ast.Constant(i + 2)
            sides.append(expression(text, w=weight, i=at, p=p, o=o, d=d))
        return marked(
            "lax.conv_general_dilated(x, jnp.flip(jnp.swapaxes(w, 0, 1), axis=a), o, p, "
            "lhs_dilation=s, rhs_dilation=d)",
            x=x, w=weight, a=ast.Constant(tuple(range(2, count + 2))),  # type: ignore[arg-type]
            o=ast.Constant((1,) * count),  # type: ignore[arg-type]
            p=ast.List(sides, ast.Load()),
            s=ast.Tuple(_several(stride, count), ast.Load()),
            d=ast.Tuple(given[2], ast.Load()),
        )  # fmt: skip

    def _plus(self, y: Arg, bias: Arg) -> Arg:
        return y if is_none(bias) else expression("y + b", y=y, b=bias)

    def _normalized(self, x: Arg, order: Arg, dim: Arg, epsilon: Arg) -> Arg:
        if literal(order) in (2, 2.0):
            return with_keywords(
                marked("word_l2_normalize(x)", x=x), axis=dim, epsilon=epsilon
            )
        norm = self._norm(x, order, dim, ast.Constant(True))  # type: ignore[attr-defined]
        return marked("x / jnp.maximum(n, e)", x=x, n=norm, e=epsilon)

    def _extreme_so_far(self, kind: Arg, x: Arg, dim: Arg) -> Arg:
        """The largest elements, or the smallest, up to each place, and their places."""
        if not isinstance(literal(dim), int):
            raise MisfitError("`dim` that is no literal")
        axis = (
            dim if int(str(literal(dim))) >= 0 else expression("x.ndim + d", x=x, d=dim)
        )
        word = f"cum{literal(kind)}"
        best = marked(f"lax.{word}(x, axis=d)", x=x, d=axis)
        at = marked(
            "lax.cummax(jnp.where(x == b, jnp.indices(x.shape)[d], 0), axis=d)",
            x=x, b=best, d=axis,
        )  # fmt: skip
        return ast.Tuple([best, at], ast.Load())


def _several(given: Arg, count: int) -> list[Arg]:
    """A number for each axis; one stands for all."""
    if isinstance(given, ast.Tuple | ast.List):
        return list(given.elts)
    return [given] * count


def _pair(given: Arg) -> ast.Tuple:
    """Two numbers; one stands for both."""
    return ast.Tuple(_several(given, 2), ast.Load())


def _along_second(x: ast.expr, weight: ast.expr) -> ast.expr:
    """A weight along the second axis of an array."""
    return expression("w.reshape(-1, *[1] * (x.ndim - 2))", w=weight, x=x)
