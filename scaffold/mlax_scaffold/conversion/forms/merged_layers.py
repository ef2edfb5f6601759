"""One layer that both branches of a condition make of the same sizes, as one that the condition begins anew.

if last:
    x = nn.Dense(size, kernel_init=small)(x)    becomes
else:
    x = nn.Dense(size, kernel_init=wide)(x)

x = nn.Dense(size, kernel_init=small if last else wide)(x)

Only one of them is ever there, under one name among the weights.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import same
from mlax_scaffold.conversion.source.walking import NodeTransformer, located


def with_merged_layers(origin: Origin) -> None:
    """Write them so in place, in classes of linen and haiku, which make layers where they call them."""
    for node in origin.classes.values():
        if framework_of(origin, node) in ("flax", "haiku"):
            _Merged().visit(node)


class _Merged(NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        match node:
            case ast.If(
                body=[ast.Assign(targets=[one], value=ast.Call() as first)],
                orelse=[ast.Assign(targets=[other], value=ast.Call() as second)],
            ) if same(one, other):
                value = _merged(node.test, first, second)
                if value is not None:
                    made = ast.copy_location(ast.Assign([one], value), node)
                    return located(made)
        return node


def _merged(test: ast.expr, one: ast.Call, other: ast.Call) -> ast.Call | None:
    """The call of one layer; None where the two differ in more than how their weights begin."""
    first, second = one.func, other.func
    if not isinstance(first, ast.Call) or not isinstance(second, ast.Call):
        return None
    if not _alike([*one.args, *one.keywords], [*other.args, *other.keywords]):
        return None
    if not same(first.func, second.func) or not _alike(first.args, second.args):
        return None
    given = {k.arg: k.value for k in first.keywords}
    rest = {k.arg: k.value for k in second.keywords}
    if None in given or given.keys() != rest.keys():
        return None
    keywords: list[ast.keyword] = []
    for title, value in given.items():
        if same(value, rest[title]):
            keywords.append(ast.keyword(title, value))
        elif str(title).endswith("init"):
            chosen = ast.IfExp(test, value, rest[title])
            keywords.append(ast.keyword(title, chosen))
        else:
            return None
    layer = ast.copy_location(ast.Call(first.func, first.args, keywords), first)
    return ast.copy_location(ast.Call(layer, one.args, one.keywords), one)


def _alike(some: list, others: list) -> bool:
    return len(some) == len(others) and all(
        same(a, b) for a, b in zip(some, others, strict=True)
    )
