"""Classes that are built on another class of the file, with all that they have of it.

class Block2d(Block):
    def __init__(self, dim):                   def __init__(self, dim):
        super().__init__(dim, axes=2)   and        self._start_of_Block(dim, axes=2)

with the constructor of `Block` under that name, so that both can be run as one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

START = "_start_of_"


def flattened(origin: Origin, node: ast.ClassDef, depth: int = 0) -> ast.ClassDef:
    """A class with what it inherits of the file's classes; itself where that is not to be told."""
    own = [b for b in node.bases if isinstance(b, ast.Name) and b.id in origin.classes]
    if len(own) != 1 or depth > 8 or is_name(own[0], node.name):
        return node
    base = flattened(origin, origin.classes[own[0].id], depth + 1)
    made = cloned(node)
    inherited: list[ast.stmt] = []
    known = {t for part in made.body if (t := _title(part))}
    renamed: dict[str, str] = {}
    for part in cloned(base.body):
        title = _title(part)
        if isinstance(part, ast.FunctionDef) and title in known:
            part.name = renamed[title] = _renamed(title, base.name)
        elif title in known or isinstance(part, ast.Expr):
            continue
        inherited.append(part)
    for method in made.body:
        calls = _OfBase(base.name, renamed)
        calls.visit(method)
        if calls.failed:
            return node
    for part in inherited:
        for call in walk(part):
            if isinstance(call, ast.Call) and is_name(call.func, "super"):
                call.args = []
    made.body = [*made.body, *inherited]
    made.bases = [b for b in made.bases if not is_name(b, base.name)]
    made.bases += cloned(base.bases)
    return located(made)


def _title(node: ast.stmt) -> str:
    """What a statement of a class defines."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    return getattr(getattr(target, "target", target), "id", "")


def _renamed(title: str, base: str) -> str:
    return START + base if title == "__init__" else f"_{title.strip('_')}_of_{base}"


class _OfBase(NodeTransformer):
    """Calls of methods of the base, by the names that these have in the class itself."""

    def __init__(self, base: str, renamed: dict[str, str]):
        self.base, self.renamed = base, renamed
        self.failed = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        if not isinstance(func, ast.Attribute) or self_attribute(func):
            return node
        owner = func.value
        by_super = isinstance(owner, ast.Call) and is_name(owner.func, "super")
        by_name = is_name(owner, self.base)
        if not by_super and not by_name:
            return node
        title = self.renamed.get(func.attr)
        if title is None:
            # Of what the base is built on itself, or a method that the class has not.
            self.failed = func.attr != "__init__"
            return node
        if by_name:
            node.args = node.args[1:]
        node.func = ast.copy_location(
            ast.Attribute(ast.Name("self", ast.Load()), title, ast.Load()), func
        )
        return node
