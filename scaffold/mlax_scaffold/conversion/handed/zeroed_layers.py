"""Functions of PyTorch that set all weights of a layer to zero and return it: the layer, and what fills it.

def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()                      self.out = nn.Conv2d(8, 8, 3)
    return module                    becomes    nn.init.zeros_(self.out.weight)
...                                             nn.init.zeros_(self.out.bias)
self.out = zero_module(nn.Conv2d(8, 8, 3))

A layer that is kept elsewhere than in an attribute, or in its sequence, begins as usual, which is told.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    self_attribute,
    statement,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_FILLED = ("Linear", "Conv1d", "Conv2d", "Conv3d")


def without_zeroed_layers(origin: Origin, notes: Notes) -> None:
    """Write them so, in place."""
    if not origin.uses("torch"):
        return
    titles = {t for t, f in origin.functions.items() if _zeroes(origin, f)}
    if not titles:
        return
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                method.body = _written(origin, method.body, titles)
    _Calls(titles, notes).visit(origin.tree)
    located(origin.tree)


def _zeroes(origin: Origin, function: ast.FunctionDef) -> bool:
    if len(function.args.args) != 1:
        return False
    given = function.args.args[0].arg
    match without_docstring(function.body):
        case [
            ast.For(
                target=ast.Name(id=weight),
                iter=ast.Call(
                    func=ast.Attribute(value=owner, attr="parameters"), args=[]
                ),
                body=[ast.Expr(value=ast.Call(func=func, args=args))],
            ),
            ast.Return(value=returned),
        ] if is_name(owner, given) and is_name(returned, given):
            pass
        case _:
            return False
    full = origin.qualified(func)
    if full in ("torch.nn.init.zeros_", "torch.nn.init.constant_"):
        return is_name(args[0], weight) and all(literal(a) == 0 for a in args[1:])
    return not args and ast.unparse(func) in (
        f"{weight}.detach().zero_",
        f"{weight}.data.zero_",
    )


def _written(origin: Origin, body: list[ast.stmt], titles: set[str]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for part in body:
        for field in ("body", "orelse"):
            inner = getattr(part, field, None)
            if isinstance(inner, list):
                setattr(part, field, _written(origin, inner, titles))
        made.append(part)
        if not isinstance(part, ast.Assign) or not self_attribute(part.targets[0]):
            continue
        kept = cloned(part.targets[0])
        kept.ctx = ast.Load()  # type: ignore[attr-defined]
        if (layer := _layer(part.value, titles)) is not None:
            part.value = layer
            made += _fills(origin, layer, kept, part)
        elif isinstance(part.value, ast.Call) and (
            origin.qualified(part.value.func) == "torch.nn.Sequential"
        ):
            for i, element in enumerate(part.value.args):
                if (layer := _layer(element, titles)) is not None:
                    part.value.args[i] = layer
                    place = expression(f"s[{i}]", s=kept)
                    made += _fills(origin, layer, place, part)
    return made


def _layer(node: ast.expr, titles: set[str]) -> ast.Call | None:
    """The layer that such a function is given."""
    match node:
        case ast.Call(func=ast.Name(id=title), args=[ast.Call() as layer]):
            return layer if title in titles else None
    return None


def _fills(
    origin: Origin, layer: ast.Call, kept: ast.expr, place: ast.stmt
) -> list[ast.stmt]:
    module = origin.name_of("torch.nn") or f"{origin.name_of('torch')}.nn"
    full = origin.qualified(layer.func)
    if full not in {f"torch.nn.{kind}" for kind in _FILLED}:
        return []
    told = [k.value for k in layer.keywords if k.arg == "bias"]
    weights = ["weight", *(["bias"] if not told or literal(told[0]) is True else [])]
    made = [statement(f"{module}.init.zeros_(k.{w})", k=cloned(kept)) for w in weights]
    for one in made:
        for part in walk(one):
            if isinstance(part, ast.stmt | ast.expr):
                ast.copy_location(part, place)
    return made


class _Calls(NodeTransformer):
    def __init__(self, titles: set[str], notes: Notes):
        self.titles, self.notes = titles, notes

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if getattr(node.func, "id", "") in self.titles and len(node.args) == 1:
            self.notes.remark(
                node,
                f"`{ast.unparse(node.func)}` is left out: the weights begin with other numbers",
                "give the layer initializers of zeros",
            )
            return node.args[0]
        return node
