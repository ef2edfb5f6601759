"""Finds, in the declarations of `setup`, shapes without an initializer, and shapes of text."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import fields_of
from mlax_scaffold.reader.remedies.array_shapes import is_number
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_SIZES = ("Size", "Count", "int")


def is_shape(node: ast.expr) -> bool:
    """Whether an expression is the shape of an array, and cannot be an array."""
    match node:
        case ast.Tuple(elts=sizes) | ast.List(elts=sizes):
            return not any(_is_no_size(size) for size in sizes)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return is_shape(left) or is_shape(right)
        case ast.Attribute(attr="shape"):
            return True
        case ast.Subscript(value=value, slice=ast.Slice()):
            return is_shape(value)
    return False


def check_alone(source: Source, method: ast.FunctionDef, call: ast.Call) -> bool:
    """Report `moment(shape)`, `moment(0.0)` and `state(shape)`: whether it is one of them."""
    declared = dotted(call.func)
    if declared not in ("moment", "state") or len(call.args) != 1:
        return False
    [given] = call.args
    inputs = [a.arg for a in method.args.args if a.arg != "self"]
    text = source.text_of(given)
    if is_shape(given) or (declared == "state" and is_size(source, given)):
        what, made = "a shape, and no array", "zeros"
        shape = text if is_shape(given) else f"({text},)"
    elif declared == "moment" and (made := _filled(source, given, text)) is not None:
        what = "no array"
        shape = f"{inputs[0]}.shape" if inputs else ""
    elif declared == "moment" and isinstance(given, ast.Constant):
        what, made, shape = "no array", "zeros", ""
    else:
        return False
    named = word(source, made.partition("(")[0])
    behind = made.removeprefix(named.name)
    written = f"{named.bound}{behind}, {shape or 'shape'}"
    source.report(
        given,
        f"`{unparsed(given)}` is {what} to begin with",
        f"Write `{declared}({written})`.",
        fix=Fix((source.edit(given, written),), (named,)) if shape else None,
    )
    return True


def _filled(source: Source, node: ast.expr, text: str) -> str | None:
    """The initializer of arrays that are filled with a number; None for anything else."""
    match node:
        case ast.Constant(value="zeros" | "ones" as name):
            return name
        case ast.Constant(value=value) if value in (0, 1) and not isinstance(
            value, bool
        ):
            return "ones" if value else "zeros"
    field = self_attribute(node)
    if field is not None and _is_field(source, node, field):
        return f"constant({text})"
    return f"constant({text})" if is_number(node) else None


def check_text(source: Source, shape: ast.expr) -> None:
    """Report sizes that are written as text, as the types of inputs have them."""
    parts = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
    texts = [p for p in parts if isinstance(p, ast.Constant) and type(p.value) is str]
    if not texts:
        return
    edits: list[Edit] | None = []
    for text in texts:
        sizes = [_size(source, shape, name) for name in str(text.value).split()]
        if edits is None or not sizes or None in sizes:
            edits = None
            continue
        inner = ", ".join(str(size) for size in sizes)
        alone = f"({inner},)" if len(sizes) == 1 else f"({inner})"
        edits.append(source.edit(text, alone if text is shape else inner))
    source.report(
        texts[0],
        "a shape is a tuple of numbers",
        "Write `(self.features,)`: names in quotes are for the types of inputs.",
        fix=Fix(tuple(edits)) if edits else None,
    )


def _size(source: Source, node: ast.expr, name: str) -> str | None:
    """What the name of an axis is in a shape; None where no field has it."""
    if name.isdecimal():
        return name
    return f"self.{name}" if _is_field(source, node, name) else None


def _is_field(source: Source, node: ast.expr, name: str) -> bool:
    """Whether the class that a node stands in has a field of that name."""
    return any(
        isinstance(owner, ast.ClassDef)
        and owner.lineno <= node.lineno <= (owner.end_lineno or 0)
        and name in fields_of(owner)
        for owner in walk(source.tree)
    )


def is_size(source: Source, node: ast.expr) -> bool:
    """Whether an expression is a field that holds a size."""
    name = self_attribute(node)
    return name is not None and any(
        isinstance(part, ast.AnnAssign)
        and dotted(part.target) == name
        and dotted(part.annotation) in _SIZES
        for part in walk(source.tree)
    )


def _is_no_size(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) is not int
        case ast.UnaryOp() | ast.Tuple() | ast.List():
            return True
    return False
