"""Lists of layers that are joined by `+`, as lists that grow."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.trees import self_attribute

_STARTS = ("__init__", "setup")


def without_joined_lists(node: ast.ClassDef) -> None:
    """Write `self.layers = [first] + [other for ...]` one by one, in place.

    What follows knows lists that begin with some elements, and that loops append to.
    """
    for start in node.body:
        if isinstance(start, ast.FunctionDef) and start.name in _STARTS:
            body: list[ast.stmt] = []
            for part in start.body:
                body += _one_by_one(part)
            start.body = body


def _one_by_one(node: ast.stmt) -> list[ast.stmt]:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return [node]
    [target] = node.targets
    attribute = self_attribute(target)
    value, wrap = node.value, None
    if isinstance(value, ast.Call) and len(value.args) == 1:
        # `nn.ModuleList([...] + [...])`, `eqx.nn.Sequential([...] + [...])`
        inner = value.args[0]
        wrap, value = value, inner.value if isinstance(inner, ast.Starred) else inner
    parts = _parts(value)
    if attribute is None or len(parts) < 2 or not all(map(_is_list, parts)):
        return [node]
    if not any(isinstance(c, ast.Call) for p in parts for c in _elements(p)):
        return [node]
    local = f"{attribute}_parts"
    made: list[ast.stmt] = [
        ast.Assign([ast.Name(local, ast.Store())], ast.List([], ast.Load()))
    ]
    for part in parts:
        made += _appended(local, part)
    whole: ast.expr = ast.Name(local, ast.Load())
    if wrap is not None:
        starred = isinstance(wrap.args[0], ast.Starred)
        wrap.args = [ast.Starred(whole, ast.Load()) if starred else whole]
        whole = wrap
    made.append(ast.Assign([target], whole))
    for part in made:
        for inner in ast.walk(part):
            if not hasattr(inner, "lineno"):
                ast.copy_location(inner, node)
        ast.fix_missing_locations(ast.copy_location(part, node))
    return made


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) or (
        isinstance(node, ast.ListComp)
        and len(node.generators) == 1
        and not node.generators[0].ifs
    )


def _elements(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.ListComp):
        return [node.elt]
    return node.elts if isinstance(node, ast.List) else []


def _appended(local: str, part: ast.expr) -> list[ast.stmt]:
    elements: list[ast.stmt] = [
        ast.Expr(
            ast.Call(
                ast.Attribute(ast.Name(local, ast.Load()), "append", ast.Load()),
                [element],
                [],
            )
        )
        for element in _elements(part)
    ]
    if isinstance(part, ast.ListComp):
        [generator] = part.generators
        return [ast.For(generator.target, generator.iter, elements, [])]
    return elements
