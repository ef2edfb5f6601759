"""Layers that a loop gives numbered names, and that `getattr` reads by these, as lists."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_SETS = ("add_module", "register_module")


def without_numbered_names(origin: Origin, node: ast.ClassDef) -> None:
    """Change a class of PyTorch in place."""
    module = origin.name_of("torch.nn")
    start = next((f for f in node.body if getattr(f, "name", "") == "__init__"), None)
    if not module or not isinstance(start, ast.FunctionDef):
        return
    begun: dict[str, ast.For] = {}
    for loop in start.body:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        for at, part in enumerate(loop.body):
            found = _set(part, loop)
            if found is None or found[0] in begun:
                continue
            prefix, layer = found
            [made] = ast.parse(f"self.{prefix}.append(layer)").body
            assert isinstance(made, ast.Expr)
            assert isinstance(made.value, ast.Call)
            made.value.args = [layer]
            loop.body[at] = ast.copy_location(made, part)
            begun[prefix] = loop
    for prefix, loop in begun.items():
        [first] = ast.parse(f"self.{prefix} = {module}.ModuleList()").body
        start.body.insert(start.body.index(loop), ast.copy_location(first, loop))
    if begun:
        _Reads(set(begun)).visit(node)
        located(node)


def _set(node: ast.stmt, loop: ast.For) -> tuple[str, ast.expr] | None:
    """The prefix of the name that a statement of a loop over numbers gives a layer, and the layer."""
    call = node.value if isinstance(node, ast.Expr) else None
    counted = isinstance(loop.iter, ast.Call) and is_name(loop.iter.func, "range")
    if not isinstance(call, ast.Call) or not counted:
        return None
    if len(loop.iter.args) != 1:  # type: ignore[attr-defined]
        return None
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[owner, title, layer]):
            if not is_name(owner, "self"):
                return None
        case ast.Call(func=func, args=[title, layer]) if self_attribute(func) in _SETS:
            pass
        case _:
            return None
    found = _numbered(title)
    if found is None or ast.unparse(found[1]) != ast.unparse(loop.target):
        return None
    return found[0], layer


def _numbered(node: ast.expr) -> tuple[str, ast.expr] | None:
    """The text and the number that a name is made of."""
    prefix, number = "", None
    match node:
        case ast.JoinedStr(
            values=[
                ast.Constant(value=str(prefix)),
                ast.FormattedValue(value=number, format_spec=None),
            ]
        ):
            pass
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=number):
            prefix = text.removesuffix("%d").removesuffix("%s")
            number = None if prefix == text else number
        case ast.BinOp(
            left=ast.Constant(value=str(prefix)),
            op=ast.Add(),
            right=ast.Call(func=ast.Name(id="str"), args=[number]),
        ):
            pass
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format"),
            args=[number],
        ):
            prefix = text.removesuffix("{}")
            number = None if prefix == text else number
    prefix = prefix.rstrip("_")
    return (prefix, number) if number is not None and prefix.isidentifier() else None


class _Reads(NodeTransformer):
    """Writes `getattr(self, f"fc{i}")` as `self.fc[i]`."""

    def __init__(self, lists: set[str]):
        self.lists = lists

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, title]):
                found = _numbered(title) if is_name(owner, "self") else None
                if found is not None and found[0] in self.lists:
                    place = ast.Attribute(
                        ast.Name("self", ast.Load()), found[0], ast.Load()
                    )
                    made = ast.Subscript(place, found[1], ast.Load())
                    return ast.copy_location(made, node)
        return node
