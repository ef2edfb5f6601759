"""Lists of layers that a constructor fills, noted down until they are declared."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.building import Builder
from mlax_scaffold.conversion.list_loops import Loop
from mlax_scaffold.conversion.modules import LISTS, Modules
from mlax_scaffold.conversion.translation import Translator
from mlax_scaffold.conversion.trees import targets


class FilledLists:
    """Notes them down."""

    builder: Builder
    modules: Modules
    translator: Translator
    building: dict[str, list[ast.expr | Loop]]
    candidates: set[str]
    positions: dict[str, int]
    body: list[ast.stmt]

    def prepare(self, body: list[ast.stmt]) -> None:
        """Find out which lists hold layers."""
        self.body = body
        for node in body:
            for part in ast.walk(node):
                place, held = _extended(part)
                inner = held.elts if isinstance(held, ast.List) else [held]
                if any(
                    i and (self.modules.is_module(i) or self._maybe(i)) for i in inner
                ):
                    self.candidates.add(place)

    def _maybe(self, node: ast.expr) -> bool:
        """A call of a class of the file."""
        return isinstance(node, ast.Call) and (
            isinstance(node.func, ast.Name) and node.func.id in self.builder.own
        )

    def begun(self, target: str, value: ast.expr) -> bool:
        """Whether a list of layers begins here."""
        if target not in self.candidates and not self._listed(value):
            return False
        inner = self._inner(value)
        if inner is None:
            return False
        self.building[target] = list(inner)
        self._noted(target)
        return True

    def _noted(self, place: str) -> None:
        self.positions[place] = len(self.builder.setup)

    def _listed(self, value: ast.expr) -> bool:
        inner = self._inner(value)
        return bool(inner) and any(self.modules.is_module(i) for i in inner)

    def _inner(self, value: ast.expr) -> list[ast.expr] | None:
        if isinstance(value, ast.Call) and self.modules.qualified(value) in LISTS:
            if not value.args:
                return []
            value = value.args[0]
        return value.elts if isinstance(value, ast.List | ast.Tuple) else None

    def appends(self, call: ast.Call) -> bool:
        """Whether a call appends to a list of layers."""
        func = call.func
        return (
            isinstance(func, ast.Attribute)
            and func.attr in ("append", "extend")
            and ast.unparse(func.value) in self.candidates
        )

    def appended(self, call: ast.Call) -> bool:
        """Whether a call appends to a list of layers, which is then noted down."""
        if not self.appends(call) or not isinstance(call.func, ast.Attribute):
            return False
        place = ast.unparse(call.func.value)
        if place not in self.building:
            return False
        self._noted(place)
        given = call.args[0]
        if call.func.attr == "append":
            self.building[place].append(given)
        elif isinstance(given, ast.List | ast.Tuple):
            self.building[place] += given.elts
        return True

    def extended(self, node: ast.AugAssign) -> bool:
        """Whether `layers += [...]` extends a list of layers."""
        place = ast.unparse(node.target)
        if place not in self.building or not isinstance(node.value, ast.List):
            return False
        self._noted(place)
        self.building[place] += node.value.elts
        return True

    def looped(self, node: ast.For) -> bool:
        """Whether a loop appends layers, which is then noted down."""
        loops: dict[str, Loop] = {}
        for part, condition in _statements(node.body, None):
            for place, given in self.appending(part):
                loop = loops.setdefault(place, Loop(node))
                loop.appended += [(g, condition) for g in given]
        known = {p: loop for p, loop in loops.items() if p in self.building}
        later = self._read_later(node)
        before = self.translator.around.locals
        bound = {k: before.pop(k) for k in sorted(later) if k in before}
        for place, loop in known.items():
            loop.later, loop.bound = later, bound
            self.building[place].append(loop)
            self._noted(place)
        return bool(known)

    def _read_later(self, node: ast.For) -> set[str]:
        """What a loop assigns that statements after it read."""
        assigned = {t for part in node.body for t in targets(part)}
        read = {
            part.id
            for statement in _after(self.body, node)
            for part in ast.walk(statement)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        return (assigned - set(targets(node.target))) & read

    def appending(self, node: ast.stmt) -> list[tuple[str, list[ast.expr]]]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if self.appends(call) and isinstance(call.func, ast.Attribute):
                given = call.args[0]
                listed = isinstance(given, ast.List | ast.Tuple)
                inner = given.elts if listed and call.func.attr == "extend" else [given]  # type: ignore[attr-defined]
                return [(ast.unparse(call.func.value), inner)]
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
            return [(ast.unparse(node.target), node.value.elts)]
        return []


def _extended(node: ast.AST) -> tuple[str, ast.expr | None]:
    """A list that is made longer, and by what."""
    if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
        return ast.unparse(node.target), node.value
    call = node if isinstance(node, ast.Call) and node.args else None
    func = call.func if call is not None else None
    if call and isinstance(func, ast.Attribute) and func.attr in ("append", "extend"):
        return ast.unparse(func.value), call.args[0]
    return "", None


def _statements(
    body: list[ast.stmt], condition: ast.expr | None
) -> list[tuple[ast.stmt, ast.expr | None]]:
    found: list[tuple[ast.stmt, ast.expr | None]] = []
    for node in body:
        if isinstance(node, ast.If):
            found += _statements(node.body, node.test)
            found += _statements(node.orelse, ast.UnaryOp(ast.Not(), node.test))
        else:
            found.append((node, condition))
    return found


def _after(body: list[ast.stmt], node: ast.stmt) -> list[ast.stmt]:
    """The statements that are run after one of a body, or of a block in it."""
    for place, part in enumerate(body):
        rest = body[place + 1 :]
        if part is node:
            return rest
        if any(inner is node for inner in ast.walk(part)):
            blocks = (getattr(part, title, []) for title in ("body", "orelse"))
            return [s for block in blocks for s in _after(block, node)] + rest
    return []
