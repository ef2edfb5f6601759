"""Classes of PyTorch that are called as attributes are, `self.moving_avg = moving_avg(3)`: `MovingAvg`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk


def with_class_titles(origin: Origin, thing: str) -> None:
    """Give such classes other names in place; the one that is converted has the name that it is given."""
    if not origin.uses("torch"):
        return
    attributes = {a for p in walk(origin.tree) if (a := self_attribute(p))}
    taken = {*origin.classes, *origin.functions, *origin.imports, *origin.assigned}
    renamed: dict[str, str] = {}
    for title, node in origin.classes.items():
        if title not in attributes or title == thing:
            continue
        if not is_layer_class(origin, node):
            continue
        made = "".join(p[:1].upper() + p[1:] for p in title.split("_"))
        while made in taken or made == title:
            made += "Layer"
        taken.add(made)
        renamed[title] = made
    if not renamed:
        return
    _Renamed(renamed).visit(origin.tree)
    origin.forget("classes")


class _Renamed(NodeTransformer):
    """Gives classes other names, but where a function has a parameter or a local of that name."""

    def __init__(self, renamed: dict[str, str]):
        self.renamed = renamed

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.renamed.get(node.id, node.id)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self.renamed.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.visit(node.args)
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        own = {a.arg for a in walk(node.args) if isinstance(a, ast.arg)}
        own |= {name for part in node.body for name in stored_names(part)}
        outer = self.renamed
        self.renamed = {k: v for k, v in outer.items() if k not in own}
        node.body = [self.visit(part) for part in node.body]
        self.renamed = outer
        return node
