"""Dictionaries of layers as attributes: `self.heads["a"]` is `self.heads_a`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_CLASSES = ("torch.nn.ModuleDict", "torch.nn.ParameterDict", "flax.nnx.Dict")


def without_dictionaries(
    origin: Origin, node: ast.ClassDef, notes: Notes
) -> ast.ClassDef:
    """The class with an attribute for each layer of its dictionaries."""
    found = {
        attribute: layers
        for part in walk(node)
        if isinstance(part, ast.Assign) and len(part.targets) == 1
        if (attribute := self_attribute(part.targets[0]))
        if (layers := _layers(origin, part.value)) is not None
    }
    if not found:
        return node
    made = _Attributes(found).visit(cloned(node))
    for part in walk(made):
        attribute = self_attribute(part) if isinstance(part, ast.Attribute) else None
        if attribute in found:
            notes.refuse(
                part,
                f"`self.{attribute}`, a dictionary of layers, is used by more than the names in it",
                f'ask for each by its name, as in `self.{attribute}["{next(iter(found[attribute]))}"]`',
            )
    return located(made)


def _layers(origin: Origin, value: ast.expr) -> dict[str, ast.expr] | None:
    """The layers of a dictionary by their names; None for anything else."""
    if not isinstance(value, ast.Call) or origin.qualified(value.func) not in _CLASSES:
        return None
    if not value.args and value.keywords:
        return {str(k.arg): k.value for k in value.keywords}
    if len(value.args) != 1:
        return None
    inner = value.args[0]
    pairs: list[tuple[ast.expr | None, ast.expr]] = []
    match inner:
        case ast.Dict():
            pairs = list(zip(inner.keys, inner.values, strict=True))
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            pairs = [(ast.Constant(k.arg), k.value) for k in inner.keywords]
        case ast.List() | ast.Tuple():
            pairs = [
                (e.elts[0], e.elts[1])
                for e in inner.elts
                if isinstance(e, ast.List | ast.Tuple) and len(e.elts) == 2
            ]
    layers = {
        name: layer
        for key, layer in pairs
        if isinstance(name := literal(key), str) and f"a{name}".isidentifier()
    }
    return layers if layers and len(layers) == len(pairs) else None


class _Attributes(NodeTransformer):
    """Declares the layers one by one, and names each where it is asked for."""

    def __init__(self, found: dict[str, dict[str, ast.expr]]):
        self.found = found

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        attribute = self_attribute(node.targets[0])
        if attribute not in self.found:
            return self.generic_visit(node)
        return [
            ast.copy_location(
                ast.Assign([_attribute(f"{attribute}_{name}", ast.Store())], layer),
                layer,
            )
            for name, layer in self.found[attribute].items()
        ]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        attribute = self_attribute(node.value)
        if attribute in self.found and node.attr in self.found[attribute]:
            made = _attribute(f"{attribute}_{node.attr}", node.ctx)
            return ast.copy_location(made, node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        attribute, name = self_attribute(node.value), literal(node.slice)
        if attribute in self.found and name in self.found[attribute]:
            made = _attribute(f"{attribute}_{name}", ast.Load())
            return ast.copy_location(made, node)
        return self.generic_visit(node)


def _attribute(attribute: str, context: ast.expr_context) -> ast.Attribute:
    return ast.Attribute(ast.Name("self", ast.Load()), attribute, context)
