"""Layers that classes of a file are made of, and their weights: `self.encoder.embed.weight`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.shapes.layer_shapes import FIELDS, arguments
from mlax_scaffold.conversion.shapes.values import Array
from mlax_scaffold.conversion.source.interfaces import InnerLayer, Interface
from mlax_scaffold.conversion.source.trees import (
    expression,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_LAYER, _OWN = "@layer:", "@own:"
_SIDES = {
    ("Linear", "kernel"): ("in_features", "out_features"),
    ("Embed", "embedding"): ("entries", "features"),
}
"""The fields that tell the sides of a weight."""


def inner_layers(builder: Builder, fields: Iterable[Field]) -> dict[str, InnerLayer]:
    """The layers that a class always has, and those of its parts, by their paths: `encoder.embed`.

    Args:
        builder: the class.
        fields: its fields.
    """
    own = {f.name: f.default for f in fields}
    found = _layers(builder.attributes, builder.own)
    return {path: InnerLayer(kind, call, own) for path, kind, call in found}


def layer_at(builder: Builder, node: ast.expr) -> tuple[str, InnerLayer] | None:
    """The path and the layer that an expression is: `self.embed`, `self.encoder.embed`."""
    path = ".".join(_steps(node))
    known = builder.attributes.get(path)
    if known is not None and known.layer.startswith(_LAYER) and known.call is not None:
        return path, InnerLayer(known.layer.removeprefix(_LAYER), known.call)
    if "." not in path:
        return None
    for found, kind, call in _layers(builder.attributes, builder.own):
        # What a part has in a dictionary has a name of several words here.
        if found.replace(".", "_") == path.replace(".", "_"):
            return found, InnerLayer(kind, call)
    return None


def weight_of_layer(builder: Builder, node: ast.Attribute) -> ast.expr | None:
    """A weight of a layer by its name here, or a size that it was declared with."""
    found = layer_at(builder, node.value)
    if found is None:
        return None
    path, layer = found
    if node.attr == "weight":
        if layer.kind == "Linear":
            return expression(f"self.{path}.kernel.T")
        title = "embedding" if layer.kind == "Embed" else "scale"
        title = "kernel" if layer.kind.startswith("Conv") else title
        return expression(f"self.{path}.{title}")
    if layer.call is None:
        return None
    return arguments(layer.kind, layer.call).get(FIELDS.get(node.attr, node.attr))


def shape_of_weight(builder: Builder, node: ast.Attribute) -> Array | None:
    """The table of an embedding, or the kernel of a map, by its name here."""
    if node.attr == "T" and isinstance(node.value, ast.Attribute):
        turned = shape_of_weight(builder, node.value)
        return None if turned is None else Array(turned.axes[::-1], False)
    _, layer = layer_at(builder, node.value) or ("", None)
    sides = _SIDES.get((layer.kind, node.attr)) if layer is not None else None
    if layer is None or layer.call is None or sides is None:
        return None
    given = arguments(layer.kind, layer.call)
    return Array([given[side] for side in sides], False)


def _layers(
    attributes: Mapping[str, Attribute], classes: Mapping[str, Interface]
) -> Iterator[tuple[str, str, ast.Call | None]]:
    for place, known in attributes.items():
        if known.kind != "layer" or known.condition is not None or known.call is None:
            continue
        if known.layer.startswith(_LAYER):
            yield place, known.layer.removeprefix(_LAYER), known.call
        interface = classes.get(known.layer.removeprefix(_OWN))
        if interface is None or not known.layer.startswith(_OWN):
            continue
        given = dict(zip(interface.order, known.call.args, strict=False))
        given |= {str(k.arg): k.value for k in known.call.keywords}
        for path, inner in interface.layers.items():
            yield f"{place}.{path}", inner.kind, _declared(inner, given)


def _declared(inner: InnerLayer, given: Mapping[str, ast.expr]) -> ast.Call | None:
    """How a layer of a part is declared, by what the part is given; None where it does not tell."""
    if inner.call is None:
        return None
    told = {**inner.defaults, **given}
    parts: dict[str, ast.expr] = {}
    for part in walk(inner.call):
        field = self_attribute(part)
        if field is not None:
            if (value := told.get(field)) is None:
                return None
            parts[field] = value
        elif isinstance(part, ast.Name) and part.id != "self" and "@" not in part.id:
            # Locals of a part have no meaning outside of it.
            return None
    return _Told(parts).visit(cloned(inner.call))


class _Told(NodeTransformer):
    def __init__(self, parts: Mapping[str, ast.expr]):
        self.parts = parts

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        field = self_attribute(node)
        return node if field is None else cloned(self.parts[field])


def _steps(node: ast.expr) -> list[str]:
    """The names on the way from self to a part; empty for another expression."""
    steps: list[str] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=owner, attr=title):
                steps.append(title)
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(title))):
                steps.append(title)
            case _:
                return []
        node = owner
    return steps[::-1] if node.id == "self" else []
