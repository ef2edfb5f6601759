"""Lists of PyTorch whose layers are all the same and have no weights: each is made where it is called.

self.flattens = nn.ModuleList()
for i in range(n):
    self.flattens.append(nn.Flatten(start_dim=-2))
self.flattens[i](x)                        becomes    nn.Flatten(start_dim=-2)(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.lists.run_calls import MODULE_LISTS
from mlax_scaffold.conversion.lists.run_leftovers import is_activation
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_MORE = ("torch.nn.Flatten",)


def without_weightless_lists(origin: Origin) -> None:
    """Write classes without them, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        begun = {
            title
            for p in walk(start)
            if isinstance(p, ast.Assign)
            and isinstance(p.value, ast.Call)
            and origin.qualified(p.value.func) in MODULE_LISTS
            and not p.value.args
            and (title := self_attribute(p.targets[0]))
        }
        for title in begun:
            _write(origin, node, start, title)
    located(origin.tree)


def _write(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, title: str
) -> None:
    statements = [
        p
        for p in walk(start)
        if isinstance(p, ast.Assign) and self_attribute(p.targets[0]) == title
    ]
    grown = [p for p in walk(start) if _appended(p, title) is not None]
    calls = [
        p
        for p in walk(node)
        if isinstance(p, ast.Call)
        and isinstance(p.func, ast.Subscript)
        and self_attribute(p.func.value) == title
    ]
    made = {ast.unparse(v): v for p in grown if (v := _appended(p, title)) is not None}
    read = sum(self_attribute(p) == title for p in walk(node))
    told = len(statements) + len(grown) + len(calls)
    if len(made) != 1 or len(statements) != 1 or read != told:
        return
    [layer] = made.values()
    assert isinstance(layer, ast.Call)
    given = [*layer.args, *(k.value for k in layer.keywords)]
    plain = all(not isinstance(literal(a), ast.AST) for a in given)
    full = origin.qualified(layer.func)
    if not plain or not (full in _MORE or is_activation(origin, layer)):
        return
    for call in calls:
        call.func = ast.copy_location(cloned(layer), call.func)
    _Gone([*statements, *grown]).visit(start)


def _appended(node: ast.AST, title: str) -> ast.expr | None:
    """The layer that a statement appends to such a list."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=owner, attr="append"),
                args=[ast.Call() as made],
            )
        ):
            return made if self_attribute(owner) == title else None
    return None


class _Gone(NodeTransformer):
    def __init__(self, gone: list[ast.AST]):
        self.gone = {id(g) for g in gone}

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if id(node) in self.gone else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if id(node) in self.gone else node
