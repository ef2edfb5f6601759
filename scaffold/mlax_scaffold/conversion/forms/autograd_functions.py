"""Functions of PyTorch with a gradient of their own, `class Round(torch.autograd.Function)`, as functions.

A gradient that passes on what it is given, as that of rounding does, stays: `x + (f(x) - x).detach()`. Any
other one is that of what is computed, which is told.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, is_name, is_none, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_autograd_functions(origin: Origin, notes: Notes) -> None:
    """Write such classes, and what applies them, so in place."""
    found: dict[str, str] = {}
    for place, node in enumerate(list(origin.tree.body)):
        if not isinstance(node, ast.ClassDef) or len(node.bases) != 1:
            continue
        if origin.qualified(node.bases[0]) != "torch.autograd.Function":
            continue
        made = _function(node, notes)
        if made is not None:
            origin.tree.body[place] = made
            found[node.name] = made.name
    if not found:
        return
    _Applied(found).visit(origin.tree)
    origin.forget("classes", "functions", "assigned")
    located(origin.tree)


def _function(node: ast.ClassDef, notes: Notes) -> ast.FunctionDef | None:
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    forward, backward = methods.get("forward"), methods.get("backward")
    if forward is None or len(forward.args.args) < 2:
        return None
    context, first = (a.arg for a in forward.args.args[:2])
    body = [s for s in forward.body if not _keeps(s, context)]
    if any(context in names(s) for s in body):
        return None
    if backward is not None and _passes_on(backward):
        for part in body:
            for inner in walk(part):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    text = f"{first} + (y - {first}).detach()"
                    inner.value = expression(text, y=inner.value)
    elif backward is not None:
        notes.remark(
            backward,
            f"the gradient that `{node.name}` has of its own is left out",
            "here it is that of what is computed: give the function one with `jax.custom_vjp`",
        )
    made = ast.FunctionDef(f"apply_{node.name.lower()}", forward.args, body, [])
    made.args.args = forward.args.args[1:]
    return ast.copy_location(made, node)


def _keeps(node: ast.stmt, context: str) -> bool:
    """Whether a statement does nothing but keep something for the gradient."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))):
            return is_name(owner, context)
        case ast.Assign(targets=[ast.Attribute(value=owner)]):
            return is_name(owner, context)
    return False


def _passes_on(backward: ast.FunctionDef) -> bool:
    """Whether a gradient is what it is given, for the first input."""
    given = backward.args.args[1].arg if len(backward.args.args) > 1 else ""
    match backward.body[-1]:
        case ast.Return(value=ast.expr() as value):
            rest = value.elts[1:] if isinstance(value, ast.Tuple) else []
            first = value.elts[0] if isinstance(value, ast.Tuple) else value
        case _:
            return False
    match first:
        case ast.Call(func=ast.Attribute(value=inner, attr="clone"), args=[]):
            first = inner
    alone = len(backward.body) == 1
    return alone and is_name(first, given) and all(map(is_none, rest))


class _Applied(NodeTransformer):
    """Names the function in the place of `Round.apply`."""

    def __init__(self, found: dict[str, str]):
        self.found = found

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        title = getattr(node.value, "id", "")
        if node.attr == "apply" and title in self.found:
            return ast.copy_location(ast.Name(self.found[title], ast.Load()), node)
        return node
