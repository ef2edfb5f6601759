"""What rows compute of sums that are taken at indices, and of orders."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.array_calculations import Arg, with_keywords
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.source.trees import expression, literal, marked


class ScatteringCalculations:
    """Arrays that others are added to, at indices along an axis."""

    def _sum_at(self, x: Arg, dim: Arg, index: Arg, source: Arg) -> Arg:
        """Slices that are added, each where its index says."""
        axis = _number(dim)
        if axis < -1:
            raise MisfitError(f"`dim={axis}`")
        before = ["..."] if axis == -1 else [":"] * axis
        text = f"x.at[{', '.join([*before, 'i'])}].add(s)"
        return expression(text, x=x, i=index, s=source)

    def _order(self, x: Arg, dim: Arg, descending: Arg) -> Arg:
        """The indices that put an array in order along an axis."""
        return _sorted("argsort", x, dim, descending)

    def _in_order(self, x: Arg, dim: Arg, descending: Arg) -> Arg:
        """An array in order, and those indices."""
        names = ("sort", "argsort")
        made = [_sorted(n, x, dim, descending) for n in names]
        return ast.Tuple(made, ast.Load())

    def _scattered_sum(self, x: Arg, dim: Arg, index: Arg, source: Arg) -> Arg:
        """Elements that are added, each where its index says along one axis."""
        axis = _number(dim)
        after = f"*word_places[{axis + 1}:]" if axis != -1 else ""
        text = f"x.at[(*jnp.indices(i.shape)[:{axis}], i, {after})].add(s)"
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
