"""What computes nothing, left out: names that are deleted, annotations, commas; and lists turned around."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_deletions(tree: ast.Module) -> None:
    """Take `del name` out of the functions of a file, in place."""
    for function in walk(tree):
        if isinstance(function, ast.FunctionDef):
            for part in walk(function):
                for field in ("body", "orelse", "finalbody"):
                    body = getattr(part, field, None)
                    if isinstance(body, list) and any(map(_deletes, body)):
                        kept = [s for s in body if not _deletes(s)]
                        if not kept and field == "body":
                            kept.append(ast.copy_location(ast.Pass(), body[0]))
                        setattr(part, field, kept)


def without_annotations(tree: ast.Module) -> None:
    """Write `grid: torch.Tensor = self.grid` of a function without its annotation, in place."""
    for function in walk(tree):
        if isinstance(function, ast.FunctionDef):
            function.body = [_Plain().visit(part) for part in function.body]


class _Plain(NodeTransformer):
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        made = ast.Pass()
        if node.value is not None:
            made = ast.Assign([node.target], node.value)
        return ast.copy_location(made, node)


def without_reversals(tree: ast.Module) -> None:
    """Write `sizes.reverse()` as `sizes = sizes[::-1]`, in place."""
    _Reversals().visit(tree)
    located(tree)


class _Reversals(NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=local), attr="reverse"), args=[]
            ):
                [made] = ast.parse(f"{local} = {local}[::-1]").body
                return ast.copy_location(made, node)
        return node


def without_tuple_statements(tree: ast.Module) -> None:
    """Write `a.append(x), b.append(y)`, `self.a, self.b = a, b` and the like as several statements."""
    for part in walk(tree):
        for field in ("body", "orelse"):
            body = getattr(part, field, None)
            if isinstance(body, list):
                shared = isinstance(part, ast.ClassDef | ast.Module)
                setattr(part, field, [s for b in body for s in _of_tuple(b, shared)])


def _of_tuple(node: ast.stmt, shared: bool) -> list[ast.stmt]:
    match node:
        case ast.Expr(value=ast.Tuple(elts=elements)) if elements:
            return [ast.copy_location(ast.Expr(e), e) for e in elements]
        case ast.Assign(
            targets=[ast.Tuple(elts=places)], value=ast.Tuple(elts=values)
        ) if len(places) == len(values):
            # What a constructor keeps as it is given.
            plain = all(isinstance(v, ast.Name | ast.Constant) for v in values)
            # What all objects of a class, or of a file, share: `LOW, HIGH = -20, 2`.
            numbers = shared and all(literal(v) is not None for v in values)
            if numbers or (plain and all(map(_of_self, places))):
                pairs = zip(places, values, strict=True)
                made = (ast.Assign([place], value) for place, value in pairs)
                return [ast.copy_location(one, node) for one in made]
    return [node]


def _of_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and (
        isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def _deletes(node: ast.stmt) -> bool:
    return isinstance(node, ast.Delete) and all(
        isinstance(target, ast.Name) for target in node.targets
    )
