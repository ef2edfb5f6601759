"""What rows compute of sums that are taken at indices, and of orders."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.array_calculations import Arg, with_keywords
from mlax_scaffold.conversion.rows.rows import MisfitError, missing
from mlax_scaffold.conversion.source.trees import expression, literal, marked


class ScatteringCalculations:
    """Arrays that others are added to, at indices along an axis."""

    def _sum_at(self, x: Arg, dim: Arg, index: Arg, source: Arg) -> Arg:
        """Slices that are added, each where its index says."""
        return self._set_at(x, dim, index, source, ast.Constant("add"))

    def _set_at(self, x: Arg, dim: Arg, index: Arg, source: Arg, how: Arg) -> Arg:
        """Slices that are put, or added, each where its index says."""
        axis = _number(dim)
        if axis < -1:
            raise MisfitError(f"`dim={axis}`")
        before = ["..."] if axis == -1 else [":"] * axis
        text = f"x.at[{', '.join([*before, 'i'])}].{literal(how)}(s)"
        return expression(text, x=x, i=index, s=source)

    def _scattered(self, x: Arg, dim: Arg, index: Arg, source: Arg, value: Arg) -> Arg:
        """Elements, or one number, that are put where their index says along one axis."""
        text = "jnp.put_along_axis(x, i, s, axis=d, inplace=False)"
        return marked(text, x=x, i=index, s=value if missing(source) else source, d=dim)

    def _searched(self, bounds: Arg, x: Arg, right: Arg) -> Arg:
        """Where elements belong among bounds in order."""
        side = ast.Constant("right" if literal(right) else "left")
        return marked("jnp.searchsorted(b, x, side=s)", b=bounds, x=x, s=side)

    def _median(self, x: Arg, dim: Arg, keepdim: Arg) -> Arg:
        """The lower one of two in the middle, with its place where an axis is told."""
        if missing(dim):
            return marked("jnp.sort(x.reshape(-1))[(x.size - 1) // 2]", x=x)
        middle = expression("(x.shape[d] + 1) // 2", x=x, d=dim)
        return self._ranked(x, middle, dim, keepdim)

    def _ranked(self, x: Arg, k: Arg, dim: Arg, keepdim: Arg) -> Arg:
        """The k-th smallest elements along an axis, and their places."""
        text = "jnp.take(jnp.{}(x, axis=d), k - 1, axis=d)"
        if not missing(keepdim) and literal(keepdim):
            text = f"jnp.expand_dims({text}, d)"
        made = [marked(text.format(n), x=x, d=dim, k=k) for n in ("sort", "argsort")]
        return ast.Tuple(made, ast.Load())

    def _top_k(self, x: Arg, k: Arg, dim: Arg, largest: Arg) -> Arg:
        """The k largest elements along an axis, or the smallest, and their places."""
        if literal(largest) is False:
            text = "jnp.{}(x, axis=d)"
            parts = [marked(text.format(n), x=x, d=dim) for n in ("sort", "argsort")]
            cut = "lax.slice_in_dim(s, 0, k, axis=d)"
            made = [marked(cut, s=s, k=k, d=dim) for s in parts]
            return ast.Tuple(made, ast.Load())
        if literal(dim) == -1:
            return marked("lax.top_k(x, k)", x=x, k=k)
        text = "jnp.moveaxis(lax.top_k(jnp.moveaxis(x, d, -1), k)[{}], -1, d)"
        made = [marked(text.format(i), x=x, k=k, d=dim) for i in (0, 1)]
        return ast.Tuple(made, ast.Load())

    def _sliding(self, x: Arg, dim: Arg, size: Arg, step: Arg) -> Arg:
        """Windows along an axis, whose elements are a new last one."""
        text = "jnp.take(x, jnp.arange(0, x.shape[d] - n + 1, s)[:, None] + jnp.arange(n), axis=d)"
        made = marked(text, x=x, d=dim, n=size, s=step)
        axis = _number(dim)
        if axis == -1:
            return made
        place = ast.Constant(axis + 1 if axis >= 0 else axis)
        return marked("jnp.moveaxis(x, d, -1)", x=made, d=place)

    def _order(self, x: Arg, dim: Arg, descending: Arg) -> Arg:
        """The indices that put an array in order along an axis."""
        return _sorted("argsort", x, dim, descending)

    def _in_order(self, x: Arg, dim: Arg, descending: Arg) -> Arg:
        """An array in order, and those indices."""
        names = ("sort", "argsort")
        made = [_sorted(n, x, dim, descending) for n in names]
        return ast.Tuple(made, ast.Load())

    def _scatter_reduced(
        self, x: Arg, dim: Arg, index: Arg, source: Arg, how: Arg
    ) -> Arg:
        """Elements that are combined with those where their index says along one axis."""
        named = {"sum": "add", "amax": "max", "amin": "min", "prod": "multiply"}
        if literal(how) not in named:
            raise MisfitError(f"`reduce={ast.unparse(how)}`")
        return self._along(x, dim, index, source, named[str(literal(how))])

    def _scattered_sum(self, x: Arg, dim: Arg, index: Arg, source: Arg) -> Arg:
        """Elements that are added, each where its index says along one axis."""
        return self._along(x, dim, index, source, "add")

    def _along(self, x: Arg, dim: Arg, index: Arg, source: Arg, how: str) -> Arg:
        axis = _number(dim)
        after = f"*word_places[{axis + 1}:]" if axis != -1 else ""
        text = f"x.at[(*jnp.indices(i.shape)[:{axis}], i, {after})].{how}(s)"
        text = text.replace("word_places", "jnp.indices(i.shape)")
        return marked(text, x=x, i=index, s=source)


def _sorted(name: str, x: Arg, dim: Arg, descending: Arg) -> ast.expr:
    made = marked(f"jnp.{name}(x, axis=d)", x=x, d=dim)
    if literal(descending) is False:
        return made
    assert isinstance(made, ast.Call)
    return with_keywords(made, descending=descending)


def _number(dim: Arg) -> int:
    axis = literal(dim)
    if type(axis) is not int:
        raise MisfitError(f"`dim={ast.unparse(dim)}`")
    return axis
