"""Classes that are another name of one of a library, `class Count(nnx.Variable): pass`, as that one.

So are those that only cast what they are given: `return super().forward(x.float()).type(x.dtype)`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import Names, without_docstring
from mlax_scaffold.conversion.source.walking import located

_LIBRARIES = ("flax.", "equinox.", "haiku.", "torch.")


def without_other_titles(origin: Origin, thing: str) -> None:
    """Write the class of the library in the place of such a one."""
    known: dict[str, ast.expr] = {}
    for node in origin.classes.values():
        rest = [
            part
            for part in without_docstring(node.body)
            if not isinstance(part, ast.Pass) and not _only_casts(part)
        ]
        if rest or len(node.bases) != 1 or node.keywords or node.name == thing:
            continue
        full = origin.qualified(node.bases[0])
        if full.startswith(_LIBRARIES) and not full.endswith(".Module"):
            known[node.name] = node.bases[0]
            origin.tree.body.remove(node)
    if known:
        origin.forget("classes")
        Names(known).visit(origin.tree)
        located(origin.tree)


def _only_casts(node: ast.stmt) -> bool:
    """Whether a method does what that of its base does, in another dtype."""
    match node:
        case ast.FunctionDef(name=title, args=given, decorator_list=[]):
            body = without_docstring(node.body)
        case _:
            return False
    places = [a.arg for a in given.args[1:]]
    if given.vararg or given.kwarg or given.kwonlyargs or len(body) != 1:
        return False
    match body[0]:
        case ast.Return(value=ast.expr() as value):
            call = _uncast(value)
        case _:
            return False
    match call:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attr),
            args=args,
            keywords=[],
        ) if attr == title:
            return [ast.unparse(_uncast(a)) for a in args] == places
    return False


def _uncast(node: ast.expr) -> ast.expr:
    """What is cast, by `x.float()`, `x.to(y.dtype)` or `None if b is None else b.to(y.dtype)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="float"), args=[]):
            return _uncast(inner)
        case (
            ast.Call(
                func=ast.Attribute(value=inner, attr="to" | "type"),
                args=[ast.Attribute(attr="dtype")],
                keywords=[],
            )
            | ast.Call(func=ast.Attribute(value=inner, attr="type_as"), args=[_])
        ):
            return _uncast(inner)
        case ast.IfExp(body=ast.Constant(value=None), orelse=other):
            return _uncast(other)
    return node
