"""Arrays that `setup` draws in locals and computes with, as an initializer that does so."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.array_shapes import Imports, drawn_shape, shape_of
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source, self_attribute

_PARAMETERS = ("key", "shape", "dtype")


def drawn_in_locals(
    source: Source, setup: ast.FunctionDef, call: ast.Call, imports: Imports
) -> Fix | None:
    """`trainable(w / norm)`, where `w` is drawn above it, with a function that draws it.

    None where nothing says the shape, or where something else reads what is drawn: an initializer makes
    one weight, of a key of its own.
    """
    [value] = call.args
    statement = next((s for s in setup.body if call in walk(s)), None)
    if statement is None:
        return None
    before = setup.body[: setup.body.index(statement)]
    found = _slice(before, value, imports)
    if found is None:
        return None
    shapes: dict[str, str | None] = {}
    for part in found:
        if isinstance(name := part.targets[0], ast.Name):
            shapes[name.id] = _shape(part.value, shapes, imports)
    whole = _shape(value, shapes, imports)
    draws = [n for p in (*found, value) for n in walk(p) if drawn_shape(n, imports)]
    if not draws or whole in (None, "()") or _read_elsewhere(setup, found, value):
        return None
    function = f"initial_{_stem(statement)}"
    indent = " " * statement.col_offset
    given = _Given(imports, whole, len(draws))
    lines = [f"def {function}(key, shape, dtype):"]
    if len(draws) > 1:
        lines.append(f"keys = jax.random.split(key, {len(draws)})")
    lines += [unparsed(given.visit(copy.deepcopy(part))) for part in found]
    lines.append(f"return {unparsed(given.visit(copy.deepcopy(value)))}")
    text = f"\n{indent}    ".join(lines) + f"\n\n{indent}"
    return Fix(
        (
            *(removed(source, part) for part in found),
            source.insert(statement, text),
            source.edit(value, f"{function}, {whole}"),
        )
    )


def _slice(
    before: Sequence[ast.stmt], value: ast.expr, imports: Imports
) -> list[ast.Assign] | None:
    """The statements that draw, and that compute with what is drawn; None where one is of another form."""
    assigned = [s for s in before if isinstance(s, ast.Assign)]
    names = [n for s in before for n in _stored(s)]
    arrays: set[str] = set()
    for part in assigned:
        if _computes(part.value, arrays, imports):
            arrays |= {*_stored(part)}
    wanted = {n.id for n in walk(value) if isinstance(n, ast.Name)} & arrays
    found: list[ast.Assign] = []
    for part in reversed(assigned):
        if not wanted & {*_stored(part)}:
            continue
        targets = part.targets
        plain = len(targets) == 1 and isinstance(targets[0], ast.Name | ast.Tuple)
        if not plain or any(names.count(n) > 1 for n in _stored(part)):
            return None
        found.insert(0, part)
        read = {n.id for n in walk(part.value) if isinstance(n, ast.Name)}
        wanted |= read & arrays
    return found or None


def _computes(node: ast.expr, arrays: set[str], imports: Imports) -> bool:
    """Whether an expression draws, or computes with what is drawn."""
    for part in walk(node):
        match part:
            case ast.Call() if drawn_shape(part, imports):
                return True
            case ast.Name(id=name) if name in arrays:
                return True
    return False


def _shape(
    node: ast.expr, shapes: Mapping[str, str | None], imports: Imports
) -> str | None:
    match node:
        case ast.Name(id=name) if name in shapes:
            return shapes[name]
        case ast.BinOp(left=left, right=right):
            both = {_shape(side, shapes, imports) for side in (left, right)} - {"()"}
            return "()" if not both else both.pop() if len(both) == 1 else None
        case ast.UnaryOp(operand=operand):
            return _shape(operand, shapes, imports)
        case ast.Call() if not drawn_shape(node, imports) and any(
            k.arg == "keepdims" for k in node.keywords
        ):
            return "()"  # It is spread over what it is computed of.
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if name in shapes:
            renamed = copy.deepcopy(node)
            # A function of each element has the shape of anything that is drawn in it.
            alike = shape_of(_of_scalar(renamed), imports) == "()"
            return shapes[name] if alike else None
    return shape_of(node, imports)


def _of_scalar(call: ast.Call) -> ast.Call:
    call.args = [ast.Constant(0.0)]
    return call


def _read_elsewhere(
    setup: ast.FunctionDef, found: Sequence[ast.Assign], value: ast.expr
) -> bool:
    names = {n for part in found for n in _stored(part)}
    inside = {id(n) for part in (*found, value) for n in walk(part)}
    return any(
        isinstance(n, ast.Name) and n.id in names and id(n) not in inside
        for n in walk(setup)
    )


def _stored(statement: ast.stmt) -> Iterator[str]:
    for node in walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _stem(statement: ast.stmt) -> str:
    targets = getattr(statement, "targets", [])
    return (self_attribute(targets[0]) if targets else None) or "weight"


class _Given(ast.NodeTransformer):
    """Draws of the key, and of the shape where it is that of the weight, in the dtype that is asked for."""

    def __init__(self, imports: Imports, whole: str | None, count: int):
        self.imports, self.whole, self.count, self.seen = imports, whole, count, 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        drawn = drawn_shape(node, self.imports)
        if drawn is None:
            return self.generic_visit(node)
        shape, place = drawn
        key = f"keys[{self.seen}]" if self.count > 1 else "key"
        self.seen += 1
        if shape_of(node, self.imports) == self.whole:
            shape = ast.Name("shape", ast.Load())
        given = [ast.parse(key, mode="eval").body, *node.args[1:place], shape]
        given += [ast.Name("dtype", ast.Load()), *node.args[place + 2 :]]
        keywords = [k for k in node.keywords if k.arg not in _PARAMETERS]
        return ast.Call(node.func, given, keywords)
