"""Lists of weights of PyTorch that a loop fills, as the comprehensions that they are.

self.scales = nn.ParameterList()
for i in range(depth):                           becomes   self.scales = nn.ParameterList(
    self.scales.append(nn.Parameter(scale))                    [nn.Parameter(scale) for i in range(depth)])
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

LISTS = ("torch.nn.ParameterList", "torch.nn.ParameterDict")
_WEIGHTS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


def with_parameter_lists(origin: Origin) -> None:
    """Change the constructors of a file in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None:
            continue
        empty: dict[str, ast.Call] = {}
        for part in [*start.body]:
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as call) if (
                    origin.qualified(call.func) == LISTS[0] and _is_empty(call)
                ):
                    empty[self_attribute(target) or ""] = call
                case ast.For(
                    body=[
                        ast.Expr(
                            value=ast.Call(
                                func=ast.Attribute(value=owner, attr="append"),
                                args=[made],
                            )
                        )
                    ],
                    orelse=[],
                ) if (title := self_attribute(owner) or "-") in empty:
                    loop = ast.comprehension(part.target, part.iter, [], 0)
                    empty.pop(title).args = [ast.ListComp(made, [loop])]
                    start.body.remove(part)
        located(start)


def weights_of(origin: Origin, call: ast.Call) -> ast.expr | None:
    """The arrays that such a list or a dictionary begins with; None of anything else."""
    if origin.qualified(call.func) not in LISTS or len(call.args) != 1:
        return None
    return _Bare(origin).visit(call.args[0])


def _is_empty(call: ast.Call) -> bool:
    return not call.args or (
        isinstance(call.args[0], ast.List) and not call.args[0].elts
    )


class _Bare(NodeTransformer):
    """Weights as the arrays that they begin as."""

    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self.origin.qualified(node.func) in _WEIGHTS and len(node.args) == 1:
            trained = [k for k in node.keywords if k.arg == "requires_grad"]
            if all(ast.unparse(k.value) == "True" for k in trained):
                return node.args[0]
        return node
