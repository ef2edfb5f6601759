"""Loops in loops that fill a list with layers, as one list: `[Block(2**i) for _ in range(2) for i in sizes]`.

layers = []
for _ in range(stacks):
    for i in range(depth):
        layers.append(Block(width, 2**i, rngs=rngs))
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.lists.key_loops import is_split
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, replaced, targets
from mlax_scaffold.conversion.source.walking import located, walk

_FRAMEWORKS = ("flax", "nnx", "equinox", "haiku")
_HOLDERS = ("flax.nnx.List",)


def with_comprehended_loops(origin: Origin) -> None:
    """Write them so in place, where constructors of JAX's classes do nothing else in them."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in _FRAMEWORKS:
            continue
        for title in ("__init__", "setup"):
            start = method_of(node, title)
            if start is not None:
                _method(origin, start)
    located(origin.tree)


def _method(origin: Origin, start: ast.FunctionDef) -> None:
    begun: dict[str, ast.Assign | ast.AnnAssign] = {}
    for part in list(start.body):
        place = _begins(origin, part)
        if place is not None:
            begun[place] = part  # type: ignore[assignment]
            continue
        read = {ast.unparse(p) for p in walk(part) if isinstance(p, ast.expr)}
        held = read & begun.keys()
        made = _listed(origin, part) if len(held) == 1 else None
        if made is not None and isinstance(part, ast.For):
            [place] = held
            filled, element, loops = made
            if filled == place and not names(element) & _unsaid(part):
                begun[place].value = ast.copy_location(
                    ast.ListComp(element, loops), part
                )
                # What the loops read is known where they stand.
                start.body.remove(begun[place])
                start.body[start.body.index(part)] = begun[place]
        for gone in held:
            begun.pop(gone)


def _begins(origin: Origin, part: ast.stmt) -> str | None:
    """The place of a list that is empty at first."""
    match part:
        case ast.Assign(targets=[target], value=value):
            pass
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            pass
        case _:
            return None
    if isinstance(value, ast.Call) and origin.qualified(value.func) in _HOLDERS:
        value = value.args[0] if value.args else ast.List([], ast.Load())
    empty = isinstance(value, ast.List) and not value.elts
    return ast.unparse(target) if empty else None


def _listed(
    origin: Origin, part: ast.stmt
) -> tuple[str, ast.expr, list[ast.comprehension]] | None:
    """The list that loops in loops fill, with what, and these."""
    loops: list[ast.comprehension] = []
    keys: dict[str, ast.expr] = {}
    while isinstance(part, ast.For) and not part.orelse:
        loops.append(ast.comprehension(part.target, part.iter, [], 0))
        *before, last = part.body
        for one in before:
            match one:
                case ast.Assign(targets=[target], value=ast.Call(args=[key, *_]) as v):
                    if not is_split(origin, v):
                        return None
                    keys |= dict.fromkeys(targets(target), key)
                case _:
                    return None
        part = last
    match part:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=filled, attr="append"), args=[one])
        ) if len(loops) > 1 and isinstance(one, ast.Call):
            return ast.unparse(filled), replaced(one, keys), loops
    return None


def _unsaid(loop: ast.For) -> set[str]:
    """Names that a loop changes for its next pass, or that its own loops do not bind."""
    bound: set[str] = set()
    for part in walk(loop):
        if isinstance(part, ast.AugAssign):
            bound |= {*targets(part.target)}
    return bound
