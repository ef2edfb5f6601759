"""Patterns of axes, `"b (h d) -> b h d"`, as einops writes them."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.conversion.shapes.sizes import product
from mlax_scaffold.conversion.source.trees import expression, name

Groups = Sequence[Sequence[str]]
_REDUCTIONS = {
    "mean": "@word:mean",
    "sum": "@word:sum",
    "prod": "@word:prod",
    "max": "@module:jnp.max",
    "min": "@module:jnp.min",
}


@dataclass(frozen=True)
class Pattern:
    """The axes of an array before and after, where several may be made one."""

    left: Groups
    right: Groups

    @classmethod
    def read(cls, text: str) -> Pattern | None:
        """A pattern; None for one with `...`, or of another form."""
        sides = text.split("->")
        if len(sides) != 2 or "." in text:
            return None
        groups = [re.findall(r"\(([^()]*)\)|(\w+)", side) for side in sides]
        made = [[(g[1],) if g[1] else tuple(g[0].split()) for g in s] for s in groups]
        return cls(made[0], made[1])

    def applied(
        self, x: str, sizes: Mapping[str, ast.expr], reduction: str = ""
    ) -> ast.expr | None:
        """The array of this name in the other shape; None where sizes do not tell it."""
        known = self._sizes(x, sizes)
        before = [axis for group in self.left for axis in group]
        after = [axis for group in self.right for axis in group]
        if known is None or len(set(_named(before))) != len(_named(before)):
            return None
        made: ast.expr = name(x)
        if any(len(group) != 1 for group in self.left):
            made = self._divided(x, [known[a] for a in before])
        kept = [a for a in before if a != "1" and a in after]
        gone = [i for i, a in enumerate(before) if a not in kept]
        if gone:
            fewer = _reduced(made, before, gone, reduction)
            if fewer is None:
                return None
            made = fewer
        order = [kept.index(a) for a in after if a in kept]
        if order != sorted(order):
            places: list[ast.expr] = [ast.Constant(i) for i in order]
            made = ast.Call(
                expression("m.transpose", m=name("@module:jnp")),
                [made, ast.Tuple(places, ast.Load())],
                [],
            )
        made = _with_new(made, after, kept, known)
        if any(len(group) != 1 for group in self.right):
            made = _reshaped(
                made, [product(known[a] for a in group) for group in self.right]
            )
        return made

    def _divided(self, x: str, sizes: Sequence[ast.expr]) -> ast.expr:
        """The array with an axis for each name."""
        if all(len(group) == 1 for group in self.left[:-1]):
            first: ast.expr = expression(f"{x}.shape[:-1]")
            ends = sizes[len(self.left) - 1 :]
            return _reshaped(name(x), [ast.Starred(first, ast.Load()), *ends])
        return _reshaped(name(x), sizes)

    def _sizes(
        self, x: str, sizes: Mapping[str, ast.expr]
    ) -> dict[str, ast.expr] | None:
        """The size of each axis; None where one is not told."""
        known: dict[str, ast.expr] = {"1": ast.Constant(1), **sizes}
        for place, group in enumerate(self.left):
            last = place == len(self.left) - 1
            whole = expression(f"{x}.shape[{-1 if last else place}]")
            open_ = [axis for axis in group if axis not in known]
            if len(open_) > 1:
                return None
            rest = [known[axis] for axis in group if axis in known]
            for axis in open_:
                known[axis] = (
                    expression("w // p", w=whole, p=product(rest)) if rest else whole
                )
        wanted = {axis for group in self.right for axis in group}
        return known if wanted <= set(known) else None


def flattened(text: str, x: str) -> ast.expr | None:
    """An array whose axes between others are made one, `"b ... d -> b (...) d"`; None for other patterns."""
    found = re.fullmatch(r"\s*((?:\w+\s+)*)\.\.\.((?:\s+\w+)*)\s*->(.*)", text)
    if found is None:
        return None
    before, after = found[1].split(), found[2].split()
    if found[3].split() != [*before, "(...)", *after]:
        return None
    sizes = [f"{x}.shape[{i}]" for i in range(len(before))]
    sizes += ["-1", *(f"{x}.shape[{i - len(after)}]" for i in range(len(after)))]
    return expression(f"{x}.reshape({', '.join(sizes)})")


def _named(axes: Sequence[str]) -> list[str]:
    return [a for a in axes if a != "1"]


def _reshaped(made: ast.expr, sizes: Sequence[ast.expr]) -> ast.expr:
    call = expression("m.reshape()", m=made)
    assert isinstance(call, ast.Call)
    call.args = [copy.deepcopy(s) for s in sizes]
    return call


def _reduced(
    made: ast.expr, before: Sequence[str], gone: Sequence[int], reduction: str
) -> ast.expr | None:
    if all(before[i] == "1" for i in gone) and not reduction:
        places: list[ast.expr] = [ast.Constant(i) for i in gone]
        func = expression("m.squeeze", m=name("@module:jnp"))
        axis = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
        return ast.Call(func, [made], [ast.keyword("axis", axis)])
    if reduction not in _REDUCTIONS:
        return None
    module, _, attribute = _REDUCTIONS[reduction].partition(".")
    func = name(module)
    if attribute:
        func = ast.Attribute(func, attribute, ast.Load())
    places = [ast.Constant(i) for i in gone]
    axis = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
    return ast.Call(func, [made], [ast.keyword("axis", axis)])


def _with_new(
    made: ast.expr,
    after: Sequence[str],
    kept: Sequence[str],
    known: Mapping[str, ast.expr],
) -> ast.expr:
    """The array with the axes that only stand after the arrow."""
    new = [i for i, a in enumerate(after) if a not in kept]
    for i in new:
        func = expression("m.expand_dims", m=name("@module:jnp"))
        made = ast.Call(func, [made, ast.Constant(i)], [])
    if any(after[i] != "1" for i in new):
        shape = ast.Tuple([copy.deepcopy(known[a]) for a in after], ast.Load())
        func = expression("m.broadcast_to", m=name("@module:jnp"))
        made = ast.Call(func, [made, shape], [])
    return made
