"""Loops in loops in which calls of linen make layers of sizes that they carry, pass by pass.

for depth in self.depths:                          x = Layer(features)(x)
    for _ in range(depth):               becomes   x = Layer(features + self.growth)(x)
        x = Layer(features)(x)
        features += self.growth

The sequences that they go over are those that the class has by default.
"""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known, items_of, truth
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    literal,
    names,
    self_attribute,
    targets,
)

_MOST = 256
"""Statements of a call that is written out."""
_PLAIN = ("int", "max", "min", "round", "len", "sum", "abs")


def without_nested_calls(origin: Origin, thing: str, notes: Notes) -> None:
    """Write them out in place, and tell which fields are what they are by default."""
    for title in dict.fromkeys([thing, *sorted(used_by(origin, thing))]):
        node = origin.classes.get(title)
        if node is None or framework_of(origin, node) != "flax":
            continue
        call = method_of(node, "__call__")
        if call is None or not any(map(_carries, call.body)):
            continue
        defaults = _sequences(node)
        made = _Passes(defaults).run(copy.deepcopy(call.body))
        if made is None:
            continue
        call.body = made
        read = {a for p in ast.walk(node) if (a := self_attribute(p))}
        for part in list(node.body):
            field = getattr(getattr(part, "target", None), "id", "")
            if field in defaults and field not in read:
                node.body.remove(part)
                notes.remark(
                    part,
                    f"`{field}` of {title} is always `{ast.unparse(defaults[field])}`",
                    "write another spec for other values: they decide which layers there are",
                )
    ast.fix_missing_locations(origin.tree)


def _carries(node: ast.stmt) -> bool:
    """Whether a loop in a loop makes layers, and says what a number is in the next pass."""
    if not isinstance(node, ast.For):
        return False
    inner = [p for s in node.body for p in ast.walk(s) if isinstance(p, ast.For)]
    called = any(
        isinstance(p, ast.Call) and isinstance(p.func, ast.Call)
        for loop in inner
        for p in ast.walk(loop)
    )
    carried = any(isinstance(p, ast.AugAssign) for p in ast.walk(node))
    return called and carried


def _sequences(node: ast.ClassDef) -> dict[str, ast.expr]:
    """The fields that are sequences by default."""
    return {
        part.target.id: part.value
        for part in node.body
        if isinstance(part, ast.AnnAssign)
        and isinstance(part.target, ast.Name)
        and part.value is not None
        and isinstance(literal(part.value), tuple | list)
    }


class _Passes:
    """Writes loops out, with the numbers that locals are in each pass."""

    def __init__(self, defaults: dict[str, ast.expr]):
        self.known: dict[str, ast.expr] = {}
        self.defaults = defaults
        self.made: list[ast.stmt] = []

    def run(self, body: list[ast.stmt]) -> list[ast.stmt] | None:
        """The statements; None where some loop goes over what is not told."""
        return self.made if self._statements(body) else None

    def _statements(self, body: list[ast.stmt]) -> bool:
        return all(self._statement(part) for part in body) and len(self.made) < _MOST

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.For():
                return self._loop(node)
            case ast.If():
                node.test = self._value(node.test)
                decided = truth(node.test)
                if decided is not None:
                    return self._statements(node.body if decided else node.orelse)
                if {t for p in node.body + node.orelse for t in targets(p)} & {
                    *self.known
                }:
                    return False
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                node.value = self._value(value)
                self.known.pop(local, None)
                if _is_static(node.value):
                    self.known[local] = node.value
                    return True
                self.made.append(node)
                return True
            case ast.AugAssign(target=ast.Name(id=local), op=op, value=value) if (
                local in self.known
            ):
                whole = self._value(ast.BinOp(self.known[local], op, value))
                if not _is_static(whole):
                    return False
                self.known[local] = whole
                return True
        for bound in targets(node):
            self.known.pop(bound, None)
        self.made.append(self._visitor().visit(node))
        return True

    def _loop(self, node: ast.For) -> bool:
        elements = items_of(self._value(node.iter))
        if elements is None or node.orelse:
            return False
        for element in elements:
            if not self._bind(node.target, element):
                return False
            if not self._statements(copy.deepcopy(node.body)):
                return False
        return True

    def _bind(self, target: ast.expr, value: ast.expr) -> bool:
        if isinstance(target, ast.Name):
            self.known[target.id] = value
            return _is_static(value)
        parts = items_of(value)
        places = getattr(target, "elts", [])
        return (
            parts is not None
            and len(parts) == len(places)
            and all(self._bind(p, v) for p, v in zip(places, parts, strict=True))
        )

    def _visitor(self) -> Known:
        return Known(dict(self.known), self.defaults)

    def _value(self, node: ast.expr) -> ast.expr:
        return self._visitor().value(node)


def _is_static(node: ast.expr) -> bool:
    """Whether an expression is of literals, fields, and numbers that are computed of them."""
    read = names(node) - {"self", *_PLAIN}
    calls = [p for p in ast.walk(node) if isinstance(p, ast.Call)]
    kinds = ast.Lambda | ast.ListComp | ast.JoinedStr | ast.GeneratorExp
    plain = all(getattr(c.func, "id", "") in _PLAIN for c in calls)
    return not read and plain and not any(isinstance(p, kinds) for p in ast.walk(node))
