"""Loops in loops in which calls of linen make layers of sizes that they carry, pass by pass.

for depth in self.depths:                          x = Layer(features)(x)
    for _ in range(depth):               becomes   x = Layer(features + self.growth)(x)
        x = Layer(features)(x)
        features += self.growth

The sequences that they go over are those that the class has by default. So are loops over records,
`BlockArgs(features=8, repeats=2)`, which no hyperparameter holds.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
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
from mlax_scaffold.conversion.source.walking import cloned, located, walk

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
        defaults = _sequences(origin, node) if call is not None else {}
        held = any(_fields_of(origin, v) for v in defaults.values())
        if call is None or not (held or any(map(_carries, call.body))):
            continue
        made = _Passes(origin, defaults).run(cloned(call.body))
        if made is None:
            continue
        call.body = made
        read = {a for p in walk(node) if (a := self_attribute(p))}
        for part in list(node.body):
            field = getattr(getattr(part, "target", None), "id", "")
            if field in defaults and field not in read:
                node.body.remove(part)
                notes.remark(
                    part,
                    f"`{field}` of {title} is always `{ast.unparse(defaults[field])}`",
                    "write another spec for other values: they decide which layers there are",
                )
    located(origin.tree)


def _carries(node: ast.stmt) -> bool:
    """Whether a loop in a loop makes layers, and says what a number is in the next pass."""
    if not isinstance(node, ast.For):
        return False
    inner = [p for s in node.body for p in walk(s) if isinstance(p, ast.For)]
    called = any(
        isinstance(p, ast.Call) and isinstance(p.func, ast.Call)
        for loop in inner
        for p in walk(loop)
    )
    carried = any(isinstance(p, ast.AugAssign) for p in walk(node))
    return called and carried


def _sequences(origin: Origin, node: ast.ClassDef) -> dict[str, ast.expr]:
    """The fields that are sequences by default, of literals or of records."""
    found: dict[str, ast.expr] = {}
    for part in node.body:
        if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
            continue
        value = part.value
        if isinstance(value, ast.Name) and value.id in origin.assigned:
            value = origin.assigned[value.id].value
        if value is None:
            continue
        if isinstance(literal(value), tuple | list) or _fields_of(origin, value):
            found[part.target.id] = value
    return found


def _fields_of(origin: Origin, value: ast.expr) -> list[dict[str, ast.expr]]:
    """The fields of each record of a sequence; nothing where some element is none."""
    elements = items_of(value) or []
    found = [_record(origin, e) for e in elements]
    return [f for f in found if f] if all(found) else []


def _record(origin: Origin, node: ast.expr) -> dict[str, ast.expr]:
    """The fields of a record that is written out, of a NamedTuple or a dataclass of the file."""
    owner = origin.classes.get(getattr(getattr(node, "func", None), "id", ""))
    if not isinstance(node, ast.Call) or owner is None or is_layer_class(origin, owner):
        return {}
    fields = [p for p in owner.body if isinstance(p, ast.AnnAssign)]
    titles = [p.target.id for p in fields if isinstance(p.target, ast.Name)]
    made = {
        p.target.id: p.value
        for p in fields
        if isinstance(p.target, ast.Name) and p.value is not None
    }
    made |= dict(zip(titles, node.args, strict=False))
    made |= {k.arg: k.value for k in node.keywords if k.arg}
    return made if set(made) == set(titles) else {}


class _Passes:
    """Writes loops out, with the numbers that locals are in each pass."""

    def __init__(self, origin: Origin, defaults: dict[str, ast.expr]):
        self.origin = origin
        self.records: dict[str, dict[str, ast.expr]] = {}
        """The fields of records that names stand for."""
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
            if not self._statements(cloned(node.body)):
                return False
        return True

    def _bind(self, target: ast.expr, value: ast.expr) -> bool:
        if isinstance(target, ast.Name):
            self.known.pop(target.id, None)
            self.records.pop(target.id, None)
            if record := _record(self.origin, value):
                self.records[target.id] = record
                return True
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
        def read(node: ast.Attribute) -> ast.expr | None:
            return self.records.get(getattr(node.value, "id", ""), {}).get(node.attr)

        return Known(dict(self.known), self.defaults, read=read)

    def _value(self, node: ast.expr) -> ast.expr:
        return self._visitor().value(node)


def _is_static(node: ast.expr) -> bool:
    """Whether an expression is of literals, fields, and numbers that are computed of them."""
    read = names(node) - {"self", *_PLAIN}
    calls = [p for p in walk(node) if isinstance(p, ast.Call)]
    kinds = ast.Lambda | ast.ListComp | ast.JoinedStr | ast.GeneratorExp
    plain = all(getattr(c.func, "id", "") in _PLAIN for c in calls)
    return not read and plain and not any(isinstance(p, kinds) for p in walk(node))
