"""Pools of PyTorch that keep an axis as it is, as what they compute of the others.

self.pool_h = nn.AdaptiveAvgPool2d((None, 1))
y = self.pool_h(x)                            becomes    y = x.mean(dim=3, keepdim=True)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    literal,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_POOLS = {
    f"torch.nn.Adaptive{kind}Pool{n}d": (reduction, n)
    for kind, reduction in (("Avg", "mean"), ("Max", "amax"))
    for n in (2, 3)
}


def without_open_pools(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        found: dict[str, str] = {}
        for part in list(start.body):
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as value):
                    text = _computed(origin, value)
                    attribute = self_attribute(target)
                    if attribute and text:
                        found[attribute] = text
                        start.body.remove(part)
        if found:
            _Calls(found).visit(node)
    located(origin.tree)


def _computed(origin: Origin, call: ast.Call) -> str:
    """What a pool computes of an array x; "" of one that keeps no axis, or has sizes to compute."""
    reduction, count = _POOLS.get(origin.qualified(call.func), ("", 0))
    sizes = call.args[0] if call.args else None
    if not reduction or len(call.args) != 1 or call.keywords:
        return ""
    if not isinstance(sizes, ast.Tuple | ast.List) or len(sizes.elts) != count:
        return ""
    kept = [i for i, s in enumerate(sizes.elts) if is_none(s)]
    ones = [i for i, s in enumerate(sizes.elts) if literal(s) == 1]
    if not kept or not ones or len(kept) + len(ones) != count:
        return ""
    axes = [i - count for i in ones]
    dim = str(axes[0]) if len(axes) == 1 else str(axes)
    return f"(x).{reduction}(dim={dim}, keepdim=True)"


class _Calls(NodeTransformer):
    def __init__(self, found: dict[str, str]):
        self.found = found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        text = self.found.get(self_attribute(node.func) or "")
        if text is None or len(node.args) != 1:
            return node
        made = expression(text, x=node.args[0])
        for part in walk(made):
            if isinstance(part, ast.expr) and not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return ast.copy_location(made, node)
