"""Numbers that classes of a file hold, read by the class: `Bottleneck.expansion`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.trees import literal
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def without_class_constants(tree: ast.Module) -> None:
    """Write them where they are read, in place; what is read by the class of an object is the object's."""
    stored = {
        part.attr
        for part in walk(tree)
        if isinstance(part, ast.Attribute)
        if _of_class(part.value) and not isinstance(part.ctx, ast.Load)
    }
    _Own(stored).visit(tree)
    known = {
        (node.name, place): value
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for place, value in constants_of(node).items()
    }
    changed = {place for part in walk(tree) if (place := _changed(part))}
    known = {place: value for place, value in known.items() if place not in changed}
    if known:
        _Reads(known).visit(tree)
        _in_defaults(tree, known)


def _in_defaults(tree: ast.Module, known: Mapping[tuple[str, str], ast.expr]) -> None:
    """Write them in the defaults of the methods of their class, which read them by their names."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        names = _Names({p: v for (title, p), v in known.items() if title == node.name})
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                given = method.args
                given.defaults = [names.visit(d) for d in given.defaults]
                given.kw_defaults = [d and names.visit(d) for d in given.kw_defaults]


class _Names(NodeTransformer):
    def __init__(self, known: Mapping[str, ast.expr]):
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.known.get(node.id)
        return ast.copy_location(cloned(value), node) if value else node


def _changed(node: ast.AST) -> tuple[str, str] | None:
    """A number of a class that some line sets anew, `Layer.count += 1`, which is not always the first one."""
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=place, ctx=ast.Store()):
            return owner, place
    return None


def constants_of(node: ast.ClassDef) -> dict[str, ast.expr]:
    """The numbers, texts and truths that a class holds."""
    found: dict[str, ast.expr] = {}
    for part in node.body:
        match part:
            case (
                ast.Assign(targets=[ast.Name(id=place)], value=value)
                | ast.AnnAssign(target=ast.Name(id=place), value=ast.expr() as value)
            ):
                if isinstance(literal(value), bool | int | float | str):
                    found[place] = value
    return found


def _of_class(node: ast.expr) -> bool:
    return ast.unparse(node) in ("type(self)", "self.__class__")


class _Own(NodeTransformer):
    """Reads `type(self).scale` as `self.scale`, unless some line sets it for all objects."""

    def __init__(self, stored: set[str]):
        self.stored = stored

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        of_class = _of_class(node.value) and not node.attr.startswith("__")
        if of_class and node.attr not in self.stored:
            node.value = ast.copy_location(ast.Name("self", ast.Load()), node.value)
        return node


class _Reads(NodeTransformer):
    def __init__(self, known: Mapping[tuple[str, str], ast.expr]):
        self.known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        value = self.known.get((owner, node.attr))
        if value is None or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(cloned(value), node)
