"""Classes of a file that are always given the same maker of layers: `Mlp(dim, act_layer=nn.SiLU)`.

It is written into the class, in place of the parameter's default; a lambda, where the parameter is called.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def with_unanimous_layers(origin: Origin, thing: str, layers: Collection[str]) -> None:
    """Change classes in place; the one that is converted may be given anything."""
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if not isinstance(start, ast.FunctionDef) or node.name == thing:
            continue
        given = start.args
        pairs = zip(reversed(given.args), reversed(given.defaults), strict=False)
        for argument, default in [*pairs]:
            if origin.qualified(default) in layers:
                _unanimous(origin, node, start, argument, default)


def _unanimous(
    origin: Origin,
    node: ast.ClassDef,
    start: ast.FunctionDef,
    argument: ast.arg,
    default: ast.expr,
) -> None:
    place = [a.arg for a in start.args.args].index(argument.arg) - 1
    calls: list[tuple[ast.Call, ast.expr]] = []
    for owner in origin.classes.values():
        known = _lambdas(origin, owner)
        for call in walk(owner):
            if not isinstance(call, ast.Call) or not is_name(call.func, node.name):
                continue
            if len(call.args) > place or any(k.arg is None for k in call.keywords):
                return
            value = next(
                (k.value for k in call.keywords if k.arg == argument.arg), None
            )
            if value is None:
                return
            if isinstance(value, ast.Name) and value.id in known:
                value = known[value.id]
            calls.append((call, value))
    texts = {ast.unparse(value) for _, value in calls}
    if len(texts) != 1 or texts == {ast.unparse(default)}:
        return
    made = calls[0][1]
    if isinstance(made, ast.Lambda):
        if made.args.args:
            return
        _Called(argument.arg, made.body).visit(start)
    elif origin.qualified(made):
        at = start.args.args.index(argument) - len(start.args.args)
        start.args.defaults[at] = cloned(made)
    else:
        return
    for call, _ in calls:
        call.keywords = [k for k in call.keywords if k.arg != argument.arg]


def _lambdas(origin: Origin, owner: ast.ClassDef) -> dict[str, ast.expr]:
    """Locals that are lambdas of nothing but imports."""
    found: dict[str, ast.expr] = {}
    for part in walk(owner):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Lambda() as value):
                if names(value.body) <= set(origin.imports):
                    found[local] = value
    return found


class _Called(NodeTransformer):
    def __init__(self, parameter: str, body: ast.expr):
        self.parameter, self.body = parameter, body

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if is_name(node.func, self.parameter) and not node.args:
            return ast.copy_location(cloned(self.body), node)
        return node
