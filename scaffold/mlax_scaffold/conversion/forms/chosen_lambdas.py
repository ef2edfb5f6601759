"""Functions that branches choose and that make layers where they are called, as branches there.

if norm == "layer":                                     if norm == "layer":
    normalize = lambda x: nn.LayerNorm()(x)                 x = nn.LayerNorm()(x)
else:                                       becomes     else:
    normalize = lambda x: x                                 x = x
x = normalize(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.leaf_functions import called
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_chosen_lambdas(origin: Origin) -> None:
    """Write them so, in place, where each call is a statement of its own."""
    if not origin.uses("flax"):
        return
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                for part in list(method.body):
                    local = _chosen(part) if isinstance(part, ast.If) else ""
                    if local and isinstance(part, ast.If):
                        _write(method, part, local)
    located(origin.tree)


def _chosen(node: ast.If) -> str:
    """The local that is a lambda in all branches; "" where they do anything else."""
    found = set()
    for body in (node.body, node.orelse):
        match body:
            case [ast.Assign(targets=[ast.Name(id=local)], value=ast.Lambda())]:
                found.add(local)
            case [ast.If() as inner]:
                found.add(_chosen(inner))
            case _:
                return ""
    return found.pop() if len(found) == 1 else ""


def _write(method: ast.FunctionDef, choice: ast.If, local: str) -> None:
    body: list[ast.stmt] = []
    for part in method.body:
        match part:
            case ast.Assign(value=ast.Call(func=func)) if is_name(func, local):
                body.append(_applied(choice, part))
            case _ if part is not choice:
                body.append(part)
    left = any(is_name(p, local) for s in body for p in walk(s))
    if not left:
        method.body = body


def _applied(choice: ast.If, node: ast.Assign) -> ast.stmt:
    """The statement in each branch, with what the function is there."""
    made = cloned(choice)
    for branch in ("body", "orelse"):
        [part] = getattr(made, branch)
        if isinstance(part, ast.If):
            setattr(made, branch, [_applied(part, node)])
            continue
        one = cloned(node)
        assert isinstance(one.value, ast.Call)
        one.value = called(ast.Call(part.value, one.value.args, one.value.keywords))
        setattr(made, branch, [one])
    for part in walk(made):
        if isinstance(part, ast.expr | ast.stmt):
            ast.copy_location(part, node)
    return made
