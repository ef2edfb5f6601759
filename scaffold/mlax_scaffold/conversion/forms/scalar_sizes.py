"""Layers of equinox whose input or result is one number, `eqx.nn.MLP(4, "scalar", 32, 2, key=key)`.

They are layers of the size 1 here, and what calls them, by `jax.vmap(self.gate)(x)` too, puts the axis in,
or takes its element.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_PLACES = {
    "equinox.nn.MLP": ("in_size", "out_size"),
    "equinox.nn.Linear": ("in_features", "out_features"),
}


def without_scalar_sizes(origin: Origin) -> None:
    """Write them so, in place, where the layer is only called."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "equinox":
            continue
        for part in walk(node):
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as call) if (
                    attribute := self_attribute(target)
                ):
                    _in(origin, node, attribute, call)
        located(node)


def _in(origin: Origin, node: ast.ClassDef, attribute: str, call: ast.Call) -> None:
    places = _PLACES.get(origin.qualified(call.func))
    if places is None:
        return
    given: dict[str, ast.expr] = dict(zip(places, call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg in places}
    scalar = [p in given and literal(given[p]) == "scalar" for p in places]
    reads = [
        p
        for p in walk(node)
        if self_attribute(p) == attribute and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    called = [
        p.func
        for p in walk(node)
        if isinstance(p, ast.Call) and p.args and _called(origin, p) == attribute
    ]
    if not any(scalar) or len(called) != len(reads):
        return
    one = [given[p] for p, is_ in zip(places, scalar, strict=True) if is_]
    for value in one:
        assert isinstance(value, ast.Constant)
        value.value = 1
    _Called(origin, attribute, scalar[0], scalar[1]).visit(node)


def _called(origin: Origin, call: ast.Call) -> str | None:
    """The attribute that a call calls, mapped over axes or not."""
    func = call.func
    while isinstance(func, ast.Call) and len(func.args) == 1 and not func.keywords:
        if origin.qualified(func.func) not in ("jax.vmap", "equinox.filter_vmap"):
            return None
        func = func.args[0]
    return self_attribute(func)


class _Called(NodeTransformer):
    def __init__(self, origin: Origin, attribute: str, first: bool, last: bool):
        self.origin, self.attribute = origin, attribute
        self.first, self.last = first, last

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if _called(self.origin, node) != self.attribute:
            return node
        if self.first:
            node.args[0] = expression("x[..., None]", x=node.args[0])
        if self.last:
            return ast.copy_location(expression("y[..., 0]", y=node), node)
        return node
