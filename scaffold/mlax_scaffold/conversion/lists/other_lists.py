"""Lists that a constructor makes longer under another name, under the name that they were made by.

for tower in (boxes, classes):                         boxes.append(nn.Conv2d(width, width, 3))
    tower.append(nn.Conv2d(width, width, 3))   becomes
                                                       classes.append(nn.Conv2d(width, width, 3))

`tail = layers` before `tail.append(...)` is `layers`, and a list that is put in another one before it is
filled, `self.blocks.append(block)`, is put there when it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mlax_scaffold.conversion.lists.longer_lists import longer, title_of
from mlax_scaffold.conversion.lists.run_calls import MODULE_LISTS
from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.kinds import RUN, framework_of, is_layer_class
from mlax_scaffold.conversion.source.known_values import items_of, unpacked
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    self_attribute,
    with_names,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_other_lists(origin: Origin) -> None:
    """Write constructors so, and methods that they may call, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) in RUN and is_layer_class(origin, node):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    _Written(origin, method).write()
    located(origin.tree)


class _Written:
    """A method that is written so."""

    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin, self.method = origin, method

    def write(self) -> None:
        """Change it in place."""
        self.method.body = self._passes(self.method.body)
        if not longer(self.method.body):
            return
        self._rename()
        for body in _bodies(self.method):
            self._put_later(body)

    def _passes(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements with loops over lists that they make longer written out."""
        found: list[ast.stmt] = []
        for node in body:
            for field in ("body", "orelse"):
                inner = getattr(node, field, [])
                if inner and not isinstance(node, ast.FunctionDef):
                    setattr(node, field, self._passes(inner))
            passes = _written_out(node) if isinstance(node, ast.For) else None
            found += [node] if passes is None else passes
        return found

    def _rename(self) -> None:
        """Lists by the names that they were made by."""
        for node in self.method.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=title)], value=value) if {
                    title,
                    title_of(value),
                } & longer(self.method.body) and self._is_list(value):
                    pass
                case _:
                    continue
            bound = [n for s in self.method.body for n in stored_names(s)]
            if bound.count(title) != 1 or self._times_set(value) > 1:
                continue
            at = self.method.body.index(node)
            rest = self.method.body[at + 1 :]
            self.method.body[at:] = [with_names(s, {title: value}) for s in rest]

    def _is_list(self, node: ast.expr) -> bool:
        """Whether a value is a list by another name."""
        title = title_of(node)
        return title is not None and any(
            title_of(target) == title and self._makes_list(value)
            for target, value in self._set()
        )

    def _makes_list(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return self.origin.qualified(node.func) in MODULE_LISTS
        return isinstance(node, ast.List)

    def _set(self) -> Iterator[tuple[ast.expr, ast.expr]]:
        """What is set to what."""
        for part in walk(self.method):
            match part:
                case ast.Assign(targets=[target], value=value):
                    pairs = unpacked(target, value) or {}
                    yield from ((ast.Name(n, ast.Load()), v) for n, v in pairs.items())
                    if not isinstance(target, ast.Name):
                        yield target, value

    def _times_set(self, node: ast.expr) -> int:
        return sum(title_of(target) == title_of(node) for target, _ in self._set())

    def _put_later(self, body: list[ast.stmt]) -> None:
        """Put what is filled after it was put in a list behind what fills it."""
        for node in list(body):
            match node:
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=owner, attr="append"),
                        args=[ast.Name(id=title)],
                    )
                ):
                    pass
                case _:
                    continue
            at = body.index(node)
            begun = any(
                isinstance(s, ast.Assign)
                and is_name(s.targets[0], title)
                and self._makes_list(s.value)
                for s in body[:at]
            )
            later = [i for i in range(at, len(body)) if title in longer([body[i]])]
            between = body[at + 1 : later[-1] + 1] if later else []
            changed = {n for s in between for n in stored_names(s)}
            if not begun or not later or title in changed:
                continue
            if title_of(owner) in {title_of(p) for s in between for p in walk(s)}:
                continue
            body[at : later[-1] + 1] = [*between, node]


def _written_out(node: ast.For) -> list[ast.stmt] | None:
    """The passes of a loop over lists that stand in it, which it makes longer; None of another."""
    items = items_of(node.iter)
    bound = set(stored_names(ast.Expr(node.target)))
    grown = longer(node.body) & bound
    ends = (ast.Break, ast.Continue)
    # `for w in (self.left, self.right): nn.init.zeros_(w)` begins each.
    begins = all(isinstance(s, ast.Expr) for s in node.body) and all(
        self_attribute(item) for item in items or ()
    )
    if not items or not (grown or begins) or node.orelse:
        return None
    if any(isinstance(part, ends) for part in walk(node)):
        return None
    if bound & {n for s in node.body for n in stored_names(s)}:
        return None
    found: list[ast.stmt] = []
    for item in items:
        pairs = unpacked(node.target, item)
        if pairs is None or not _are_lists(pairs, grown):
            return None
        found += [with_names(cloned(s), pairs) for s in node.body]
    return found


def _are_lists(pairs: Mapping[str, ast.expr], grown: Iterable[str]) -> bool:
    return all(title_of(pairs[title]) is not None for title in grown)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All lists of statements of a method."""
    for part in walk(node):
        for field in ("body", "orelse"):
            inner = getattr(part, field, None)
            if isinstance(inner, list) and not isinstance(part, ast.Lambda):
                yield inner
