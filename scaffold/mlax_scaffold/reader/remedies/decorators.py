"""Decorators of functions inside of methods and beside classes, called where the functions are used."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.classes import undecorated
from mlax_scaffold.reader.source import Source, dotted


def called_where_used(
    source: Source, decorator: ast.AST, function: ast.AST | None
) -> Fix | None:
    """`@jax.vmap` above `def step(x):` as `jax.vmap(step)` in the place of `step`.

    None for one of several decorators, and where the function reads itself.
    """
    match function:
        case ast.FunctionDef(decorator_list=[ast.expr() as only]) if only is decorator:
            pass
        case _:
            return None
    name = function.name
    match only:
        case ast.Call(func=called, args=[inner, *others]) if (
            dotted(called) or ""
        ).rpartition(".")[2] == "partial" and not others:
            options = ", ".join([name, *map(source.text_of, only.keywords)])
            made = f"{source.text_of(inner)}({options})"
        case ast.Name() | ast.Attribute():
            made = f"{source.text_of(only)}({name})"
        case _:
            return None
    bare = undecorated(source, only)
    inside = [n for n in walk(source.tree) if _method_with(source, n, function)]
    place = source.start(function)
    beside = any(source.start(s) == place for s in source.tree.body)
    if bare is None or not (inside or beside):
        return None
    around = source.tree if beside else inside[0]
    named = [n for n in walk(around) if isinstance(n, ast.Name) and n.id == name]
    own = {source.start(n) for n in walk(function)}
    defined = [n for n in walk(around) if isinstance(n, ast.FunctionDef)]
    if sum(n.name == name for n in defined) > 1:
        return None
    if any(isinstance(n.ctx, ast.Store) or source.start(n) in own for n in named):
        return None
    if _compiles(made):
        return bare
    return Fix((*bare.edits, *(source.edit(n, made) for n in named)))


def _compiles(made: str) -> bool:
    """Whether a function is compiled, which is for the caller of the layer to do."""
    return made.partition("(")[0] in ("jit", "jax.jit")


def _method_with(source: Source, node: ast.AST, function: ast.FunctionDef) -> bool:
    """Whether a node is another function that holds this one."""
    place = source.start(function)
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(n, ast.FunctionDef) and n is not node and source.start(n) == place
        for n in walk(node)
    )
