"""Lists of layers that a constructor fills, noted down until they are declared."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.list_loops import Item, Loop
from mlax_scaffold.conversion.declarations.modules import Modules
from mlax_scaffold.conversion.declarations.spare_layers import remark_spare
from mlax_scaffold.conversion.lists.key_loops import is_split
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    both,
    expression,
    negated,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import LISTS, SEQUENTIAL
from mlax_scaffold.conversion.source.walking import cloned, located, walk


class FilledLists:
    """Notes them down."""

    builder: Builder
    modules: Modules
    translator: Translator
    building: dict[str, list[Item]]
    candidates: set[str]
    positions: dict[str, int]
    body: list[ast.stmt]

    def prepare(self, body: list[ast.stmt]) -> None:
        """Find out which lists hold layers."""
        self.body = body
        self.modules.shared |= {
            attribute
            for node in body
            for part in walk(node)
            if isinstance(part, ast.Assign) and self.modules.is_module(part.value)
            for target in part.targets
            if (attribute := self_attribute(target))
        }
        for node in body:
            for part in walk(node):
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

    def begun(self, target: str, value: ast.expr, condition: ast.expr | None) -> bool:
        """Whether a list of layers begins here, where the condition holds."""
        if target not in self.candidates and not self.lists(value):
            return False
        inner = self._inner(value)
        if inner is None:
            return False
        self._begin(target, inner, condition)
        return True

    def _begin(
        self, place: str, inner: list[ast.expr], condition: ast.expr | None
    ) -> None:
        before: list[Item] = []
        if condition is not None:
            # Elsewhere it is what it was.
            before = [
                Item(i.value, both(i.condition, negated(condition)))
                for i in self.building.get(place, [])
            ]
        self.building[place] = before + [Item(i, condition) for i in inner]
        self._noted(place)

    def _noted(self, place: str) -> None:
        self.positions[place] = len(self.builder.setup)

    def lists(self, value: ast.expr) -> bool:
        inner = self._inner(value)
        return bool(inner) and any(self.modules.is_module(i) for i in inner)

    def _inner(self, value: ast.expr) -> list[ast.expr] | None:
        if isinstance(value, ast.Call) and self.modules.qualified(value) in SEQUENTIAL:
            return self.modules.elements(value)
        if isinstance(value, ast.Call) and self.modules.qualified(value) in LISTS:
            if not value.args:
                return []
            value = value.args[0]
        return value.elts if isinstance(value, ast.List | ast.Tuple) else None

    def holds(self, place: ast.expr) -> bool:
        """Whether a place holds a list of layers that is being filled."""
        return ast.unparse(place) in self.building

    def appends(self, call: ast.Call) -> bool:
        """Whether a call appends to a list of layers."""
        func = call.func
        return (
            isinstance(func, ast.Attribute)
            and func.attr in ("append", "extend")
            and ast.unparse(func.value) in self.candidates
        )

    def appended(self, call: ast.Call, condition: ast.expr | None) -> bool:
        """Whether a call appends to a list of layers, which is then noted down."""
        if not self.appends(call) or not isinstance(call.func, ast.Attribute):
            return False
        place = ast.unparse(call.func.value)
        if place not in self.building:
            return False
        given = [call.args[0]]
        if call.func.attr == "extend":
            listed = call.args[0]
            if not isinstance(listed, ast.List | ast.Tuple):
                return self._unlisted(call, place, listed, condition)
            given = listed.elts
        self._noted(place)
        self.building[place] += [Item(g, condition) for g in given]
        return True

    def extended(self, node: ast.AugAssign, condition: ast.expr | None) -> bool:
        """Whether `layers += [...]` extends a list of layers."""
        place = ast.unparse(node.target)
        if place not in self.building or not isinstance(node.op, ast.Add):
            return False
        if not isinstance(node.value, ast.List | ast.Tuple):
            return self._unlisted(node, place, node.value, condition)
        self._noted(place)
        self.building[place] += [Item(g, condition) for g in node.value.elts]
        return True

    def _unlisted(
        self, node: ast.AST, place: str, given: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Take layers that a comprehension makes; others are told."""
        if isinstance(given, ast.ListComp | ast.GeneratorExp):
            [generator, *more] = given.generators
            if not more and not generator.ifs:
                self._noted(place)
                self.candidates.add(place)
                func = expression(f"{place}.append")
                append = ast.Expr(ast.Call(func, [given.elt], []))
                loop = ast.For(generator.target, generator.iter, [append], [])
                for part in walk(loop):
                    ast.copy_location(part, node)
                return self.looped(located(loop), condition)
        self.builder.notes.refuse(
            node,
            f"what `{ast.unparse(given)}` adds to `{place}` is not listed",
            "append the layers one by one",
        )
        return True

    def left_over(self, node: ast.AST) -> bool:
        """Whether a statement appends layers in a way that is not followed, which is told."""
        lost = [
            part
            for part in walk(node)
            if isinstance(part, ast.stmt)
            for place, _ in self.appending(part)
            if place in self.building
        ]
        for part in lost:
            self.builder.notes.refuse(
                part,
                f"`{ast.unparse(part)}` makes layers that are not to be told",
                "append them in one loop, or make a class of what an inner loop appends",
            )
        return bool(lost)

    def looped(self, node: ast.For, condition: ast.expr | None) -> bool:
        """Whether a loop appends layers, which is then noted down."""
        whole = node
        if condition is not None:
            node = copy.copy(node)
            node.iter = where(condition, node.iter)
        node = self._without_splits(node)
        loops: dict[str, Loop] = {}
        for part, condition in _statements(node.body, None):
            for place, given in self.appending(part):
                loop = loops.setdefault(place, Loop(node, place))
                loop.appended += [(g, condition) for g in given]
        known = {p: loop for p, loop in loops.items() if p in self.building}
        later = self._read_later(node, whole)
        before = self.translator.around.locals
        bound = {k: before.pop(k) for k in sorted(later) if k in before}
        if not known:
            return False
        for part in walk(node):
            if isinstance(part, ast.Break | ast.Continue):
                self.builder.notes.refuse(
                    part,
                    "the loop that makes layers is left early, which decides how many there are",
                    "write the condition where layers are appended, or the numbers in a list",
                )
        direct = {id(part) for part, _ in _statements(node.body, None)}
        for part in node.body:
            for inner in walk(part):
                followed = id(inner) in direct or isinstance(inner, ast.If)
                if isinstance(inner, ast.stmt) and not followed:
                    self.left_over(inner)
        for part, _ in _statements(node.body, None):
            for place, given in self.appending(part, known_only=False):
                if place not in known and any(isinstance(g, ast.Call) for g in given):
                    self.builder.notes.refuse(
                        part,
                        f"`{ast.unparse(part)}` beside other layers is not followed",
                        "append it in a loop of its own",
                    )
        for place, loop in known.items():
            remark_spare(self.builder, node, loop.appended)
            loop.later, loop.bound = later, bound
            self.building[place].append(Item(loop))
            self._noted(place)
        return True

    def _without_splits(self, node: ast.For) -> ast.For:
        """A loop without the statements that split keys: `key, subkey = split(key)`."""
        around = self.translator.around
        kept: list[ast.stmt] = []
        for part in node.body:
            if isinstance(part, ast.Assign) and is_split(
                self.translator.origin, part.value
            ):
                around.keys |= set(targets(part))
                around.locals |= {t: ast.Constant(None) for t in targets(part)}
            else:
                kept.append(part)
        if len(kept) == len(node.body):
            return node
        return ast.copy_location(
            ast.For(node.target, node.iter, kept, node.orelse), node
        )

    def _read_later(self, node: ast.For, origin: ast.stmt) -> set[str]:
        """What a loop assigns that statements after it read."""
        assigned = {t for part in node.body for t in targets(part)}
        read = {
            part.id
            for statement in _after(self.body, origin)
            for part in walk(statement)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        return (assigned - set(targets(node.target))) & read

    def appending(
        self, node: ast.stmt, *, known_only: bool = True
    ) -> list[tuple[str, list[ast.expr]]]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            added = isinstance(call.func, ast.Attribute) and (
                self.appends(call)
                or (not known_only and call.func.attr in ("append", "extend"))
            )
            if added and call.args and isinstance(call.func, ast.Attribute):
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
            found += _statements(node.body, both(condition, node.test))
            found += _statements(node.orelse, both(condition, negated(node.test)))
        else:
            found.append((node, condition))
    return found


def where(condition: ast.expr, source: ast.expr) -> ast.expr:
    """What a loop goes over, where a condition holds; nothing elsewhere."""
    match source:
        case ast.Call(func=ast.Name(id="range") as func, args=[end]):
            chosen = ast.IfExp(cloned(condition), end, ast.Constant(0))
            return ast.copy_location(ast.Call(func, [chosen], []), source)
        case ast.Call(func=ast.Name(id="enumerate") as func, args=[inner]):
            call = ast.Call(func, [where(condition, inner)], [])
            return ast.copy_location(call, source)
    nothing = ast.Tuple([], ast.Load())
    return ast.copy_location(ast.IfExp(cloned(condition), source, nothing), source)


def _after(body: list[ast.stmt], node: ast.stmt) -> list[ast.stmt]:
    """The statements that are run after one of a body, or of a block in it."""
    for place, part in enumerate(body):
        rest = body[place + 1 :]
        if part is node:
            return rest
        if any(inner is node for inner in walk(part)):
            blocks = (getattr(part, title, []) for title in ("body", "orelse"))
            return [s for block in blocks for s in _after(block, node)] + rest
    return []
