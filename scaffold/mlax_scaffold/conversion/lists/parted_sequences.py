"""Sequences of PyTorch of which a part is as long as a hyperparameter says, in parts.

body = [Block(width) for _ in range(depth)]            self.body = nn.Sequential(*[Block(width) for ...])
body.append(nn.Conv2d(width, width, 3))      becomes   self.body_last = nn.Sequential(nn.Conv2d(...))
self.body = nn.Sequential(*body)
return self.body(x)                                    return self.body_last(self.body(x))
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SEQUENCE = "torch.nn.Sequential"


def without_parted_sequences(origin: Origin) -> None:
    """Write them so, in place, where a class does nothing with such a sequence but call it."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None:
            continue
        for part in list(start.body):
            match part:
                case ast.Assign(targets=[ast.Attribute() as target], value=ast.Call()):
                    attribute = self_attribute(target)
                    if attribute is not None:
                        _Sequence(origin, node, start, part, attribute).run()
    located(origin.tree)


class _Sequence:
    def __init__(
        self,
        origin: Origin,
        node: ast.ClassDef,
        start: ast.FunctionDef,
        made: ast.Assign,
        attribute: str,
    ):
        self.origin, self.node, self.start = origin, node, start
        self.made, self.attribute = made, attribute
        self.gone: list[ast.stmt] = []

    def run(self) -> None:
        """Part it, if it is one."""
        call = self.made.value
        assert isinstance(call, ast.Call)
        if self.origin.qualified(call.func) != _SEQUENCE or call.keywords:
            return
        elements = self._elements(call.args)
        grown = [e for e in elements if isinstance(e, ast.ListComp)]
        if len(grown) != 1 or len(elements) < 2 or not self._only_called():
            return
        at = elements.index(grown[0])
        many = ast.Starred(grown[0], ast.Load())
        parts = {
            f"{self.attribute}_first": elements[:at],
            self.attribute: [many],
            f"{self.attribute}_last": elements[at + 1 :],
        }
        parts = {k: v for k, v in parts.items() if v}
        place = self.start.body.index(self.made)
        self.start.body[place : place + 1] = [
            self._assigned(title, given) for title, given in parts.items()
        ]
        self.start.body = [s for s in self.start.body if s not in self.gone]
        calls = _Calls(self.attribute, [*parts])
        for method in self.node.body:
            if method is not self.start:
                calls.visit(method)

    def _assigned(self, title: str, given: list[ast.expr]) -> ast.stmt:
        assert isinstance(self.made.value, ast.Call)
        func = cloned(self.made.value.func)
        target = ast.Attribute(ast.Name("self", ast.Load()), title, ast.Store())
        made = ast.Assign([target], ast.Call(func, list(given), []))
        return located(ast.copy_location(made, self.made))

    def _elements(self, given: list[ast.expr]) -> list[ast.expr]:
        """The elements, of which a comprehension stands for several; none where they are not told."""
        found: list[ast.expr] = []
        for element in given:
            inner = element.value if isinstance(element, ast.Starred) else None
            if inner is None:
                found.append(element)
            elif isinstance(inner, ast.ListComp):
                found.append(inner)
            elif isinstance(inner, ast.Name) and (parts := self._filled(inner.id)):
                found += parts
            else:
                return []
        return found

    def _filled(self, local: str) -> list[ast.expr]:
        """What a local list is filled with, line by line."""
        uses = sum(is_name(p, local) for p in walk(self.start))
        found: list[ast.expr] = []
        lines: list[ast.stmt] = []
        for part in self.start.body:
            given: ast.expr | None = None
            match part:
                case ast.Assign(targets=[target], value=value) if is_name(
                    target, local
                ):
                    given = value
                case ast.AugAssign(target=target, op=ast.Add(), value=value) if is_name(
                    target, local
                ):
                    given = value
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=owner, attr="append"), args=[value]
                    )
                ) if is_name(owner, local):
                    given = ast.List([value], ast.Load())
            if given is None:
                continue
            lines.append(part)
            if isinstance(given, ast.ListComp):
                found.append(given)
            elif isinstance(given, ast.List):
                found += given.elts
            else:
                return []
        if len(lines) + 1 != uses:
            return []
        self.gone += lines
        return found

    def _only_called(self) -> bool:
        """Whether nothing but calls reads the attribute."""
        uses = [p for p in walk(self.node) if self_attribute(p) == self.attribute]
        calls = [
            p
            for p in walk(self.node)
            if isinstance(p, ast.Call)
            and self_attribute(p.func) == self.attribute
            and len(p.args) == 1
            and not p.keywords
        ]
        return len(uses) == len(calls) + 1


class _Calls(NodeTransformer):
    def __init__(self, attribute: str, parts: list[str]):
        self.attribute, self.parts = attribute, parts

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node.func) != self.attribute:
            return node
        made = node.args[0]
        for part in self.parts:
            func = ast.Attribute(ast.Name("self", ast.Load()), part, ast.Load())
            made = ast.Call(func, [made], [])
        return located(ast.copy_location(made, node))
