"""Patterns of axes, `"b (h d) -> b h d"`, as einops writes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.conversion.shapes.size_equations import product
from mlax_scaffold.conversion.source.trees import expression, name
from mlax_scaffold.conversion.source.walking import cloned

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
    after_all: bool = False
    """Whether they are the last axes, after any others: `"... d r -> ... (d r)"`."""

    @classmethod
    def read(cls, text: str) -> Pattern | None:
        """A pattern; None for one with `...` that stands elsewhere than first, or of another form."""
        sides = [side.strip() for side in text.split("->")]
        after_all = all(side.startswith("...") for side in sides)
        if after_all:
            sides = [side.removeprefix("...") for side in sides]
        if len(sides) != 2 or any("." in side for side in sides):
            return None
        groups = [re.findall(r"\(([^()]*)\)|(\w+)", side) for side in sides]
        made = [[(g[1],) if g[1] else tuple(g[0].split()) for g in s] for s in groups]
        return cls(made[0], made[1], after_all)

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
        others = self._others(x)
        if gone:
            if self.after_all and reduction:
                return None
            places = [self._place(i, before) for i in gone]
            fewer = _reduced(made, [before[i] for i in gone], places, reduction)
            if fewer is None:
                return None
            made = fewer
        order = [kept.index(a) for a in after if a in kept]
        if order != sorted(order):
            made = self._reordered(made, order)
        made = self._with_new(made, after, kept, known, others)
        if any(len(group) != 1 for group in self.right):
            sizes_after = [product(known[a] for a in group) for group in self.right]
            made = _reshaped(made, [*others, *sizes_after])
        return made

    def _place(self, at: int, axes: Sequence[str]) -> int:
        """The place of one of some axes in the array."""
        return at - len(axes) if self.after_all else at

    def _others(self, x: str) -> list[ast.expr]:
        """The sizes of the axes before those of the pattern."""
        if not self.after_all:
            return []
        return [ast.Starred(expression(f"{x}.shape[:-{len(self.left)}]"), ast.Load())]

    def _reordered(self, made: ast.expr, order: Sequence[int]) -> ast.expr:
        if self.after_all:
            count = len(order)
            old = ast.Tuple([_number(i - count) for i in order], ast.Load())
            new = ast.Tuple([_number(i - count) for i in range(count)], ast.Load())
            func = expression("m.moveaxis", m=name("@module:jnp"))
            return ast.Call(func, [made, old, new], [])
        func = expression("m.transpose", m=name("@module:jnp"))
        places = ast.Tuple([_number(i) for i in order], ast.Load())
        return ast.Call(func, [made, places], [])

    def _with_new(
        self,
        made: ast.expr,
        after: Sequence[str],
        kept: Sequence[str],
        known: Mapping[str, ast.expr],
        others: Sequence[ast.expr],
    ) -> ast.expr:
        """The array with the axes that only stand after the arrow."""
        new = [i for i, a in enumerate(after) if a not in kept]
        for count, i in enumerate(new):
            # Of those that are there by then.
            ahead = len(after) - (len(new) - count - 1)
            place = i - ahead if self.after_all else i
            func = expression("m.expand_dims", m=name("@module:jnp"))
            made = ast.Call(func, [made, _number(place)], [])
        if any(after[i] != "1" for i in new):
            sizes = [cloned(known[a]) for a in after]
            shape = ast.Tuple([*others, *sizes], ast.Load())
            func = expression("m.broadcast_to", m=name("@module:jnp"))
            made = ast.Call(func, [made, shape], [])
        return made

    def _divided(self, x: str, sizes: Sequence[ast.expr]) -> ast.expr:
        """The array with an axis for each name."""
        if self.after_all:
            return _reshaped(name(x), [*self._others(x), *sizes])
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
            at = -1 if last else self._place(place, self.left)  # type: ignore[arg-type]
            if not _opened(group, expression(f"{x}.shape[{at}]"), known):
                return None
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


def _opened(group: Sequence[str], whole: ast.expr, known: dict[str, ast.expr]) -> bool:
    """Tell the size of the axis of a group that is open yet, of the whole; False where several are."""
    unknown = [axis for axis in group if axis not in known]
    rest = [known[axis] for axis in group if axis in known]
    for axis in unknown[:1]:
        known[axis] = expression("w // p", w=whole, p=product(rest)) if rest else whole
    return len(unknown) < 2


def between(
    text: str, x: str, sizes: Mapping[str, ast.expr], reduction: str = ""
) -> ast.expr | None:
    """An array whose pattern leaves any axes between others as they are: `"(b h) ... d -> b h ... d"`."""
    left, _, right = text.partition("->")
    flat_ends = "(...)" in right
    sides = [_parted(left), _parted(right.replace("(...)", "..."))]
    if reduction or None in sides:
        return None
    (first, last), (new_first, new_last) = sides  # type: ignore[misc]
    known: dict[str, ast.expr] = {"1": ast.Constant(1), **sizes}
    for groups, ahead in ((first, 0), (last, len(last))):
        for place, group in enumerate(groups):
            if not _opened(group, expression(f"{x}.shape[{place - ahead}]"), known):
                return None
    axes = [[a for g in part for a in g if a != "1"] for part in (first, last)]
    wanted = [
        [a for g in part for a in g if a != "1"] for part in (new_first, new_last)
    ]
    flat = [*axes[0], *axes[1]]
    every = [*wanted[0], *wanted[1]]
    repeated = {a for a in every if a not in flat}
    kept = [[a for a in part if a not in repeated] for part in wanted]
    if (
        not repeated <= {*sizes}
        or len({*flat}) != len(flat)
        or len({*every}) != len(every)
    ):
        return None
    if {*flat} != {*kept[0], *kept[1]}:
        return None
    end = -len(last) if last else ""
    inner = ast.Starred(expression(f"{x}.shape[{len(first)}:{end}]"), ast.Load())
    made: ast.expr = name(x)
    if any(len(g) != 1 or g == ("1",) for g in (*first, *last)):
        before, after = ([known[a] for a in part] for part in axes)
        made = _reshaped(made, [*before, inner, *after])
    if axes != kept:
        made = _moved(made, axes, kept)
    if repeated:
        ones = [
            [ast.Constant(1) if a in repeated else known[a] for a in part]
            for part in wanted
        ]
        made = _reshaped(made, [*ones[0], inner, *ones[1]])
        shape = [[cloned(known[a]) for a in part] for part in wanted]
        whole = ast.Tuple([*shape[0], inner, *shape[1]], ast.Load())
        func = expression("m.broadcast_to", m=name("@module:jnp"))
        made = ast.Call(func, [made, whole], [])
    grouped = any(len(g) != 1 or g == ("1",) for g in (*new_first, *new_last))
    if grouped or flat_ends:
        before, after = (
            [product(known[a] for a in g) for g in part]
            for part in (new_first, new_last)
        )
        middle = _number(-1) if flat_ends else inner
        made = _reshaped(made, [*before, middle, *after])
    return made


def _moved(
    made: ast.expr, old: Sequence[Sequence[str]], new: Sequence[Sequence[str]]
) -> ast.expr:
    """An array with axes before and after others in another order."""
    places: list[dict[str, int]] = []
    for first, last in (old, new):
        place = {a: i for i, a in enumerate(first)}
        places.append(place | {a: i - len(last) for i, a in enumerate(last)})
    ends = [
        ast.Tuple([_number(place[a]) for part in old for a in part], ast.Load())
        for place in places
    ]
    func = expression("m.moveaxis", m=name("@module:jnp"))
    return ast.Call(func, [made, *ends], [])


def _parted(side: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]] | None:
    """The axes before and after `...`; None of a side without one, or with one inside of a group."""
    if side.count("...") != 1 or re.search(r"\([^()]*\.\.\.", side):
        return None
    first, last = (
        [(g[1],) if g[1] else tuple(g[0].split()) for g in found]
        for found in (
            re.findall(r"\(([^()]*)\)|(\w+)", part) for part in side.split("...")
        )
    )
    return first, last


def _named(axes: Sequence[str]) -> list[str]:
    return [a for a in axes if a != "1"]


def _reshaped(made: ast.expr, sizes: Sequence[ast.expr]) -> ast.expr:
    call = expression("m.reshape()", m=made)
    assert isinstance(call, ast.Call)
    call.args = [cloned(s) for s in sizes]
    return call


def _reduced(
    made: ast.expr, axes: Sequence[str], gone: Sequence[int], reduction: str
) -> ast.expr | None:
    """Without these axes, which are at these places."""
    places: list[ast.expr] = [_number(i) for i in gone]
    if all(axis == "1" for axis in axes) and not reduction:
        func = expression("m.squeeze", m=name("@module:jnp"))
        axis = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
        return ast.Call(func, [made], [ast.keyword("axis", axis)])
    if reduction not in _REDUCTIONS:
        return None
    module, _, attribute = _REDUCTIONS[reduction].partition(".")
    func = name(module)
    if attribute:
        func = ast.Attribute(func, attribute, ast.Load())
    axis = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load())
    return ast.Call(func, [made], [ast.keyword("axis", axis)])


def letters(text: str) -> str | None:
    """The equation of `einsum` with a letter for each axis; None where it has groups."""
    if "(" in text or "->" not in text:
        return None
    found: dict[str, str] = {}
    titles = [t for t in re.findall(r"\w+", text) if not t.isdigit()]
    taken = {t for t in titles if len(t) == 1}
    free = (c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    for title in titles:
        if title not in found:
            one = title if len(title) == 1 else ""
            one = one or (title[0] if title[0] not in taken else "")
            found[title] = one or next(c for c in free if c not in taken)
            taken.add(found[title])
    sides = re.sub(r"[A-Za-z_]\w*", lambda m: found[m[0]], text).replace(" ", "")
    return sides.replace("->", " -> ").replace(",", ", ")


def _number(value: int) -> ast.expr:
    return ast.parse(str(value), mode="eval").body
