"""What a state begins with, where a local holds it: `zeros = jax.tree.map(...)`, `zeros = lambda: ...`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import Substituted


def written_out(
    parts: Mapping[str, ast.expr], method: ast.FunctionDef
) -> tuple[dict[str, ast.expr], list[ast.stmt]]:
    """The parts of a state without the locals that nothing else reads, and the statements that bind those.

    Args:
        parts: the values of the parts, by name.
        method: the one that makes the state.
    """
    values, gone = {**parts}, []
    for statement in method.body:
        name, value = _bound(statement)
        uses = [n for n in walk(method) if isinstance(n, ast.Name) and n.id == name]
        uses = [n for n in uses if not isinstance(n.ctx, ast.Store)]
        read = {p: v for p, v in parts.items() if _local(v) in uses}
        if value is None or not read or len(read) != len(uses):
            continue
        made = {part: _made(v, value) for part, v in read.items()}
        if all(made.values()):
            values |= {part: v for part, v in made.items() if v is not None}
            gone.append(statement)
    return values, gone


def _bound(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The local that a statement binds, and its value; a function of one expression is a lambda."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.FunctionDef(name=name, args=args, body=[ast.Return(value=body)]) if (
            body is not None
        ):
            return name, ast.Lambda(args, body)
    return "", None


def _local(value: ast.expr) -> ast.expr:
    """What may be the name of a local in a part of a state: `zeros`, or that of `zeros()`."""
    return value.func if isinstance(value, ast.Call) else value


def _made(part: ast.expr, value: ast.expr) -> ast.expr | None:
    """What a part is, where a local that it is, or calls, holds a value."""
    if not isinstance(part, ast.Call):
        return None if isinstance(value, ast.Lambda) else value
    if not isinstance(value, ast.Lambda) or part.keywords:
        return None
    args = value.args
    plain = not (args.vararg or args.kwarg or args.kwonlyargs or args.defaults)
    if not plain or len(args.args) != len(part.args):
        return None
    given = {a.arg: v for a, v in zip(args.args, part.args, strict=True)}
    return Substituted(given).visit(copy.deepcopy(value.body)) if given else value.body
