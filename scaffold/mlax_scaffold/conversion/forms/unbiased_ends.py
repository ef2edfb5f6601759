"""`eqx.nn.MLP(..., use_final_bias=False)`, whose last map has no bias, as the layers that it is made of."""

from __future__ import annotations

import ast
import itertools

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal, same
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_MLP = "equinox.nn.MLP"
_PLACES = (
    "in_size",
    "out_size",
    "width_size",
    "depth",
    "activation",
    "final_activation",
)
_DEEPEST = 8


def without_unbiased_ends(origin: Origin) -> None:
    """Write those so, in place, whose number of layers is told."""
    if origin.uses("equinox"):
        _Layers(origin).visit(origin.tree)
        located(origin.tree)


class _Layers(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.origin.qualified(node.func) != _MLP:
            return node
        given = dict(zip(_PLACES, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        bias = given.get("use_bias", ast.Constant(True))
        end = given.get("use_final_bias", ast.Constant(True))
        depth = literal(given.get("depth"))
        if same(bias, end) or not isinstance(depth, int) or not 0 <= depth <= _DEEPEST:
            return node
        if not {"in_size", "out_size", "width_size", "key"} <= given.keys():
            return node
        module = ast.unparse(node.func).rpartition(".")[0]
        act = given.get("activation") or expression("jax.nn.relu")
        sizes = [given["in_size"], *[given["width_size"]] * depth, given["out_size"]]
        layers: list[ast.expr] = []
        for place, pair in enumerate(itertools.pairwise(sizes)):
            parts = dict(zip("ab", pair, strict=True)) | {"k": given["key"]}
            last = place == depth
            parts["u"] = end if last else bias
            text = f"{module}.Linear(a, b, use_bias=u, key=k)"
            layers.append(expression(text, **parts))
            follows = given.get("final_activation") if last else act
            if follows is not None:
                layers.append(expression(f"{module}.Lambda(f)", f=follows))
        listed = ast.List(layers, ast.Load())
        return ast.copy_location(expression(f"{module}.Sequential(x)", x=listed), node)
