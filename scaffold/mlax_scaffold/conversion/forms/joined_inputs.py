"""Layers of PyTorch that are given a list and join it: what calls them joins it, as in DenseNet.

y = layer(features)                      y = layer(torch.cat(features, 1))
                            becomes
    y = torch.cat(inputs, 1)                 y = inputs
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    replaced,
    same,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_JOINS = ("torch.cat", "torch.concat", "torch.concatenate")


def without_joined_inputs(origin: Origin, thing: str) -> None:
    """Change such classes and what calls them, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch" or node.name == thing:
            continue
        forward = _method(node, "forward")
        if forward is None or len(forward.args.args) != 2:
            continue
        given = forward.args.args[1].arg
        calls = _calls(origin, node.name)
        if not calls or not all(_lists(method, call) for method, call in calls):
            continue
        made = cloned(forward)
        body = _as_list(origin, without_docstring(made.body), given)
        made.body = _as_input(body, given)
        join = _join(origin, made, given)
        if join is None:
            continue
        forward.body = made.body
        _Joined(join).visit(forward)
        for _, call in calls:
            joined = replaced(join, {given: call.args[0]})
            call.args = [ast.copy_location(joined, call.args[0])]
        located(origin.tree)


def _method(node: ast.ClassDef, title: str) -> ast.FunctionDef | None:
    found = (m for m in node.body if isinstance(m, ast.FunctionDef))
    return next((m for m in found if m.name == title), None)


def _as_list(origin: Origin, body: list[ast.stmt], given: str) -> list[ast.stmt]:
    """The statements, where the input is no tensor; another name for it is it."""
    made: list[ast.stmt] = []
    for part in body:
        match part:
            case ast.If(
                test=ast.Call(func=ast.Name(id="isinstance"), args=[tested, kind]),
                orelse=other,
            ) if is_name(tested, given) and origin.qualified(kind) == "torch.Tensor":
                made += _as_list(origin, other, given)
            case _:
                made.append(part)
    return made


def _as_input(body: list[ast.stmt], given: str) -> list[ast.stmt]:
    """The statements, in which another name for the input is the input itself."""
    others = {
        part.targets[0].id
        for part in body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and is_name(part.value, given)
    }
    made = [
        p for p in body if not (isinstance(p, ast.Assign) and is_name(p.value, given))
    ]
    for part in made:
        for read in walk(part):
            if isinstance(read, ast.Name) and read.id in others:
                read.id = given
    return made


def _join(origin: Origin, forward: ast.FunctionDef, given: str) -> ast.Call | None:
    """The call that joins the input, which is all that is done with it."""
    read = [p for p in walk(forward) if is_name(p, given)]
    joins = [
        part
        for part in walk(forward)
        if isinstance(part, ast.Call)
        and origin.qualified(part.func) in _JOINS
        and part.args
        and is_name(part.args[0], given)
    ]
    alike = all(same(join, joins[0]) for join in joins)
    return joins[0] if joins and alike and len(joins) == len(read) else None


def _calls(origin: Origin, title: str) -> list[tuple[ast.FunctionDef, ast.Call]]:
    """Where layers of a class are called: under attributes, and in loops over them."""
    found: list[tuple[ast.FunctionDef, ast.Call]] = []
    for owner in origin.classes.values():
        places = _places(owner, title)
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            loops = {
                part.target.id
                for part in walk(method)
                if isinstance(part, ast.For) and isinstance(part.target, ast.Name)
                if self_attribute(part.iter) in places
            }
            for part in walk(method):
                if not isinstance(part, ast.Call):
                    continue
                func = part.func
                func = func.value if isinstance(func, ast.Subscript) else func
                if self_attribute(func) in places or getattr(func, "id", "") in loops:
                    found.append((method, part))
    return found


def _places(owner: ast.ClassDef, title: str) -> set[str | None]:
    found: set[str | None] = set()
    for part in walk(owner):
        target: ast.expr | None = None
        match part:
            case ast.Assign(targets=[ast.Attribute() as target]):
                pass
            case ast.Call(func=ast.Attribute(value=target, attr="append")):
                pass
        if target is not None and any(
            isinstance(c, ast.Call) and is_name(c.func, title) for c in walk(part)
        ):
            found.add(self_attribute(target))
    return found - {None}


def _lists(method: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a call is given a list that the method makes."""
    if len(call.args) != 1 or call.keywords:
        return False
    [given] = call.args
    if isinstance(given, ast.List):
        return True
    values = [
        part.value
        for part in walk(method)
        if isinstance(part, ast.Assign) and any(same(t, given) for t in part.targets)
    ]
    return bool(values) and all(isinstance(v, ast.List) for v in values)


class _Joined(NodeTransformer):
    def __init__(self, join: ast.Call):
        self.join = ast.unparse(join)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.unparse(node) == self.join:
            return node.args[0]
        self.generic_visit(node)
        return node
