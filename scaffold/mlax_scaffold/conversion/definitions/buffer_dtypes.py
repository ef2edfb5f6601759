"""Which buffers of PyTorch hold no numbers of the computation, but indices, or True and False."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.walking import walk

_WHOLE = ("long", "int", "int32", "int64")
_SHAPED = frozenset(
    (
        *("expand", "view", "reshape", "unsqueeze", "squeeze", "repeat", "contiguous"),
        *("flatten", "stack", "cat", "flip", "roll", "to", "clone", "transpose"),
        *("cumsum", "pad"),
    )
)
"""What makes whole numbers of whole numbers."""


def is_counted_or_true(node: ast.expr) -> bool:
    """Whether a value is an array of indices, `torch.arange(n).expand(1, -1)`, or of True and False."""
    return _is_boolean(node) or _is_whole(node)


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return True
    for part in walk(node):
        if isinstance(part, ast.keyword) and part.arg == "dtype":
            return ast.unparse(part.value).endswith("bool")
        if isinstance(part, ast.Call) and ast.unparse(part.func).endswith(".bool"):
            return True
    return False


def _is_whole(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and _says_whole(node):
        return True
    match node:
        case ast.Call(func=ast.Attribute(attr="arange"), args=args, keywords=named):
            given = [*args, *(k.value for k in named if k.arg != "dtype")]
            said = [ast.unparse(k.value) for k in named if k.arg == "dtype"]
            if said:
                return said[0].rpartition(".")[2] in _WHOLE
            return not any(map(_is_broken, given))
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr in _SHAPED:
            first = attr in ("stack", "cat", "pad") and node.args
            inner = node.args[0] if first else owner
            parts = inner.elts if isinstance(inner, ast.Tuple | ast.List) else [inner]
            return all(map(_is_whole, parts))
        case ast.Call(func=ast.Attribute(attr="long" | "int"), args=[]):
            return True
        case ast.Call(
            func=ast.Attribute(attr="tensor" | "as_tensor"),
            args=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
            keywords=[],
        ):
            return bool(parts) and all(_is_number(part) for part in parts)
        case ast.Subscript(value=value):
            return _is_whole(value)
    return False


def _says_whole(node: ast.Call) -> bool:
    """Whether it makes whole numbers: `torch.tensor(x, dtype=torch.long)`, `x.to(torch.int64)`."""
    last = getattr(node.func, "attr", "")
    said = [k.value for k in node.keywords if k.arg == "dtype"]
    said += node.args if last in ("to", "type") else []
    return last in ("LongTensor", "IntTensor") or any(
        isinstance(s, ast.Attribute) and s.attr in _WHOLE for s in said
    )


def _is_number(node: ast.expr) -> bool:
    """Whether a number is whole, by its text."""
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_broken(node: ast.expr) -> bool:
    """Whether a number may have a fraction."""
    return any(
        isinstance(part, ast.Div) or isinstance(getattr(part, "value", None), float)
        for part in walk(node)
    )
