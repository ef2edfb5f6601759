"""Axes that classes of PyTorch are given, `GLU(dim=1)`, the same in all calls: parts of the class."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def with_fixed_axes(origin: Origin, thing: str) -> None:
    """Write them so in place; the class that is converted keeps its parameters."""
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if framework_of(origin, node) != "torch" or node.name == thing:
            continue
        if isinstance(start, ast.FunctionDef) and not start.args.kwonlyargs:
            for argument in [*start.args.args[1:]]:
                _fix(origin, node, start, argument)


def _fix(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, argument: ast.arg
) -> None:
    stored = [
        s
        for s in start.body
        if isinstance(s, ast.Assign)
        and is_name(s.value, argument.arg)
        and self_attribute(s.targets[0])
    ]
    uses = [p for p in walk(start) if is_name(p, argument.arg)]
    if len(stored) != 1 or len(uses) != 1:
        return
    attribute = self_attribute(stored[0].targets[0])
    axes = {
        id(k.value)
        for p in walk(node)
        if isinstance(p, ast.Call)
        for k in p.keywords
        if k.arg in ("dim", "axis") and self_attribute(k.value) == attribute
    }
    reads = [
        p
        for p in walk(node)
        if self_attribute(p) == attribute and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    if not reads or any(id(p) not in axes for p in reads):
        return
    given = start.args
    at = given.args.index(argument)
    late = at - (len(given.args) - len(given.defaults))
    found: set[object] = set()
    calls = [
        p
        for p in walk(origin.tree)
        if isinstance(p, ast.Call) and is_name(p.func, node.name)
    ]
    for call in calls:
        value = next((k.value for k in call.keywords if k.arg == argument.arg), None)
        if value is None and at - 1 < len(call.args):
            value = call.args[at - 1]
        if value is None and late >= 0:
            value = given.defaults[late]
        number = literal(value)
        if any(isinstance(a, ast.Starred) for a in call.args):
            number = None
        found.add(number if type(number) is int else None)
    if len(found) != 1 or None in found:
        return
    [number] = found
    for call in calls:
        call.keywords = [k for k in call.keywords if k.arg != argument.arg]
        del call.args[at - 1 : at]
    if late >= 0:
        del given.defaults[late]
    given.args.remove(argument)
    start.body.remove(stored[0])
    _Axes(str(attribute), number).visit(node)
    located(node)


class _Axes(NodeTransformer):
    def __init__(self, attribute: str, number: object):
        self.attribute, self.number = attribute, number

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self_attribute(node) == self.attribute:
            return ast.copy_location(ast.Constant(self.number), node)  # type: ignore[arg-type]
        self.generic_visit(node)
        return node
