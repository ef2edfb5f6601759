"""Tables that `setup` of flax computes by a function of the file, of numbers alone: where they are read.

self.sin, self.cos = frequencies(self.dim, self.length)      in setup
y = rotated(x, self.sin, self.cos)                           in a method

becomes, in the method,

sin, cos = frequencies(self.dim, self.length)
y = rotated(x, sin, cos)

so that they have the dtype of what they are used with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.shapes.helper_dtypes import makes_floats
from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import name, names, self_attribute
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def with_tables_read(origin: Origin) -> None:
    """Write them so, in place."""
    if not origin.uses("flax"):
        return
    for node in origin.classes.values():
        setup = method_of(node, "setup")
        for part in list(setup.body) if setup is not None else ():
            attributes = [*_tables(origin, part)]
            if attributes and setup is not None and _moved(node, part, attributes):
                setup.body.remove(part)
        if setup is not None and not setup.body:
            setup.body.append(ast.copy_location(ast.Pass(), setup))
    located(origin.tree)


def _tables(origin: Origin, node: ast.stmt) -> Iterator[str]:
    """The attributes that a statement of setup makes so; none of any other."""
    match node:
        case ast.Assign(
            targets=[target], value=ast.Call(func=ast.Name(id=title)) as call
        ):
            helper = origin.functions.get(title)
        case _:
            return
    if helper is None or not makes_floats(helper):
        return
    if any(names(given) - {"self"} for given in _given(call)):
        return
    places = target.elts if isinstance(target, ast.Tuple) else [target]
    found = [self_attribute(place) for place in places]
    if all(found):
        yield from (str(attribute) for attribute in found)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def _moved(node: ast.ClassDef, part: ast.stmt, attributes: list[str]) -> bool:
    """Whether the statement could be written into each method that reads these."""
    assert isinstance(part, ast.Assign)
    readers = [
        method
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        if any(_reads(inner, attributes) for inner in walk(method))
    ]
    readers = [method for method in readers if method.name != "setup"]
    if any(_reads(i, attributes) for i in walk(node) if _is_stored(i, part)):
        return False
    for method in readers:
        taken = {n.id for n in walk(method) if isinstance(n, ast.Name)}
        taken |= {a.arg for a in walk(method) if isinstance(a, ast.arg)}
        locals_ = {a: f"{a}_table" if a in taken else a for a in attributes}
        at = next(
            i
            for i, statement in enumerate(method.body)
            if any(_reads(inner, attributes) for inner in walk(statement))
        )
        bound: list[ast.expr] = [ast.Name(locals_[a], ast.Store()) for a in attributes]
        one = bound[0] if len(bound) == 1 else ast.Tuple(bound, ast.Store())
        made = ast.Assign([one], cloned(part.value))
        method.body = [_Locals(locals_).visit(s) for s in method.body]
        method.body.insert(at, ast.copy_location(made, method.body[at]))
    return bool(readers)


def _reads(node: ast.AST, attributes: list[str]) -> bool:
    return self_attribute(node) in attributes


def _is_stored(node: ast.AST, part: ast.Assign) -> bool:
    """Whether an attribute is bound elsewhere than in a statement."""
    own = {id(inner) for inner in walk(part)}
    stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    return stored and id(node) not in own


class _Locals(NodeTransformer):
    def __init__(self, locals_: dict[str, str]):
        self.locals = locals_

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        local = self.locals.get(self_attribute(node) or "")
        if local is not None:
            return ast.copy_location(name(local), node)
        self.generic_visit(node)
        return node
