"""Tensors that are made of sizes by their type, as those that `torch.empty` makes.

torch.FloatTensor(out, features)    becomes    torch.empty(out, features)
torch.FloatTensor(out)              becomes    torch.empty(out)

What is given alone may be the numbers themselves: it is a size where another tensor, or a layer, of the
class has it as one. Sizes of another tensor that stand before others, `torch.zeros(*x.size()[:2], 1)`, are
read one by one.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import expression, literal
from mlax_scaffold.conversion.source.walking import located, walk

_TYPES = ("torch.FloatTensor", "torch.Tensor", "torch.cuda.FloatTensor")


def without_sized_tensors(origin: Origin) -> None:
    """Write them so, in place."""
    torch = origin.name_of("torch")
    if not torch:
        return
    for node in origin.classes.values():
        made = [
            p
            for p in walk(node)
            if isinstance(p, ast.Call)
            and origin.qualified(p.func) in _TYPES
            and p.args
            and not any(isinstance(a, ast.Starred) for a in p.args)
        ]
        several = [p for p in made if len(p.args) > 1]
        sizes = {ast.unparse(a) for p in several for a in p.args}
        sizes |= {a for p in walk(node) for a in _sizes(origin, p)}
        for call in made:
            alone = call.args[0]
            counted = type(literal(alone)) is int or ast.unparse(alone) in sizes
            if call in several or counted:
                call.func = ast.copy_location(expression(f"{torch}.empty"), call.func)
    for call in walk(origin.tree):
        if isinstance(call, ast.Call) and origin.qualified(call.func) in _MAKES:
            _one_by_one(call.args)
            for part in (*call.args, *(k.value for k in call.keywords)):
                if isinstance(part, ast.Tuple | ast.List):
                    _one_by_one(part.elts)
    located(origin.tree)


def _one_by_one(sizes: list[ast.expr]) -> None:
    if len(sizes) < 2:
        return
    made: list[ast.expr] = []
    for part in sizes:
        match part:
            case ast.Starred(
                value=ast.Subscript(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name() as x, attr="size")
                    )
                    | ast.Attribute(value=ast.Name() as x, attr="shape"),
                    slice=ast.Slice(
                        lower=None, upper=ast.Constant(value=int() as count), step=None
                    ),
                )
            ) if 0 < count < 5:
                made += [expression(f"{x.id}.shape[{i}]") for i in range(count)]
            case _:
                made.append(part)
    sizes[:] = made


_MAKES = ("torch.zeros", "torch.ones", "torch.empty", "torch.randn", "torch.rand")
_LAYERS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM", "GRU")


def _sizes(origin: Origin, node: ast.AST) -> list[str]:
    """What a call of a tensor or of a layer takes as sizes."""
    if not isinstance(node, ast.Call):
        return []
    full = origin.qualified(node.func) or ""
    if full in _MAKES and len(node.args) > 1:
        return [ast.unparse(a) for a in node.args]
    of_layer = full.startswith("torch.nn.") and full.rpartition(".")[2] in _LAYERS
    return [ast.unparse(a) for a in node.args[:2]] if of_layer else []
