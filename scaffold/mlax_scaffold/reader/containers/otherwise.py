"""Arrays of `setup` that are a number where another branch holds: `self.eps = 0.0` instead of a weight.

What is declared is there or not; so `self.eps` is read as `(self.eps if self.learned else 0.0)`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from mlax_scaffold.model.conditions import (
    Tests,
    Way,
    are_apart,
    chosen,
    contrary,
    ways,
)
from mlax_scaffold.model.definition import Role
from mlax_scaffold.model.resolved import Change
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.containers.declared import KindOf
from mlax_scaffold.reader.source import dotted, is_none, self_attribute

_OF_NUMBERS = frozenset(("abs", "float", "int", "len", "max", "min", "round", "sum"))
"""What is called to compute a number of others."""
_ARRAYS = frozenset((Role.TRAINABLE, Role.STATE))


@dataclass
class _Attribute:
    declared: list[Way] = field(default_factory=list)
    numbers: list[Way] = field(default_factory=list)
    absent: list[Way] = field(default_factory=list)
    """Those that are None."""
    other: bool = False
    """Whether it is assigned in a way that is none of these."""

    @property
    def ways(self) -> list[Way]:
        """All of them, in the order of the text."""
        return sorted((*self.declared, *self.numbers, *self.absent), key=_place)


def _place(way: Way) -> tuple[int, int]:
    return way.value.lineno, way.value.col_offset


def numbers_of(node: ast.ClassDef, kind_of: KindOf) -> list[Change]:
    """What to change in the text of a class, so that each array of it is declared, or is not there.

    Args:
        node: the class.
        kind_of: what a call declares.
    """
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    setup = next((m for m in methods if m.name == "setup"), None)
    if setup is None:
        return []
    found: dict[str, _Attribute] = {}
    _collect(setup.body, (), kind_of, found)
    arrays = {name for name, attribute in found.items() if attribute.declared}
    mixed = {
        name: attribute
        for name, attribute in found.items()
        if _is_chosen(attribute)
        and not any(_reads(w.value, arrays) for w in attribute.numbers)
    }
    if not mixed:
        return []
    uses = [n for m in methods for n in ast.walk(m) if isinstance(n, ast.Attribute)]
    within = {id(n) for n in ast.walk(setup)}
    changes: list[Change] = []
    for name, attribute in mixed.items():
        own = [n for n in uses if self_attribute(n) == name]
        reads = [n for n in own if _is_load(n)]
        stored_elsewhere = any(not _is_load(n) and id(n) not in within for n in own)
        if stored_elsewhere or any(id(n) in within for n in reads):
            continue
        changes += [_change(way.value, "None") for way in attribute.numbers]
        text = _read(name, attribute)
        changes += [_change(read, text) for read in reads]
    return changes


def _collect(
    body: Sequence[ast.stmt],
    tests: Tests,
    kind_of: KindOf,
    found: dict[str, _Attribute],
) -> None:
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ) if name := self_attribute(target):
                attribute = found.setdefault(name, _Attribute())
                for way in ways(value, tests):
                    _add(attribute, way, kind_of)
            case ast.If(test=test, body=then, orelse=otherwise):
                _collect(then, (*tests, test), kind_of, found)
                _collect(otherwise, (*tests, contrary(test)), kind_of, found)
            case _:
                for inner in ast.walk(statement):
                    for name in _assigned(inner):
                        found.setdefault(name, _Attribute()).other = True


def _add(attribute: _Attribute, way: Way, kind_of: KindOf) -> None:
    kind = kind_of(way.value) if isinstance(way.value, ast.Call) else None
    known = all(map(_of_hyperparameters, way.tests))
    if kind in _ARRAYS:
        attribute.declared.append(way)
        attribute.other |= not known
    elif kind is None and known and _of_hyperparameters(way.value):
        (attribute.absent if is_none(way.value) else attribute.numbers).append(way)
    else:
        attribute.other = True


def _is_chosen(attribute: _Attribute) -> bool:
    """Whether it is an array, or None, in some cases, and a number in all that are left."""
    if not attribute.declared or not attribute.numbers or attribute.other:
        return False
    # What is bound last holds: one may stand first, and be what is left.
    first, *rest = attribute.ways
    each = (
        rest if not first.tests and first not in attribute.declared else attribute.ways
    )
    return all(are_apart(a.tests, b.tests) for a, b in combinations(each, 2))


def _read(name: str, attribute: _Attribute) -> str:
    """What its value is, whichever case it is."""
    own = ast.parse(f"self.{name}", mode="eval").body
    each = [w if w in attribute.numbers else Way(own, w.tests) for w in attribute.ways]
    return f"({unparsed(chosen(each))})"


def _reads(node: ast.expr, names: Collection[str]) -> bool:
    return any(
        isinstance(n, ast.expr) and self_attribute(n) in names for n in ast.walk(node)
    )


def _of_hyperparameters(node: ast.expr) -> bool:
    """Whether something says the same wherever it is read: of attributes, literals, and arithmetic."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    for part in ast.walk(node):
        match part:
            case ast.Call(func=function):
                path = dotted(function) or ""
                if path not in _OF_NUMBERS and not path.startswith("math."):
                    return False
            case ast.Name(id=name):
                if name not in ("self", "math") and id(part) not in called:
                    return False
            case (
                ast.List() | ast.Dict() | ast.Set() | ast.Lambda() | ast.comprehension()
            ):
                return False
    return True


def _assigned(node: ast.AST) -> list[str]:
    """The attributes of self that a statement assigns to."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=several):
            targets = several
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            targets = [target]
    parts = [n for t in targets for n in ast.walk(t) if isinstance(n, ast.Attribute)]
    return [name for p in parts if not _is_load(p) and (name := self_attribute(p))]


def _is_load(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _change(node: ast.expr, text: str) -> Change:
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset), end, text
