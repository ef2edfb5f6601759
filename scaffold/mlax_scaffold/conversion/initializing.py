"""Initializers that are given after a weight is declared: `nn.init.normal_(self.weight, std=0.02)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.building import Builder
from mlax_scaffold.conversion.rows import MisfitError
from mlax_scaffold.conversion.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.trees import same, self_attribute

_WEIGHTS = {"weight": "kernel", "bias": "bias"}
_NORMS = ("LayerNorm", "BatchNorm", "GroupNorm", "RMSNorm", "InstanceNorm")


def initialized(builder: Builder, call: ast.Call, condition: ast.expr | None) -> bool:
    """Whether a call gives a weight its initializer."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in IN_PLACE:
        return False
    full = builder.origin.qualified(func)
    given = call
    if not full.startswith("torch.nn.init."):
        # `self.weight.data.uniform_(-a, a)`
        given = ast.copy_location(
            ast.Call(func, [func.value, *call.args], call.keywords), call
        )
    place = given.args[0] if given.args else None
    if isinstance(place, ast.Attribute) and place.attr == "data":
        place = place.value
    attribute, weight = _place(place)
    if condition is not None and attribute is not None:
        known = builder.attributes.get(attribute)
        standing = known.condition if known is not None else None
        if standing is None or not same(standing, condition):
            builder.notes.remark(
                call,
                f"`{ast.unparse(call)}` under a condition is left out",
                "give the weight an initializer, as in `zeros if condition else lecun_normal()`",
            )
            return True
    if attribute is None:
        builder.notes.remark(
            call, f"`{ast.unparse(call)}` is left out", "give the weight an initializer"
        )
        return True
    row = IN_PLACE[func.attr]
    translated = ast.Call(
        func,
        [builder.translator.expression(a) for a in given.args],
        [
            ast.keyword(k.arg, builder.translator.expression(k.value))
            for k in given.keywords
        ],
    )
    try:
        initializer = row.fill(row.bind(translated), builder.calculations)
    except MisfitError as error:
        builder.notes.remark(
            call,
            f"`{ast.unparse(call)}` with {error} is left out",
            "give the weight an initializer",
        )
        return True
    known = builder.attributes.get(attribute)
    kind = _WEIGHTS.get(weight, weight)
    if (
        known is not None
        and known.layer.partition(":")[2] in _NORMS
        and weight == "weight"
    ):
        kind = "scale"
    if known is not None and known.layer == "@layer:Embed":
        kind = "embedding"
    if not builder.give_initializer(attribute, kind, initializer):
        builder.notes.remark(
            call, f"`{ast.unparse(call)}` is left out", "give the weight an initializer"
        )
    return True


def is_filling(call: ast.Call) -> bool:
    """Whether a call fills a weight of a layer: `self.linear.weight.data.zero_()`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in IN_PLACE:
        return False
    return any(self_attribute(part) for part in ast.walk(call))


def _place(node: ast.expr | None) -> tuple[str | None, str]:
    """The attribute, and the weight of it that is a layer's."""
    if node is None:
        return None, ""
    own = self_attribute(node)
    if own is not None:
        return own, ""
    if isinstance(node, ast.Attribute):
        owner = self_attribute(node.value)
        if owner is not None:
            return owner, node.attr
    return None, ""
