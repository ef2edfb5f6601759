"""Functions of a file that make the numbers of a weight: `nnx.Param(ring_init(rngs.params(), (dim,)))`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.leaf_functions import called
from mlax_scaffold.conversion.forms.own_initializers import whole_function
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.arguments_of import defaults_of
from mlax_scaffold.conversion.source.trees import (
    literal,
    name,
    replaced,
    visited,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, OWN_INITIALIZER
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_PLACES = ("key", "shape", "dtype")


def written_out(translator: Translator, node: ast.expr) -> ast.expr | None:
    """The call of such a function as the expression that it returns; None for another one."""
    match node:
        case ast.Call(func=ast.Name(id=title), args=args, keywords=keywords):
            function = _function(translator, title)
            bound = function and _bound(function, args, keywords)
            if function is None or bound is None:
                return None
            whole = whole_function(function)
            if whole is None:
                return None
            made = called(replaced(whole.body, bound))
            return visited(_Plain(), made)
    return None


def initializer_of(
    translator: Translator, node: ast.expr
) -> tuple[ast.expr, ast.expr] | None:
    """The function as an initializer, and the shape that a call of it gives."""
    match node:
        case ast.Call(func=ast.Name(id=title), args=[_, shape, *rest], keywords=[]):
            function = _function(translator, title)
            if function is None or len(rest) > 1:
                return None
            given = [a.arg for a in function.args.args]
            whole = whole_function(function)
            if whole is None or given[1] not in ("shape", "size") or len(given) > 3:
                return None
            return _translated(translator, whole.body, given), shape
    return None


def _function(translator: Translator, title: str) -> ast.FunctionDef | None:
    """The one function of the file, or of its constructors, with that name that draws by a key."""
    found = [
        part
        for part in walk(translator.origin.tree)
        if isinstance(part, ast.FunctionDef) and part.name == title
    ]
    if len(found) != 1 or len(found[0].args.args) < 2:
        return None
    return found[0] if found[0].args.args[0].arg in KEYS else None


def _bound(
    function: ast.FunctionDef, args: list[ast.expr], keywords: list[ast.keyword]
) -> dict[str, ast.expr] | None:
    places = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    bound = defaults_of(function.args)
    bound |= dict(zip(places, args, strict=False))
    bound |= {str(k.arg): k.value for k in keywords}
    return bound if bound.keys() == {*places} and len(args) <= len(places) else None


def _translated(translator: Translator, body: ast.expr, given: list[str]) -> ast.expr:
    """What it computes, in the terms of specs."""
    titles = dict(zip(given, map(name, _PLACES), strict=False))
    parameters = ast.arguments(
        [], [ast.arg(a) for a in _PLACES], None, [], [], None, []
    )
    made = ast.Lambda(parameters, replaced(body, titles))
    setattr(made, OWN_INITIALIZER, True)
    return translator.expression(made)


class _Plain(NodeTransformer):
    """Leaves out casts to floating numbers: a weight has a dtype of its own."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr="astype"), args=[dtype]):
                text = literal(dtype)
                last = text if isinstance(text, str) else ast.unparse(dtype)
                if last.rpartition(".")[2].startswith(("float", "bfloat", "dtype")):
                    return inner
        return node


def drawn_by(translator: Translator, node: ast.expr) -> bool:
    """Whether an expression calls such a function."""
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Name)
        and _function(translator, part.func.id) is not None
        for part in walk(node)
    )
