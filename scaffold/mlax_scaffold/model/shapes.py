"""The shapes of array inputs and outputs: jaxtyping's grammar.

A shape is a sequence of dims separated by spaces: `"*batch heads in_features"`. What
each dim may be is in `docs/spec-language.md`. A parsed shape prints back as its text.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mlax_scaffold.model.dims import (
    OPERATORS,
    Anonymous,
    AnyAxes,
    AnyShape,
    Computed,
    Conditional,
    Dim,
    Fixed,
    Named,
    Shape,
    ShapeMismatch,
    Sizes,
    Variadic,
)

__all__ = [
    "Anonymous",
    "AnyAxes",
    "AnyShape",
    "Computed",
    "Conditional",
    "Dim",
    "Fixed",
    "Named",
    "Shape",
    "ShapeError",
    "ShapeMismatch",
    "Sizes",
    "Variadic",
    "parse_shape",
]


class ShapeError(ValueError):
    """A text is no shape. `offset` counts characters from the start of the text."""

    def __init__(self, message: str, offset: int, width: int = 1):
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.width = width


def parse_shape(text: str) -> AnyShape:
    """The shape that `text` describes. Raises ShapeError, which knows the place."""
    tokens = [(m.group(), m.start()) for m in re.finditer(r"\S+", text)]
    words = [token for token, _ in tokens]
    if "if" not in words and "else" not in words:
        return _parse_dims(tokens)
    if words.count("if") != 1 or words.count("else") != 1:
        offset = next(o for token, o in reversed(tokens) if token in ("if", "else"))
        raise ShapeError('expected one "A if field else B"', offset, 2)
    start, stop = words.index("if"), words.index("else")
    if stop != start + 2:
        raise ShapeError(
            'expected the name of one hyperparameter between "if" and "else"',
            tokens[start][1],
            2,
        )
    field, offset = tokens[start + 1]
    return Conditional(
        _identifier(field, offset),
        _parse_dims(tokens[:start]),
        _parse_dims(tokens[stop + 1 :]),
    )


def _parse_dims(tokens: Sequence[tuple[str, int]]) -> Shape:
    dims: list[Dim] = []
    broadcast = bool(tokens) and tokens[0][0] == "#"
    if broadcast and len(tokens) == 1:
        raise ShapeError(
            "expected what the array broadcasts to, not nothing", tokens[0][1] + 1
        )
    tokens = tokens[1:] if broadcast else tokens
    for token, offset in tokens:
        dim = _parse_dim(token, offset)
        if isinstance(dim, AnyAxes) and dim in dims:
            raise ShapeError("at most one ... may stand in a shape", offset, len(token))
        dims.append(dim)
    return Shape(tuple(dims), broadcast)


def _parse_dim(token: str, offset: int) -> Dim:
    if token == "...":
        return AnyAxes()
    if token == "_":
        return Anonymous()
    if token[0] == "*":
        return Variadic(_identifier(token[1:], offset + 1))
    if token[0] == "#":
        return Named(_identifier(token[1:], offset + 1), broadcast=True)
    if token.isascii() and token.isdecimal():
        return Fixed(int(token))
    if token.isidentifier():
        return Named(_identifier(token, offset))
    return _parse_computed(token, offset)


def _parse_computed(token: str, offset: int) -> Computed:
    wrong = ShapeError(
        f'"{token}" is no axis: expected a name, *name, #name, an integer, "_", '
        '"..." or names and integers with +, -, *, // between them, without spaces',
        offset,
        len(token),
    )
    # Nothing else can stand in an expression. This keeps Python's parser, which warns
    # about some texts and is slow on others, away from what is certainly wrong.
    if not re.fullmatch(r"(\w|[-+*/()[\]])+", token) or len(token) > 200:
        raise wrong
    try:
        expression = ast.parse(token, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise wrong from None
    names: list[str] = []
    several = {node: name for name, node in _of_several(expression)}
    counting = {n.func for n in several if isinstance(n, ast.Call)}
    for node in ast.walk(expression):
        match node:
            case ast.Name() if node in counting:
                pass
            case ast.Call() | ast.Subscript() if node in several:
                pass
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
                pass
            case ast.unaryop():
                pass
            case ast.Name(id=name):
                position = offset + node.col_offset
                names.append(_identifier(name, position))
            case ast.Constant(value=int()) if not isinstance(node.value, bool):
                pass
            case ast.BinOp() if isinstance(node.op, OPERATORS):
                pass
            case ast.operator() | ast.Load():
                pass
            case _:
                raise wrong
    if not names:
        raise ShapeError(
            f'"{token}" has no name in it: write the integer', offset, len(token)
        )
    in_order = sorted(set(names), key=token.index)
    return Computed(token, tuple(in_order), expression)


def _of_several(expression: ast.expr) -> Iterator[tuple[str, ast.Call | ast.Subscript]]:
    """`len(name)` and `name[index]` in an expression, with the name that stands for several sizes."""
    for node in ast.walk(expression):
        match node:
            case ast.Call(
                func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]
            ):
                yield name, node
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
                    index = index.operand
                if isinstance(index, ast.Constant) and type(index.value) is int:
                    yield name, node


def _identifier(text: str, offset: int) -> str:
    if not text.isidentifier() or keyword.iskeyword(text) or text == "_":
        given = f'"{text}"' if text else "nothing"
        raise ShapeError(
            f"expected the name of an axis, not {given}", offset, len(text) or 1
        )
    return text


def is_size(value: Any) -> bool:
    """Whether a hyperparameter is a size, or a tuple of such."""
    if isinstance(value, tuple):
        return all(map(is_size, value))
    return isinstance(value, int) and not isinstance(value, bool)
