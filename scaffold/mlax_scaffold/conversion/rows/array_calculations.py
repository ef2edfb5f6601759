"""What rows compute of arrays: shapes, axes, paddings, and calls of attention."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from mlax_scaffold.conversion.rows.rows import MisfitError, is_silent, missing
from mlax_scaffold.conversion.rows.weight_calculations import WeightCalculations
from mlax_scaffold.conversion.shapes.size_equations import product
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    folded,
    is_none,
    literal,
    marked,
    name,
    replaced,
)


class ArrayCalculations(WeightCalculations):
    """Expressions over arrays."""

    first_input: str = "x"
    keyed: bool

    def _biased(
        self, kind: Arg, a: Arg, axis: Arg, keepdims: Arg, ddof: Arg, where: Arg
    ) -> Arg:
        """A variance, or its root, of so many values less."""
        call = marked(f"word_{literal(kind)}(a)", a=a)
        call = with_keywords(call, where=where, axis=axis, keepdims=keepdims)
        return with_keywords(call, correction=ddof) if literal(ddof) != 0 else call

    def _unbiased(
        self, kind: Arg, x: Arg, dim: Arg, keepdim: Arg, unbiased: Arg, correction: Arg
    ) -> Arg:
        if isinstance(literal(dim), bool):
            # A flag in the first place is not an axis.
            unbiased, dim = dim, name("_")
        call = with_keywords(
            marked(f"word_{literal(kind)}(a)", a=x), axis=dim, keepdims=keepdim
        )
        given = literal(unbiased) if missing(correction) else literal(correction)
        if given not in (0, 1):
            raise MisfitError(f"a correction of `{ast.unparse(correction)}`")
        if not given:
            return call
        axis = literal(dim)
        number = (
            expression("x.size", x=x)
            if missing(dim)
            else expression("x.shape[d]", x=x, d=dim)
        )
        if isinstance(axis, tuple | list):
            number = marked("math.prod(x.shape[d] for d in dims)", x=x, dims=dim)
        factor = "n / (n - 1)" if literal(kind) == "var" else "(n / (n - 1)) ** 0.5"
        return expression(f"v * ({factor})", v=call, n=number)

    def _tuple(self, sizes: Sequence[Arg]) -> Arg:
        if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
            return ast.Tuple(sizes[0].elts, ast.Load())
        if len(sizes) == 1 and not isinstance(literal(sizes[0]), int):
            [size] = sizes
            return size.value if isinstance(size, ast.Starred) else size
        return ast.Tuple(list(sizes), ast.Load())

    def _reshaped(self, x: Arg, shape: list[Arg]) -> Arg:
        if len(shape) == 1 and not isinstance(shape[0], ast.Tuple | ast.List):
            return expression("x.reshape(s)", x=x, s=shape[0])
        made = self._tuple(shape)
        call = expression("x.reshape()", x=x)
        assert isinstance(call, ast.Call)
        assert isinstance(made, ast.Tuple)
        call.args = made.elts
        return call

    def _permuted(self, x: Arg, dims: list[Arg]) -> Arg:
        return marked("jnp.transpose(x, d)", x=x, d=self._tuple(dims))

    def _tiled(self, x: Arg, sizes: list[Arg]) -> Arg:
        return marked("jnp.tile(x, d)", x=x, d=self._tuple(sizes))

    def _flipped(self, x: Arg, given: list[Arg], dims: Arg) -> Arg:
        told = given if missing(dims) else [dims]
        axes = told[0] if len(told) == 1 else self._tuple(told)
        return marked("jnp.flip(x, axis=d)", x=x, d=axes)

    def _expanded(self, x: Arg, sizes: list[Arg]) -> Arg:
        made, rank = self._tuple(sizes), None
        if isinstance(made, ast.Tuple):
            # An axis that is kept is there: before it stands no new one.
            rank = len(made.elts) if made.elts and literal(made.elts[0]) == -1 else None
            kept = [
                expression("x.shape[i]", x=x, i=constant(i - len(made.elts)))
                if literal(e) == -1
                else e
                for i, e in enumerate(made.elts)
            ]
            made = ast.Tuple(kept, ast.Load())
        call = marked("jnp.broadcast_to(x, s)", x=x, s=made)
        call.rank = rank  # type: ignore[attr-defined]
        return call

    def _flattened(self, x: Arg, start: Arg, end: Arg) -> Arg:
        first, last = literal(start), literal(end)
        if last == -1 and first == 0:
            return expression("x.reshape(-1)", x=x)
        if last == -1 and first == 1:
            return expression("x.reshape(x.shape[0], -1)", x=x)
        if last == -1 and isinstance(first, int):
            return expression("x.reshape(*x.shape[:a], -1)", x=x, a=start)
        if isinstance(first, int) and isinstance(last, int):
            return expression(
                "x.reshape(*x.shape[:a], -1, *x.shape[b:])",
                x=x,
                a=start,
                b=constant(last + 1),
            )
        raise MisfitError("`start_dim` and `end_dim` that are not literals")

    def _unflattened(self, x: Arg, dim: Arg, sizes: Arg) -> Arg:
        text = "x.reshape(*x.shape[:d], *s, *x.shape[d + 1:])"
        made = expression(text, x=x, d=dim, s=sizes)
        assert isinstance(made, ast.Call)
        made.args[1:2] = list(self._elements(sizes)) or made.args[1:2]  # type: ignore[attr-defined]
        if literal(dim) == -1:
            made.args.pop()
        return made

    def _parts(self, x: Arg, size: Arg, dim: Arg) -> Arg:
        if isinstance(size, ast.List | ast.Tuple):
            ends: list[Arg] = []
            for part in size.elts[:-1]:
                total = expression("a + b", a=ends[-1], b=part) if ends else part
                ends.append(folded(total))
            at: Arg = ast.List(ends, ast.Load())
            made = with_keywords(marked("jnp.split(x, at)", x=x, at=at), axis=dim)
            if ends:
                # For what follows shapes: jax leaves out the size of the last part.
                last = size.elts[-1]
                made.whole = folded(expression("a + b", a=ends[-1], b=last))  # type: ignore[attr-defined]
            return made
        # PyTorch gives the size of a part, and jax the number of parts, or where they end.
        even = getattr(size, "unpacked", 0)
        text = "x.shape[d] // s" if even else "list(range(s, x.shape[d], s))"
        at = expression(text, x=x, d=dim, s=size)
        made = with_keywords(marked("jnp.split(x, at)", x=x, at=at), axis=dim)
        made.parts = even  # type: ignore[attr-defined]
        return made

    def _extreme(self, kind: Arg, x: Arg, dim: Arg, keepdim: Arg) -> Arg:
        word = literal(kind)
        if missing(dim):
            return marked(f"jnp.{word}(x)", x=x)
        if not isinstance(literal(dim), int) and not _is_axis(dim):
            return marked(f"jnp.{word}imum(x, y)", x=x, y=dim)
        values = with_keywords(
            marked(f"jnp.{word}(x)", x=x), axis=dim, keepdims=keepdim
        )
        at = with_keywords(marked(f"jnp.arg{word}(x)", x=x), axis=dim, keepdims=keepdim)
        return ast.Tuple([values, at], ast.Load())

    def _size(self, x: Arg, dim: Arg) -> Arg:
        return (
            expression("x.shape", x=x)
            if missing(dim)
            else expression("x.shape[d]", x=x, d=dim)
        )

    def _scaled(self, x: Arg, other: Arg, alpha: Arg) -> Arg:
        text = "x + other" if literal(alpha) == 1 else "x + alpha * other"
        return expression(text, x=x, other=other, alpha=alpha)

    def _count(self, dtype: Arg) -> Arg | None:
        """A dtype of integers or booleans; None of floating ones, which are that of the input here."""
        return dtype if is_given(dtype) and not is_silent("dtype", dtype) else None

    def _of_dtype(self, dtype: Arg) -> Arg:
        return self._count(dtype) or self.own_dtype()

    def own_dtype(self) -> Arg:
        """The dtype of what is computed here: that of the first input; of numbers alone, any floating one."""
        return expression(f"{self.first_input}.dtype" if self.first_input else "float")

    def _finfo(self, dtype: Arg) -> Arg:
        """The limits of a dtype; those of what is computed here where casts say `float()`, too."""
        own = ast.unparse(dtype).rpartition(".")[2] in ("float", "float32")
        return marked("jnp.finfo(d)", d=self.own_dtype() if own else dtype)

    def _floating(self, x: Arg) -> Arg:
        # What is computed here has the dtype of the input; of a comparison, numbers are made.
        root = _root(x)
        counted = root != self.first_input and _COUNTED.search(root)
        if counted or isinstance(x, ast.Compare | ast.BoolOp):
            own = self.own_dtype()
            return expression("v.astype(d)", v=x, d=own)
        return x

    def _placed(self, x: Arg, args: list[Arg], dtype: Arg) -> Arg:
        for arg in (*(args if isinstance(args, list) else ()), dtype):
            if isinstance(arg, ast.Attribute) and arg.attr == "dtype":
                return expression("x.astype(d)", x=x, d=arg)
            if self._count(arg) is not None:
                return expression("x.astype(d)", x=x, d=arg)
        return self._floating(x)

    def _typed(self, x: Arg, dtype: Arg) -> Arg:
        if missing(dtype):
            return expression("x.dtype", x=x)
        return self._placed(x, [], dtype)

    def _meshgrid(self, args: list[Arg], indexing: Arg) -> Arg:
        [first, *rest] = args
        grid = marked("jnp.meshgrid(indexing=i)", i=indexing)
        assert isinstance(grid, ast.Call)
        if not rest and isinstance(first, ast.List | ast.Tuple):
            args = list(first.elts)
        grid.args = args
        return grid

    def _eye(self, n: Arg, m: Arg, dtype: Arg) -> Arg:
        text = "jnp.eye(n, dtype=d)" if missing(m) else "jnp.eye(n, m, dtype=d)"
        return marked(text, n=n, m=m, d=self._of_dtype(dtype))

    def _filled(self, kind: Arg, sizes: list[Arg], dtype: Arg) -> Arg:
        text = f"jnp.{literal(kind)}(s, d)"
        return marked(text, s=self._tuple(sizes), d=self._of_dtype(dtype))

    def _filled_like(self, kind: Arg, x: Arg, sizes: list[Arg], dtype: Arg) -> Arg:
        own = expression("x.dtype", x=x)
        kept = own if missing(dtype) else self._of_dtype(dtype)
        return marked(f"jnp.{literal(kind)}(s, d)", s=self._tuple(sizes), d=kept)

    def _full(self, size: Arg, value: Arg, dtype: Arg) -> Arg:
        return marked("jnp.full(s, v, d)", s=size, v=value, d=self._of_dtype(dtype))

    def _value(self, value: Arg, dtype: Arg) -> Arg:
        if isinstance(literal(value), int | float):
            return value
        call = marked("jnp.asarray(v)", v=value)
        told = isinstance(dtype, ast.Attribute) and dtype.attr == "dtype"
        return with_keywords(call, dtype=dtype if told else self._count(dtype))

    def _gelu_of(self, x: Arg, approximate: Arg) -> Arg:
        return replaced(self._gelu(approximate), {"x": x})

    def _gelu(self, approximate: Arg) -> Arg:
        if literal(approximate) == "tanh":
            return marked("word_gelu(x)")
        return marked("word_gelu(x, approximate=False)")

    def _softplus(self, beta: Arg) -> Arg:
        if literal(beta) == 1.0:
            return marked("jax.nn.softplus(x)")
        return marked("jax.nn.softplus(beta * x) / beta", beta=beta)

    def _powered_pool(
        self, x: Arg, power: Arg, window: Arg, stride: Arg, dims: Arg
    ) -> Arg:
        """The root of the sums of powers in windows, as the averages times the numbers of elements."""
        sizes = window.elts if isinstance(window, ast.Tuple | ast.List) else None
        count = product(sizes) if sizes else expression("w**d", w=window, d=dims)
        return marked(
            "(word_avg_pool(x**p, spatial_dims=d, window=w, strides=s, padding=0) * n)**(1 / p)",
            x=x, p=power, d=dims, w=window, s=stride if not is_none(stride) else window, n=count,
        )  # fmt: skip

    def _sides_padded(self, padding: Arg, axes: Arg, mode: Arg, value: Arg) -> Arg:
        if not isinstance(padding, ast.Tuple | ast.List):
            # One number for all sides.
            padding = ast.Tuple([padding] * (2 * int(str(literal(axes)))), ast.Load())
        return self._padded(name("x"), padding, mode, value)

    def _padded(self, x: Arg, pad: Arg, mode: Arg, value: Arg) -> Arg:
        amounts = pad.elts if isinstance(pad, ast.Tuple | ast.List) else []
        number = literal(pad)
        if isinstance(number, int):
            amounts = [constant(number)] * 4
        if len(amounts) % 2:
            raise MisfitError("a padding that is no tuple of pairs")
        pairs: list[Arg] = [
            ast.Tuple([amounts[i], amounts[i + 1]], ast.Load())
            for i in range(len(amounts) - 2, -1, -2)
        ]
        pads = expression("[(0, 0)] * (x.ndim - n) + p", x=x, n=constant(len(pairs)))
        assert isinstance(pads, ast.BinOp)
        pads.right = ast.List(pairs, ast.Load())
        if not pairs:
            # As many pairs as there are: those of the last axis come first.
            pads = expression(
                "[(0, 0)] * (x.ndim - len(p) // 2) "
                "+ [(p[i], p[i + 1]) for i in range(len(p) - 2, -1, -2)]",
                x=x,
                p=pad,
            )
        modes = {
            "constant": None,
            "reflect": "reflect",
            "replicate": "edge",
            "circular": "wrap",
        }
        given = str(literal(mode))
        if given not in modes:
            raise MisfitError(f"`mode={ast.unparse(mode)}`")
        filled = constant(modes[given]) if modes[given] else None
        cut = [literal(a) for a in amounts]
        if any(type(c) is int and c < 0 for c in cut) and not filled:
            # What is less than nothing is cut off.
            pads = expression(
                "[(0, 0, 0)] * (x.ndim - n) + p", x=x, n=constant(len(pairs))
            )
            assert isinstance(pads, ast.BinOp)
            sides = [[*p.elts, constant(0)] for p in pairs if isinstance(p, ast.Tuple)]
            pads.right = ast.List([ast.Tuple(p, ast.Load()) for p in sides], ast.Load())
            return marked(
                "lax.pad(x, jnp.asarray(v, x.dtype), p)", x=x, p=pads, v=value
            )
        values = value if literal(value) != 0 and not filled else None
        return with_keywords(
            marked("jnp.pad(x, p)", x=x, p=pads), mode=filled, constant_values=values
        )

    def _last_axes(self, shape: Arg) -> Arg | None:
        if isinstance(shape, ast.Tuple | ast.List) and len(shape.elts) > 1:
            return constant(tuple(range(-len(shape.elts), 0)))
        match shape:
            case ast.Subscript(
                value=ast.Attribute(value=x, attr="shape"),
                slice=ast.Slice(lower=ast.expr() as start, upper=None, step=None),
            ):
                # The axes from one on: `x.shape[1:]`.
                first = literal(start)
                if isinstance(first, int) and first < 0:
                    return constant(tuple(range(first, 0)))
                return marked("tuple(range(a, x.ndim))", a=start, x=x)
        return None


Arg = ast.expr


_COUNTED = re.compile(
    r"mask|(^|_)(ids?|idx|index|indices|positions?|pos|lengths?|lens?|tokens|counts?)$"
)
"""Names of what may hold integers, or what is true."""


def _root(node: Arg) -> str:
    """The name that parts and views are taken of; "" for none."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                return ""
            node = node.func
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_axis(node: Arg) -> bool:
    """Whether an argument is an axis by its name, and no other array."""
    last = ast.unparse(node).rpartition(".")[2]
    return last.rpartition("_")[2] in ("dim", "axis")


def is_given(node: Arg | None) -> bool:
    return node is not None and not missing(node) and not is_none(node)


def with_keywords(call: Arg, **keywords: Arg | None) -> Arg:
    assert isinstance(call, ast.Call)
    for key, value in keywords.items():
        if value is not None and not missing(value):
            call.keywords.append(ast.keyword(key, value))
    return call
