"""Weights of PyTorch that are filled where they are made, as weights that are filled afterwards.

self.w = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n, m)))
becomes
self.w = nn.Parameter(torch.empty(n, m))
nn.init.xavier_uniform_(self.w)

So do `torch.empty(n, m).uniform_(-a, a)`, and what a function of the file fills and hands back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.forms.initial_rules import called
from mlax_scaffold.conversion.rows.tables.initializers import IN_PLACE
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    replaced,
    self_attribute,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_EMPTY = ("torch.empty", "torch.zeros", "torch.ones", "torch.rand", "torch.randn")
_TENSORS = ("torch.Tensor", "torch.FloatTensor")


def with_drawn_weights(origin: Origin) -> None:
    """Write the constructors of a file so, in place."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                method.body = [*_block(origin, method.body)]
                located(method)


def _block(origin: Origin, body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in _without_locals(origin, body):
        if isinstance(node, ast.If | ast.With):
            node.body = [*_block(origin, node.body)]
        if isinstance(node, ast.If):
            node.orelse = [*_block(origin, node.orelse)]
        yield node
        for filled in _parted(origin, node):
            yield ast.copy_location(filled, node)


def _without_locals(origin: Origin, body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without locals that are new tensors, are filled, and become one weight."""
    for at, node in enumerate(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=made) if _is_new(
                origin, made
            ):
                rest = body[at + 1 :]
            case _:
                continue
        fills = [s for s in rest if _fills_local(origin, s, local)]
        weights = [s for s in rest if _weight_of(origin, s, local)]
        read = sum(is_name(p, local) for s in body for p in walk(s))
        if not fills or len(weights) != 1 or read != 2 + len(fills):
            continue
        last = rest.index(weights[0])
        if any(rest.index(s) > last for s in fills):
            continue
        weight = weights[0]
        assert isinstance(weight, ast.Assign)
        assert isinstance(weight.value, ast.Call)
        place = cloned(weight.targets[0])
        place.ctx = ast.Load()  # type: ignore[attr-defined]
        weight.value.args[0] = made
        parts: dict[str, ast.expr] = {local: place}
        filled = [ast.copy_location(with_names(s, parts), s) for s in fills]
        kept = [s for s in rest if s not in fills]
        after = kept.index(weight) + 1
        return _without_locals(
            origin, [*body[:at], *kept[:after], *filled, *kept[after:]]
        )
    return body


def _fills_local(origin: Origin, node: ast.stmt, local: str) -> bool:
    match node:
        case ast.Expr(value=ast.Call(args=[first, *_]) as call):
            return is_name(first, local) and _fills(origin, call)
    return False


def _weight_of(origin: Origin, node: ast.stmt, local: str) -> bool:
    match node:
        case ast.Assign(targets=[target], value=ast.Call(func=func, args=[made, *_])):
            weight = origin.qualified(func).endswith(".Parameter")
            return bool(self_attribute(target)) and weight and is_name(made, local)
    return False


def _parted(origin: Origin, node: ast.stmt) -> list[ast.stmt]:
    """What fills the weight of a statement, which makes the weight alone from then on."""
    match node:
        case ast.Assign(
            targets=[ast.Attribute() as target],
            value=ast.Call(func=func, args=[made, *_]) as weight,
        ) if self_attribute(target) and origin.qualified(func).endswith(".Parameter"):
            place = cloned(target)
            place.ctx = ast.Load()
            found = _filled(origin, made, place)
            if found is not None:
                weight.args[0], statements = found
                return statements
    return []


def _filled(
    origin: Origin, made: ast.expr, place: ast.Attribute
) -> tuple[ast.expr, list[ast.stmt]] | None:
    """A new tensor that a call fills, and the statements that fill a weight of its shape instead."""
    match made:
        case ast.Call(func=ast.Attribute(value=tensor, attr=attr)) if attr in IN_PLACE:
            if _is_new(origin, tensor):
                data = ast.Attribute(place, "data", ast.Load())
                method = ast.Attribute(data, attr, ast.Load())
                return tensor, [ast.Expr(ast.Call(method, made.args, made.keywords))]
            if _fills(origin, made) and _is_new(origin, made.args[0]):
                call = cloned(made)
                call.args[0] = place
                return made.args[0], [ast.Expr(call)]
        case ast.Call(func=func, args=[tensor, *_]) if _is_new(origin, tensor):
            if _fills(origin, made):
                call = cloned(made)
                call.args[0] = place
                return tensor, [ast.Expr(call)]
            body = _helper(origin, made)
            if body is not None and isinstance(func, ast.Name):
                argument = origin.functions[func.id].args.args[0].arg
                known: dict[str, ast.expr] = {argument: place}
                return tensor, [*_inlined(body, known)]
    return None


def _fills(origin: Origin, call: ast.Call) -> bool:
    """Whether a call is one of `nn.init` that fills its first argument."""
    full = origin.qualified(call.func)
    return full.startswith("torch.nn.init.") and called(call.func) in IN_PLACE


def _is_new(origin: Origin, node: ast.expr) -> bool:
    """Whether an expression is a new tensor that is filled with one number, or with none."""
    if not isinstance(node, ast.Call):
        return False
    return origin.qualified(node.func) in (*_EMPTY, *_TENSORS)


def _helper(origin: Origin, call: ast.Call) -> list[ast.stmt] | None:
    """The statements of a function of the file that fills its one argument, and returns it."""
    function = origin.functions.get(getattr(call.func, "id", ""))
    if function is None or len(call.args) != 1 or call.keywords:
        return None
    if len(function.args.args) != 1:
        return None
    argument = function.args.args[0].arg
    *body, last = without_docstring(function.body)
    if not (isinstance(last, ast.Return) and is_name(last.value, argument)):
        return None
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name()]):
                continue
            case ast.Expr(value=ast.Call(func=func)) if called(func) in IN_PLACE:
                continue
        return None
    return body


def _inlined(body: list[ast.stmt], known: dict[str, ast.expr]) -> Iterator[ast.stmt]:
    """The statements that fill, with what locals are in the place of them."""
    for part in body:
        if isinstance(part, ast.Assign):
            [target] = part.targets
            assert isinstance(target, ast.Name)
            known = {**known, target.id: replaced(part.value, known)}
        elif isinstance(part, ast.Expr):
            yield ast.Expr(replaced(part.value, known))
