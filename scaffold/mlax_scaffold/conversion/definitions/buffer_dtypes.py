"""Which buffers of PyTorch hold no numbers of the computation, but indices, or True and False."""

from __future__ import annotations

import ast

_WHOLE = ("long", "int", "int32", "int64")
_SHAPED = frozenset(
    (
        *("expand", "view", "reshape", "unsqueeze", "squeeze", "repeat", "contiguous"),
        *("flatten", "stack", "cat", "flip", "roll", "to", "clone", "transpose"),
    )
)
"""What makes whole numbers of whole numbers."""


def is_counted_or_true(node: ast.expr) -> bool:
    """Whether a value is an array of indices, `torch.arange(n).expand(1, -1)`, or of True and False."""
    return _is_boolean(node) or _is_whole(node)


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return True
    for part in ast.walk(node):
        if isinstance(part, ast.keyword) and part.arg == "dtype":
            return ast.unparse(part.value).endswith("bool")
        if isinstance(part, ast.Call) and ast.unparse(part.func).endswith(".bool"):
            return True
    return False


def _is_whole(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="arange"), args=args, keywords=named):
            given = [*args, *(k.value for k in named if k.arg != "dtype")]
            said = [ast.unparse(k.value) for k in named if k.arg == "dtype"]
            if said:
                return said[0].rpartition(".")[2] in _WHOLE
            return not any(map(_is_broken, given))
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr in _SHAPED:
            inner = node.args[0] if attr in ("stack", "cat") and node.args else owner
            parts = inner.elts if isinstance(inner, ast.Tuple | ast.List) else [inner]
            return all(map(_is_whole, parts))
        case ast.Call(func=ast.Attribute(attr="long" | "int"), args=[]):
            return True
        case ast.Subscript(value=value):
            return _is_whole(value)
    return False


def _is_broken(node: ast.expr) -> bool:
    """Whether a number may have a fraction."""
    return any(
        isinstance(part, ast.Div) or isinstance(getattr(part, "value", None), float)
        for part in ast.walk(node)
    )
