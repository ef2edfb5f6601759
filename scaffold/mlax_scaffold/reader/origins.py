"""Finds the place of a spec that a place of its generated module follows from.

Generated code holds no line numbers of specs: the statements of both texts are aligned by the names in
them, in the order in which they stand. So a module that was formatted otherwise, or moved, is mapped too.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.errors import Location

_BECOME = {
    "init": ("setup", "setup_tree"),
    "fwd": ("forward",),
    "step": ("prepare", "update", "finish", "step"),
    "__call__": ("value",),
    "__post_init__": ("setup",),
}
"""What functions of a generated module follow from, beside methods of their own names."""

_COMMON = frozenset(("hyperparams", "jax", "jnp", "lax", "self", "trainables"))
"""Names that say nothing of where an expression comes from."""

_LEAST = 0.34
"""Likeness below which two expressions have nothing to do with each other."""


@dataclass(frozen=True)
class Origin:
    """A place of a spec: the statement, and the expression in it."""

    statement: ast.stmt
    node: ast.AST

    def location(self, path: str, text: str) -> Location:
        """Where it is, in characters."""
        line = getattr(self.node, "lineno", 1)
        start = text.split("\n")[line - 1].encode()
        column = len(start[: getattr(self.node, "col_offset", 0)].decode())
        return Location(path, line, column + 1)


@dataclass(frozen=True)
class _Unit:
    """A statement, or what stands before the body of one, with the names in it."""

    statement: ast.stmt
    parts: tuple[ast.AST, ...]
    function: str
    names: Counter[str]


def origin(
    spec: str,
    generated: str,
    line: int,
    span: tuple[int, int, int] | None = None,
    tree: ast.Module | None = None,
) -> Origin | None:
    """Where a line of a generated module comes from; None where that cannot be told.

    Args:
        spec: the text of the spec.
        generated: the text of the module.
        line: counts from 1.
        span: the column, the last line and the column there of the expression, as in a
            traceback: in bytes, columns from 0.
        tree: the tree of the spec that the place is to be of, where there is one.
    """
    try:
        source, module = tree or _parsed(spec), _parsed(generated)
    except (SyntaxError, RecursionError):
        return None
    units = list(_units(_followed(source, module)))
    made = list(_units(module))
    at = _at_line(made, line)
    if at is None or not units:
        return None
    found = _aligned(units, made, made[at].function).get(at)
    if found is None:
        return None
    expression = _spanned(made[at], line, span) if span else None
    if expression is not None:
        # Neighbours, too: one statement may hold what becomes of several.
        near = [units[found], *units[max(found - 1, 0) : found + 3]]
        if isinstance(made[at].statement, ast.FunctionDef):
            # Defaults of a signature are those of fields.
            near += [unit for unit in units if not unit.function]
        likely = [(*_like(unit, expression), unit) for unit in near]
        node, _, unit = max(likely, key=lambda found: found[1])
        if node is not None:
            return Origin(unit.statement, node)
    return Origin(units[found].statement, units[found].parts[0])


def _followed(spec: ast.Module, module: ast.Module) -> ast.Module:
    """What a module may follow from: of several definitions its own, and those that it is based on."""
    classes = {s.name: s for s in spec.body if isinstance(s, ast.ClassDef)}
    made = {s.name for s in module.body if isinstance(s, ast.ClassDef)}
    pending = [n for n in classes if {n, f"{n}Hyperparams"} & made]
    found: set[str] = set()
    while pending:
        found.add(name := pending.pop())
        bases = [b.id for b in classes[name].bases if isinstance(b, ast.Name)]
        pending += [b for b in bases if b in classes and b not in found]
    others = [c for name, c in classes.items() if found and name not in found]
    return ast.Module([s for s in spec.body if s not in others], [])


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _units(tree: ast.AST, function: str = "") -> Iterator[_Unit]:
    """The statements in the order of the text, each with the outermost function around it."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.stmt):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _units(child, function)
            continue
        inner = [
            part
            for part in ast.iter_child_nodes(child)
            if not isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]
        compound = len(inner) < len(list(ast.iter_child_nodes(child)))
        parts = tuple(inner) if compound and inner else (child,)
        if not isinstance(child, ast.ClassDef) and not _is_text(child):
            names = sum((_names(part) for part in parts), Counter())
            if isinstance(child, ast.FunctionDef):
                parts = (child,)
            yield _Unit(child, parts, function, names)
        own = child.name if isinstance(child, ast.FunctionDef) else ""
        yield from _units(child, function or own)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names(node: ast.AST) -> Counter[str]:
    """The names, attributes, keywords and constants of an expression."""
    found: Counter[str] = Counter()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found[name] += 1
            case ast.keyword(arg=str(name)) | ast.alias(name=name):
                found[name] += 1
            case ast.Constant(value=value):
                found[repr(value)] += 1
            case ast.operator() | ast.unaryop() | ast.cmpop() | ast.boolop():
                found[type(part).__name__] += 1
    return Counter({n: c for n, c in found.items() if n not in _COMMON})


def _at_line(units: list[_Unit], line: int) -> int | None:
    """The innermost statement that holds a line."""
    found = None
    for at, unit in enumerate(units):
        last = max(getattr(p, "end_lineno", 0) or 0 for p in unit.parts)
        if isinstance(unit.statement, ast.FunctionDef):
            last = unit.statement.body[0].lineno - 1
        if unit.statement.lineno <= line <= max(last, unit.statement.lineno):
            found = at
    return found


def _aligned(units: list[_Unit], made: list[_Unit], function: str) -> Mapping[int, int]:
    """For the statements of a generated function, those of the spec that they follow from.

    Both stand in one order, and several may follow from one: of all such maps it is the one
    with most in common.
    """
    sources = (function, *_BECOME.get(function, ()))
    total = sum((unit.names for unit in units), Counter())
    columns = [i for i, u in enumerate(units) if u.function in sources] or [
        *range(len(units))
    ]
    rows = [i for i, u in enumerate(made) if u.function == function]
    best = [0.0] * len(columns)
    steps: list[list[int]] = []
    for row in rows:
        likeness = [_likeness(made[row].names, units[c].names, total) for c in columns]
        reached, step = 0, []
        new: list[float] = []
        for j, score in enumerate(likeness):
            if best[j] > best[reached]:
                reached = j
            step.append(reached)
            new.append(best[reached] + score)
        best = new
        steps.append(step)
    at = max(range(len(columns)), key=best.__getitem__)
    found: dict[int, int] = {}
    for row, step in zip(reversed(rows), reversed(steps), strict=True):
        found[row] = columns[at]
        at = step[at]
    return found


def _likeness(a: Counter[str], b: Counter[str], total: Counter[str]) -> float:
    """What two expressions have in common, from 0 to 1; rare names count for more."""

    def weight(names: Counter[str]) -> float:
        return sum(count / (total[name] or 1) for name, count in names.items())

    whole = weight(a) + weight(b)
    return 2.0 * weight(a & b) / whole if whole else 0.0


def _spanned(unit: _Unit, line: int, span: tuple[int, int, int]) -> ast.expr | None:
    """The expression of a statement that stands at a place."""
    column, last, end = span
    for part in unit.parts:
        for node in ast.walk(part):
            if isinstance(node, ast.expr) and (
                (line, column) in _starts(node)
                and (node.end_lineno, node.end_col_offset) == (last, end)
            ):
                return node
    return None


def _starts(node: ast.expr) -> Iterator[tuple[int, int]]:
    """Where tracebacks let an expression begin.

    The call of a method begins at the method's name, where that is in a line of its own.
    """
    yield node.lineno, node.col_offset
    match node:
        case ast.Call(func=ast.Attribute(attr=attr) as func):
            yield func.end_lineno or 0, (func.end_col_offset or 0) - len(attr.encode())


def _like(unit: _Unit, expression: ast.expr) -> tuple[ast.expr | None, float]:
    """The expression of a statement that is most like another one, and how much."""
    wanted = _names(expression)
    found, best = None, _LEAST
    for part in unit.parts:
        for node in ast.walk(part):
            if isinstance(node, ast.expr) and type(node) is type(expression):
                score = _likeness(_names(node), wanted, Counter())
                if score > best:
                    found, best = node, score
    return found, best
