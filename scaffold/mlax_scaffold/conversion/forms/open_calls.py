"""Calls that take anything and hand it on, `*args, **kwargs`, and names of initializers.

What is converted is given its own inputs alone, so that nothing is handed on; in PyTorch where the file gives
no layer an input by its name.
"""

from __future__ import annotations

import ast
import builtins

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    replaced,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import located, walk


def without_open_calls(origin: Origin) -> None:
    """Leave out, in place, what a method takes beside its inputs where it only hands that on."""
    named: bool | None = None
    for node in origin.classes.values():
        framework = framework_of(origin, node)
        if framework not in ("flax", "nnx", "haiku", "torch"):
            continue
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            if framework != "torch" and method.name == "__call__":
                _closed(method)
            elif framework == "torch" and method.name == "forward":
                if method.args.kwarg is None or method.args.vararg is not None:
                    continue
                named = _names_keywords(origin) if named is None else named
                if not named:
                    _closed(method)


def _names_keywords(origin: Origin) -> bool:
    """Whether some call of the file that may be one of a layer gives an input by its name."""
    methods = {
        m.name
        for c in origin.classes.values()
        for m in c.body
        if isinstance(m, ast.FunctionDef)
    }
    known = {*origin.functions, *origin.classes, *origin.imports, *dir(builtins)}
    for part in walk(origin.tree):
        if not isinstance(part, ast.Call) or all(k.arg is None for k in part.keywords):
            continue
        attribute = self_attribute(part.func)
        if attribute is not None and attribute not in methods:
            return True
        if isinstance(part.func, ast.Name) and part.func.id not in known:
            return True
    return False


def _closed(method: ast.FunctionDef) -> None:
    given = method.args
    titles = {a.arg for a in (given.vararg, given.kwarg) if a is not None}
    handed = 0
    for part in walk(method):
        if isinstance(part, ast.Call):
            handed += sum(_spreads(a, titles) for a in (*part.args, *part.keywords))
    read = sum(isinstance(p, ast.Name) and p.id in titles for p in walk(method))
    if not titles or handed != read:
        return
    given.vararg = given.kwarg = None
    for part in walk(method):
        if isinstance(part, ast.Call):
            part.args = [a for a in part.args if not _spreads(a, titles)]
            part.keywords = [k for k in part.keywords if not _spreads(k, titles)]


def _spreads(node: ast.expr | ast.keyword, titles: set[str]) -> bool:
    """Whether an argument is all of what a method takes beside its inputs."""
    inner = node.value if isinstance(node, ast.Starred | ast.keyword) else None
    whole = not isinstance(node, ast.keyword) or node.arg is None
    return whole and any(is_name(inner, title) for title in titles)


def without_other_names(origin: Origin) -> None:
    """Write names of the file for something of `nn.initializers` as that, in place."""
    bound = [n for part in origin.tree.body for n in targets(part)]
    known: dict[str, ast.expr] = {}
    for part in list(origin.tree.body):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.Attribute() | ast.Call() as value,
            ):
                rule = value.func if isinstance(value, ast.Call) else value
                full = origin.qualified(rule)
                if ".initializers." in full and bound.count(local) == 1:
                    known[local] = value
                    origin.tree.body.remove(part)
    if known:
        origin.tree.body = [_replaced(s, known) for s in origin.tree.body]
        located(origin.tree)


def _replaced(node: ast.stmt, known: dict[str, ast.expr]) -> ast.stmt:
    for part in walk(node):
        for title, value in ast.iter_fields(part):
            if isinstance(value, ast.expr):
                setattr(part, title, _named(value, known))
            elif isinstance(value, list):
                value[:] = [
                    _named(v, known) if isinstance(v, ast.expr) else v for v in value
                ]
    return node


def _named(value: ast.expr, known: dict[str, ast.expr]) -> ast.expr:
    if isinstance(value, ast.Name) and value.id in known:
        return ast.copy_location(replaced(known[value.id], {}), value)
    return value
