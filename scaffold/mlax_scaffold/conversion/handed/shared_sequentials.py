"""Sequences of linen and haiku that are made once and called more than once: their layers are made once, too.

mlp = nn.Sequential([nn.Dense(8), nn.relu])    becomes    mlp_0 = nn.Dense(8)
for _ in range(3):                                        mlp = nn.Sequential([mlp_0, nn.relu])
    x = x + mlp(x)                                        for _ in range(3):
                                                              x = x + mlp(x)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.handed.layer_functions import bound_arguments
from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    replaced,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import located, walk

_SEQUENCES = ("flax.linen.Sequential", "haiku.Sequential")
_AGAIN = (ast.For, ast.While, ast.Lambda, ast.FunctionDef, ast.ListComp, ast.DictComp)
"""What may run what stands in it more than once."""


def without_shared_sequentials(origin: Origin) -> None:
    """Write them so, in place."""
    for node in walk(origin.tree):
        if not isinstance(node, ast.FunctionDef) or node.name in ("setup", "__init__"):
            continue
        for body in list(_blocks(node)):
            body[:] = [
                made
                for part in body
                for made in (*_layers_before(origin, node, part), part)
            ]
    located(origin.tree)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, without those of functions in it."""
    for field in ("body", "orelse"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
            for part in block:
                if not isinstance(part, ast.FunctionDef | ast.ClassDef):
                    yield from _blocks(part)


def _layers_before(
    origin: Origin, function: ast.FunctionDef, part: ast.stmt
) -> list[ast.stmt]:
    """The layers of the sequence that a statement makes, which has their names then."""
    match part:
        case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call() as call):
            made_by = _returned(origin, call)
        case _:
            return []
    call = made_by or call
    sequence = origin.qualified(call.func) in _SEQUENCES and not call.keywords
    if not sequence or not _called_again(function, part, local):
        return []
    part.value = call
    listed = call.args
    if len(listed) == 1 and isinstance(listed[0], ast.List | ast.Tuple):
        listed = listed[0].elts
    taken = {a.arg for a in function.args.args} | names(function)
    made: list[ast.stmt] = []
    for at, element in enumerate(listed):
        title = f"{local}_{at}"
        if _is_layer(origin, element) and title not in taken:
            target = ast.Name(title, ast.Store())
            made.append(ast.copy_location(ast.Assign([target], element), part))
            listed[at] = ast.copy_location(ast.Name(title, ast.Load()), element)
    return made


def _returned(origin: Origin, call: ast.Call) -> ast.Call | None:
    """The sequence that a function of the file makes and returns, where that is all it does."""
    function = origin.functions.get(getattr(call.func, "id", ""))
    given = bound_arguments(function, call) if function is not None else None
    if function is None or given is None:
        return None
    match without_docstring(function.body):
        case [ast.Return(value=ast.Call() as made)]:
            written = replaced(made, given)
            return written if isinstance(written, ast.Call) else None
    return None


def _called_again(function: ast.FunctionDef, made: ast.stmt, local: str) -> bool:
    """Whether a local that is bound once is read in several places, or in one that may run again."""
    if sum(n == local for s in function.body for n in stored_names(s)) != 1:
        return False
    read = [
        part
        for node in walk(function)
        for part in ast.iter_child_nodes(node)
        if is_name(part, local) and isinstance(part, ast.Name)
        if isinstance(part.ctx, ast.Load)
    ]
    again = {
        id(part)
        for node in function.body
        for outer in walk(node)
        if isinstance(outer, _AGAIN) and made not in walk(outer)
        for part in walk(outer)
    }
    return len(read) > 1 or any(id(part) in again for part in read)


def _is_layer(origin: Origin, node: ast.expr) -> bool:
    """Whether an expression makes a layer: of a library, or of a class of the file."""
    if not isinstance(node, ast.Call):
        return False
    full = origin.qualified(node.func)
    titled = full.rpartition(".")[2][:1].isupper()
    library = full.startswith(("flax.linen.", "haiku.")) and titled
    return library or getattr(node.func, "id", "") in origin.classes
