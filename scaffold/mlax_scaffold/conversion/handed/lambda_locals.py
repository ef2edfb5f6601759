"""Locals of a constructor that a function reads which a layer is made with: attributes, for methods."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_lambda_locals(origin: Origin, node: ast.ClassDef) -> None:
    """Write them as such in a class of PyTorch, in place."""
    start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), None)
    if "torch.nn" not in origin.imports.values() or not isinstance(
        start, ast.FunctionDef
    ):
        return
    given = {a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)}
    kept = {
        s.value.id: str(self_attribute(s.targets[0]))
        for s in start.body
        if isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Name)
        and self_attribute(s.targets[0])
    }
    taken = {a for p in walk(node) if (a := self_attribute(p))}
    bound: dict[str, int] = {}
    for part in start.body:
        for title in targets(part):
            bound[title] = bound.get(title, 0) + 1
    body: list[ast.stmt] = []
    known: set[str] = set(given)
    for part in start.body:
        free = {
            n
            for made in walk(part)
            if isinstance(made, ast.Lambda)
            for n in names(made.body) - {a.arg for a in made.args.args}
            if n in known and bound.get(n, 0) <= 1
        }
        if isinstance(part, ast.Assign) and self_attribute(part.targets[0]) and free:
            for title in sorted(free):
                if title not in kept and title not in taken:
                    target = ast.Attribute(
                        ast.Name("self", ast.Load()), title, ast.Store()
                    )
                    made = ast.Assign([target], ast.Name(title, ast.Load()))
                    body.append(ast.copy_location(made, part))
                    kept[title] = title
            _Reads({n: kept[n] for n in free if n in kept}).visit(part)
        body.append(part)
        known |= {*targets(part)}
    start.body = body
    located(node)


class _Reads(NodeTransformer):
    def __init__(self, kept: dict[str, str]):
        self.kept = kept
        self.inside = 0

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.inside += 1
        node.body = self.visit(node.body)
        self.inside -= 1
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self.inside and node.id in self.kept and is_name(node, node.id):
            made = ast.Attribute(
                ast.Name("self", ast.Load()), self.kept[node.id], ast.Load()
            )
            return ast.copy_location(made, node)
        return node
