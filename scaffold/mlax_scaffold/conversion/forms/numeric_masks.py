"""Masks of attention that are numbers, as comparisons: here a mask is of True and False."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute, targets

_MASKS = ("attn_mask", "mask", "src_mask", "tgt_mask")
_TRIANGLES = ("tril", "triu")
_BOOLEAN = ("bool", "where", "isinf", "isnan", "logical_")


def without_numeric_masks(origin: Origin) -> None:
    """Compare such masks where layers are called with them, in place.

    What is added is zero or minus infinity: PyTorch's masks say then where not to attend. Of ones and
    zeros, which flax takes, all but zero is attended to.
    """
    torch = any(full.startswith("torch") for full in origin.imports.values())
    is_mask = _is_added if torch else _Multiplied(origin).is_mask
    for node in ast.walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            _compare(node, is_mask, ast.Lt() if torch else ast.NotEq())
    ast.fix_missing_locations(origin.tree)


def added_inputs(function: ast.FunctionDef) -> set[str]:
    """The names that are added as they are, but for new axes and parts: `scores + mask[:, None]`."""
    parts = {
        part.targets[0].id: _with_axes(part.value)
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    added = {
        found
        for part in ast.walk(function)
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub)
        for side in (part.left, part.right)
        if (found := _with_axes(side))
    }
    return added | {parts[a] for a in added if parts.get(a)}


def _with_axes(node: ast.expr) -> str:
    """The name that an expression gives new axes; "" for any other expression."""
    match node:
        case ast.Name(id=local):
            return local
        case ast.Subscript(value=inner):
            return _with_axes(inner)
        case ast.Call(func=ast.Attribute(attr="expand_dims"), args=[inner, *_]):
            return _with_axes(inner)
    return ""


def _compare(
    function: ast.FunctionDef, is_mask: Callable[[ast.expr], bool], by: ast.cmpop
) -> None:
    numeric: set[str] = set()

    def is_numeric(value: ast.expr) -> bool:
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            return is_numeric(value.left) or is_numeric(value.right)
        if isinstance(value, ast.IfExp):
            return is_numeric(value.body) or is_numeric(value.orelse)
        return is_mask(value) or any(is_name(value, n) for n in numeric)

    for part in ast.walk(function):
        if isinstance(part, ast.Assign) and is_numeric(part.value):
            numeric |= set(targets(part.targets[0]))
    made = {
        t
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
        for t in targets(part.targets[0])
    }
    for part in ast.walk(function):
        # A layer: an attribute, a local, or one that is made where it is called.
        if not isinstance(part, ast.Call) or not (
            self_attribute(part.func)
            or isinstance(part.func, ast.Call)
            or getattr(part.func, "id", "") in made
            or ast.unparse(part.func) == "super().__call__"
        ):
            continue
        for at, value in enumerate(part.args):
            if getattr(value, "id", "") in _MASKS and is_numeric(value):
                test = ast.Compare(value, [by], [ast.Constant(0)])
                part.args[at] = ast.copy_location(test, value)
        for keyword in part.keywords:
            value = keyword.value
            if keyword.arg in _MASKS and is_numeric(value):
                test = ast.Compare(value, [by], [ast.Constant(0)])
                keyword.value = ast.copy_location(test, value)


def _is_added(value: ast.expr) -> bool:
    text = ast.unparse(value)
    infinite = ("-inf", "-float('inf')", "-torch.inf", "-1000000000.0", "-10000.0")
    square = "generate_square_subsequent_mask" in text
    return square or any(i in text for i in infinite)


class _Multiplied:
    """Masks of ones and zeros."""

    def __init__(self, origin: Origin):
        self.origin = origin

    def is_mask(self, value: ast.expr) -> bool:
        """Whether a value is a triangle of numbers, or what a function of the file makes so."""
        if isinstance(value, ast.Subscript):
            return self.is_mask(value.value)
        if not isinstance(value, ast.Call):
            return False
        text = ast.unparse(value)
        if any(b in text for b in _BOOLEAN):
            return False
        last = ast.unparse(value.func).rpartition(".")[2]
        function = self.origin.functions.get(last)
        if function is not None:
            ends = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
            return bool(ends) and all(
                isinstance(e, ast.Call)
                and ast.unparse(e.func) != last
                and self.is_mask(e)
                for e in ends
            )
        return last in _TRIANGLES
