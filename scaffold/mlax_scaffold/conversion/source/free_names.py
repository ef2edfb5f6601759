"""The names that code reads and does not bind itself: those of the file, where it has them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.walking import walk

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def free_names(node: ast.AST) -> set[str]:
    """Those of a statement or an expression; what a function binds is its own."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        given = node.args
        outside: list[ast.AST] = [*given.defaults]
        outside += [d for d in given.kw_defaults if d is not None]
        if isinstance(node, ast.Lambda):
            inside, bound = free_names(node.body), set[str]()
        else:
            outside += node.decorator_list
            inside, bound = _free(node.body), bound_by(node.body)
        bound |= {a.arg for a in walk(given) if isinstance(a, ast.arg)}
        return _free(outside) | (inside - bound)
    if isinstance(node, _COMPREHENSIONS):
        bound = {
            part.id
            for generator in node.generators
            for part in walk(generator.target)
            if isinstance(part, ast.Name)
        }
        # The first source stands outside: `[x for x in x]`.
        first = node.generators[0].iter
        rest = [p for p in _children(node) if p is not first]
        return free_names(first) | (_free(rest) - bound)
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    return _free(ast.iter_child_nodes(node))


def bound_by(body: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind where they stand."""
    found: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef(name=title) | ast.ClassDef(name=title):
                found.add(title)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                pass
            case ast.DictComp():
                pass
            case ast.Name(id=title, ctx=ast.Store()):
                found.add(title)
            case _:
                found |= bound_by(ast.iter_child_nodes(node))
    return found


def _children(node: ast.AST) -> Iterable[ast.AST]:
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.comprehension):
            yield from ast.iter_child_nodes(part)
        else:
            yield part


def _free(nodes: Iterable[ast.AST]) -> set[str]:
    return {title for node in nodes for title in free_names(node)}
