"""Initializers that are given after a weight is declared: `nn.init.normal_(self.weight, std=0.02)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.declarations.building import Attribute, Builder
from mlax_scaffold.conversion.forms.initial_rules import called
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    marked,
    names,
    replaced,
    same,
    self_attribute,
    targets,
    visited,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_WEIGHTS = {"weight": "kernel", "bias": "bias"}
_NORMS = ("LayerNorm", "BatchNorm", "GroupNorm", "RMSNorm", "InstanceNorm")


def initialized(builder: Builder, call: ast.Call, condition: ast.expr | None) -> bool:
    """Whether a call gives a weight its initializer."""
    func = call.func
    if called(func) not in IN_PLACE:
        return False if builder.framework != "torch" else _changed(builder, call)
    full = builder.origin.qualified(func)
    given = call
    if isinstance(func, ast.Attribute) and not full:
        # `self.weight.data.uniform_(-a, a)`
        given = ast.copy_location(
            ast.Call(func, [func.value, *call.args], call.keywords), call
        )
    place = given.args[0] if given.args else None
    if isinstance(place, ast.Attribute) and place.attr == "data":
        place = place.value
    attribute, weight = _place(place, builder)
    if condition is not None and attribute is not None:
        known = builder.attributes.get(attribute)
        standing = known.condition if known is not None else None
        there = same(condition, expression(f"self.{attribute} is not None"))
        there = standing is not None and (there or same(standing, condition))
        if not there and not _has_bias_then(known, weight, condition):
            builder.notes.remark(
                call,
                f"`{ast.unparse(call)}` under a condition is left out",
                "give the weight an initializer, as in `zeros if condition else lecun_normal()`",
            )
            return True
    if attribute is None:
        _left_out(builder, call, place)
        return True
    row = IN_PLACE[called(func)]
    translated = ast.Call(
        func,
        [_written(builder, a) for a in given.args],
        [ast.keyword(k.arg, _written(builder, k.value)) for k in given.keywords],
    )
    try:
        initializer = row.fill(row.bind(translated), builder.calculations)
    except MisfitError as error:
        builder.notes.remark(
            call,
            f"`{ast.unparse(call)}` {error.said} is left out",
            "give the weight an initializer",
        )
        return True
    known = builder.attributes.get(attribute)
    kind = _kind(known, weight) if known is not None else weight
    if not builder.give_initializer(attribute, kind, initializer):
        _left_out(builder, call, place)
    return True


def _has_bias_then(known: Attribute | None, weight: str, condition: ast.expr) -> bool:
    """Whether a layer has the bias that is filled under the condition alone."""
    call = known.call if known is not None and weight == "bias" else None
    given = {k.arg: k.value for k in call.keywords} if call is not None else {}
    told = given.get("use_bias")
    return told is not None and same(told, condition)


def _left_out(builder: Builder, call: ast.Call, place: ast.expr | None) -> None:
    """Note what fills something that is not told: a weight begins otherwise, all else is another."""
    root = place
    while isinstance(root, ast.Subscript | ast.Attribute) and not self_attribute(root):
        root = root.value
    known = builder.attributes.get(self_attribute(root) or "") if root else None
    local = isinstance(root, ast.Name) and any(
        root.id in targets(part) for part in builder.setup
    )
    if local or (known is not None and known.kind in ("array", "derived")):
        builder.notes.refuse(
            call,
            f"`{ast.unparse(call)}` changes an array in place",
            "compute the array in one expression, of NumPy",
        )
        return
    builder.notes.remark(
        call, f"`{ast.unparse(call)}` is left out", "give the weight an initializer"
    )


def _written(builder: Builder, given: ast.expr) -> ast.expr:
    """An argument, with locals that setup computes, and sizes of weights, written out."""
    known: dict[str, ast.expr] = {}
    for part in builder.setup:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                known[local] = replaced(value, known)
    made = builder.translator.expression(given)
    builder.written |= names(made) & known.keys()
    made = replaced(made, known)
    return visited(_Sizes(builder), made)


class _Sizes(NodeTransformer):
    """Writes the sizes of weights, `self.weight.shape[1]`, as they are declared."""

    def __init__(self, builder: Builder):
        self.builder = builder

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = literal(node.slice)
        shape = node.value
        if isinstance(shape, ast.Attribute) and shape.attr == "shape":
            known = self.builder.attributes.get(self_attribute(shape.value) or "")
            declared = known.call.args[1:2] if known and known.call else []
            if (
                known is not None
                and known.kind in ("weight", "state")
                and declared
                and isinstance(declared[0], ast.Tuple)
                and isinstance(at, int)
                and -len(declared[0].elts) <= at < len(declared[0].elts)
            ):
                return cloned(declared[0].elts[at])
        return node


_SCALES = ("mul_", "div_")


def _changed(builder: Builder, call: ast.Call) -> bool:
    """Whether a call multiplies a weight as it begins: `self.head.weight.data.mul_(0.001)`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in _SCALES:
        return False
    place = func.value
    data = isinstance(place, ast.Attribute) and place.attr == "data"
    attribute, weight = _place(place.value if data else place, builder)  # type: ignore[attr-defined]
    known = builder.attributes.get(attribute or "")
    if known is None or known.call is None or len(call.args) != 1 or call.keywords:
        return False
    kind = _kind(known, weight)
    given = {k.arg: k.value for k in known.call.keywords}
    before = given.get(f"{kind}_initializer")
    if known.layer == "@layer:Linear" and kind == "kernel" and before is None:
        before = marked("word_lecun_normal()")
    elif not known.layer:
        before = known.call.args[0]
    by = builder.translator.expression(call.args[0])
    operator = "*" if func.attr == "mul_" else "/"
    form = f"lambda key, shape, dtype: f(key, shape, dtype) {operator} s"
    done = before is not None and builder.give_initializer(
        str(attribute), kind, expression(form, s=by, f=before)
    )
    if not done:
        builder.notes.remark(
            call, f"`{ast.unparse(call)}` is left out", "give the weight an initializer"
        )
    return True


def _kind(known: Attribute, weight: str) -> str:
    """What a weight of a layer is called here."""
    if known.layer == "@layer:Embed":
        return "embedding"
    if known.layer.partition(":")[2] in _NORMS and weight == "weight":
        return "scale"
    return _WEIGHTS.get(weight, weight)


def is_filling(call: ast.Call) -> bool:
    """Whether a call fills a weight of a layer: `self.linear.weight.data.zero_()`."""
    if called(call.func) not in IN_PLACE:
        return False
    return any(self_attribute(part) for part in walk(call))


def _place(node: ast.expr | None, builder: Builder) -> tuple[str | None, str]:
    """The attribute, and the weight of it that is a layer's."""
    if node is None:
        return None, ""
    own = self_attribute(node)
    if own is not None:
        return own, ""
    if isinstance(node, ast.Attribute):
        owner = self_attribute(_element(node.value, builder))
        if owner is not None:
            return owner, node.attr
    return None, ""


def _element(node: ast.expr, builder: Builder) -> ast.expr:
    """`self.net[-1]` as the layer that this element of a sequence is."""
    if not isinstance(node, ast.Subscript):
        return node
    items = builder.translator.around.items.get(self_attribute(node.value) or "", [])
    at = literal(node.slice)
    if isinstance(at, int) and -len(items) <= at < len(items):
        return items[at]
    return node


def fills_parts(loop: ast.For) -> bool:
    """Whether a loop over layers does nothing but to fill their weights, of kinds that it asks for."""
    asked = ("isinstance", "hasattr", "type")
    calls = [
        part
        for statement in loop.body
        for part in walk(statement)
        if isinstance(part, ast.Call)
    ]
    filling = [c for c in calls if called(c.func) in IN_PLACE]
    inside = {id(p) for c in filling for p in walk(c)}
    rest = [c for c in calls if id(c) not in inside]
    return bool(filling) and all(getattr(c.func, "id", "") in asked for c in rest)
