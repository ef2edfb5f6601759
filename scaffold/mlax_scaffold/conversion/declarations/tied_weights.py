"""Weights that two layers share: `self.head.weight = self.embed.weight`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.inner_layers import layer_at
from mlax_scaffold.conversion.declarations.modules import Modules
from mlax_scaffold.conversion.shapes.layer_shapes import arguments
from mlax_scaffold.conversion.source.trees import (
    both,
    expression,
    literal,
    name,
    negated,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned

_TABLES = {"Linear": "self.{}.kernel", "Embed": "self.{}.embedding.T"}
"""What the kernel of a map is, where the layer of that name has it."""


def tied(
    modules: Modules,
    node: ast.stmt,
    target: ast.expr,
    value: ast.expr,
    condition: ast.expr | None,
) -> bool:
    """Whether a statement gives a layer the weight of another one, which it then maps by.

    Such a layer is no layer of its own here: what it computes is written where it is called.
    """
    layers = [_layer(modules, side) for side in (target, value)]
    if any(layer is None for layer in layers):
        return False
    (first, one), (second, other) = [found for found in layers if found is not None]
    if one == "Embed" and other == "Linear":
        first, one, second, other = second, other, first, one
    if one == other and "." in first:
        first, second = second, first
    if first == second or one != "Linear" or "." in first:
        return False
    builder = modules.builder
    known = builder.attributes.pop(first)
    assert known.call is not None
    builder.setup = [s for s in builder.setup if not _declares(s, first)]
    given = arguments("Linear", known.call)
    product = expression(f"x @ {_TABLES[other].format(second)}")
    bias = given.get("use_bias")
    if literal(bias) is not False:
        there = None if literal(bias) is True else cloned(bias)
        place = builder.free(f"{first}_bias")
        builder.declare_weight(
            place,
            name("@word:zeros"),
            ast.Tuple([given["out_features"]], ast.Load()),
            condition=both(condition, there),
        )
        added = expression(f"self.{place}")
        if there is not None:
            added = ast.IfExp(there, added, ast.Constant(0.0))
        product = ast.BinOp(product, ast.Add(), added)
    around = modules.translator.around
    if condition is None:
        parameters = ast.arguments([], [ast.arg("x")], None, [], [], None, [])
        around.attributes[first] = ast.Lambda(parameters, product)
        return True
    builder.declare(first, known.call, negated(condition))
    call = ast.Return(expression(f"self.{first}(x)"))
    test = expression(f"self.{first} is not None")
    modules.method(first, [ast.If(test, [call], []), ast.Return(product)])
    return True


def _layer(modules: Modules, node: ast.expr) -> tuple[str, str] | None:
    """The path and the kind of a layer whose weight an expression is."""
    if not isinstance(node, ast.Attribute) or node.attr != "weight":
        return None
    path, layer = layer_at(modules.builder, node.value) or ("", None)
    return (path, layer.kind) if layer is not None and layer.kind in _TABLES else None


def _declares(node: ast.stmt, attribute: str) -> bool:
    return isinstance(node, ast.Assign) and self_attribute(node.targets[0]) == attribute
