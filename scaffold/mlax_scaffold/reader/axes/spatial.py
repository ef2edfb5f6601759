"""How many spatial axes the layers of a file have, and where their channels are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.ranks import Ranks
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import dotted, self_attribute

FIELD = "spatial_dims"
LAST = "channel_last"
_SAYS_LAST = re.compile(
    r"\bN(?:D?H)?WC\b|channels?[- _]last|(?:height|\bh)\W+(?:width|w)\W+(?:channels?|c)\b",
    re.IGNORECASE,
)
_SAYS_FIRST = re.compile(
    r"\bNCD?H?W\b|channels?[- _]first|(?:channels?|\bc)\W+(?:height|h)\W+(?:width|w)\b"
    r"|\b(?:channels?|c)\W+(?:length|samples|time|t|l)\b",
    re.IGNORECASE,
)
_JOINED = ("concat", "concatenate")
_REDUCED = ("max", "mean", "sum")
_SIZED = frozenset(
    [
        *("AvgPool", "Conv", "ConvTranspose", "LpPool", "MaxPool", "MinPool"),
        *("DepthwiseConv", "SeparableConv"),
    ]
)
"""Layers whose sizes along axes tell how many there are."""


def axes_of_layers(tree: ast.AST) -> str:
    """The number of axes of the layers of a file that give sizes along them, where it is one.

    Where none does, what they are given tells it.
    """
    found = {
        len(given.elts)
        for call in walk(tree)
        if isinstance(call, ast.Call) and dotted(call.func) in _SIZED
        for given in (*call.args, *(k.value for k in call.keywords))
        if isinstance(given, ast.Tuple | ast.List) and all(map(_is_size, given.elts))
    }
    found = found or {*_given_axes(tree)}
    return str(*found) if len(found) == 1 else ""


def _given_axes(tree: ast.AST) -> Iterator[int]:
    """The numbers of axes beside a batch and channels of what is handed to such layers."""
    if not isinstance(tree, ast.Module):
        return
    for owner in [n for n in tree.body if isinstance(n, ast.ClassDef)]:
        scope = Scope(tree, owner)
        for method in scope.methods.values():
            ranks = Ranks(method, scope)
            for call in walk(method):
                if isinstance(call, ast.Call) and len(call.args) == 1:
                    made = scope.declared.get(self_attribute(call.func) or "")
                    sized = isinstance(made, ast.Call) and dotted(made.func) in _SIZED
                    rank = ranks.of(call.args[0]) if sized else None
                    if rank is not None and rank > 2:
                        yield rank - 2


def _is_size(node: ast.expr) -> bool:
    """Whether an item is the size of one axis: a number, or what has a name."""
    number = isinstance(node, ast.Constant) and type(node.value) is int
    return number or isinstance(node, ast.Name | ast.Attribute | ast.BinOp)


def with_axes(
    tree: ast.AST, call: ast.Call, names: Mapping[str, object]
) -> list[ast.expr]:
    """The arguments of a call by place, with the number of axes of other layers where it is left out."""
    order, given = [*names], [*call.args]
    named = {k.arg for k in call.keywords}
    sized = [n for n in ("kernel_size", "window") if n in order]
    if order[:1] != [FIELD] or FIELD in named or not sized or named & {*sized}:
        return given
    if len(given) > order.index(sized[0]):
        return given
    axes = axes_of_layers(tree)
    return [ast.Constant(int(axes)) if axes else ast.Name(FIELD), *given]


def channels_are_last(tree: ast.Module) -> bool:
    """Whether a file says that images have their channels last, or joins their channels there.

    What is joined at the end may be anything else where a docstring or a type says that channels are first.
    """
    if any(map(_SAYS_LAST.search, _docstrings(tree))):
        return True
    if any(map(_SAYS_FIRST.search, (*_docstrings(tree), *_shapes(tree)))):
        return False
    for node in walk(tree):
        match node:
            case ast.Call(func=function, args=args, keywords=named):
                name = (dotted(function) or "").rpartition(".")[2]
                axes = [*args[1:2], *(k.value for k in named if k.arg == "axis")]
                text = "".join(map(ast.unparse, axes))
                if name in _JOINED and text == "-1":
                    return True
                # Of one spatial axis, these are all but the batch.
                if name in _REDUCED and text == "(1, 2)":
                    return axes_of_layers(tree) != "1"
    return False


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def _shapes(tree: ast.Module) -> Iterator[str]:
    """The shapes that types of inputs say, and names that their axes are given."""
    for node in walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Attribute(attr="shape")
            ):
                yield " ".join(n.id for n in names if isinstance(n, ast.Name))
            case ast.arg(annotation=ast.Subscript(slice=ast.Constant(value=str(text)))):
                yield text
