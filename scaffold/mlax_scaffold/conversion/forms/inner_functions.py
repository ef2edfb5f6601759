"""Functions that another one defines for itself, written out where it calls them."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.leaf_functions import as_lambda
from mlax_scaffold.conversion.forms.straightened import straighten
from mlax_scaffold.conversion.source.trees import names, replaced, targets
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_DEEP = 4


def with_inner_functions(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function without those of straight lines, whose calls are what they return."""
    made = cloned(function)
    known: dict[str, ast.FunctionDef] = {}
    lambdas: dict[str, ast.Lambda] = {}
    for part in made.body:
        if isinstance(part, ast.FunctionDef) and not part.decorator_list:
            inner = cloned(part)
            straighten(inner)
            whole = as_lambda(inner)
            if whole is not None and not _given_more(part):
                known[part.name], lambdas[part.name] = part, whole
    bound = [t for part in made.body for t in targets(part)]
    for title in list(known):
        free = names(lambdas[title].body)
        if any(bound.count(n) > 1 for n in free):
            # It would read another value where it is called.
            del lambdas[title], known[title]
    if not lambdas:
        return function
    calls = _Calls(known, lambdas)
    for _ in range(_DEEP):
        calls.found = False
        made.body = [
            part if part in known.values() else calls.visit(part) for part in made.body
        ]
        if not calls.found:
            break
    left = {n for part in made.body if part not in known.values() for n in names(part)}
    made.body = [
        part
        for part in made.body
        if not (isinstance(part, ast.FunctionDef) and part.name in {*known} - left)
    ]
    return located(made)


def _given_more(function: ast.FunctionDef) -> bool:
    given = function.args
    return bool(given.vararg or given.kwarg or given.posonlyargs)


class _Calls(NodeTransformer):
    def __init__(
        self, known: dict[str, ast.FunctionDef], lambdas: dict[str, ast.Lambda]
    ):
        self.known, self.lambdas = known, lambdas
        self.found = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        title = node.func.id if isinstance(node.func, ast.Name) else ""
        if title not in self.lambdas:
            return node
        function = self.known[title]
        given = [*function.args.args, *function.args.kwonlyargs]
        late = function.args.args[
            len(function.args.args) - len(function.args.defaults) :
        ]
        bound = dict(zip((a.arg for a in late), function.args.defaults, strict=True))
        for argument, default in zip(
            function.args.kwonlyargs, function.args.kw_defaults, strict=True
        ):
            if default is not None:
                bound[argument.arg] = default
        bound |= dict(zip((a.arg for a in given), node.args, strict=False))
        bound |= {str(k.arg): k.value for k in node.keywords}
        if {*bound} != {a.arg for a in given} or len(node.args) > len(given):
            return node
        self.found = True
        made = replaced(self.lambdas[title].body, bound)
        for part in walk(made):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return made
