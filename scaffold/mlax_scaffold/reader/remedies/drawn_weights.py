"""Arrays that `setup` draws of a key, as initializers that draw them, as `init` of other libraries has it."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.remedies.array_shapes import Imports, drawn_shape, shape_of
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source

_WORDS = {"jax.random.normal": "normal", "jax.random.uniform": "uniform"}
"""Words that draw what a function does, scaled by a number."""
_FROM_NOTHING = {"jax.numpy.ones": "ones", "jax.numpy.zeros": "zeros"}


def drawn_initializer(
    source: Source, value: ast.expr, imports: Imports
) -> tuple[str, str, tuple[Needed, ...]] | None:
    """The initializer that draws what an expression does, its shape, and what it needs imported.

    None where it draws more than once, each time of another key, or where nothing says the shape.
    """
    calls = (n for n in walk(value) if isinstance(n, ast.Call))
    draws = [call for call in calls if drawn_shape(call, imports)]
    shape = shape_of(value, imports)
    if len(draws) != 1 or shape is None:
        return None
    if (scale := _scale(value, draws[0], imports)) is not None:
        function = qualified(draws[0].func, imports) or ""
        needed = word(source, _WORDS[function])
        return f"{needed.bound}({scale})", shape, (needed,)
    made = _OfInitializer(draws[0], imports).visit(copy.deepcopy(value))
    return f"lambda key, shape, dtype: {unparsed(made)}", shape, ()


def declared_weight(source: Source, value: ast.expr, imports: Imports) -> Fix | None:
    """An array of `setup` as the weight that begins with it, in either branch of a choice."""
    if isinstance(value, ast.IfExp):
        body, other = (
            declared_weight(source, branch, imports)
            for branch in (value.body, value.orelse)
        )
        if body is None or other is None:
            return None
        needed = dict.fromkeys((*body.imports, *other.imports))
        return Fix((*body.edits, *other.edits), (*needed,))
    trainable = word(source, "trainable")
    made = drawn_initializer(source, value, imports)
    if made is None and isinstance(value, ast.Call):
        name = _FROM_NOTHING.get(qualified(value.func, imports) or "")
        shape = shape_of(value, imports)
        needed = word(source, name) if name else None
        made = needed and shape and (needed.bound, shape, (needed,))
    if not made:
        return None
    initializer, shape, needed = made
    text = f"{trainable.bound}({initializer}, {shape})"
    return Fix((source.edit(value, text),), (trainable, *needed))


def _scale(value: ast.expr, draw: ast.Call, imports: Imports) -> str | None:
    """What a draw of a word is multiplied by; None of any other expression."""
    _, place = drawn_shape(draw, imports) or (None, 0)
    plain = not [k for k in draw.keywords if k.arg not in ("shape", "dtype")]
    plain = plain and len(draw.args) <= place + 2
    if not plain or qualified(draw.func, imports) not in _WORDS:
        return None
    match value:
        case ast.Call() if value is draw:
            return "1.0"
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if draw in (left, right):
            return unparsed(right if left is draw else left)
        case ast.BinOp(left=left, op=ast.Div(), right=right) if left is draw:
            return unparsed(ast.BinOp(ast.Constant(1.0), ast.Div(), right))
    return None


class _OfInitializer(ast.NodeTransformer):
    """A draw of the key, the shape and the dtype that an initializer is given."""

    def __init__(self, draw: ast.Call, imports: Imports):
        self.draw, self.imports = draw, imports

    def visit_Call(self, node: ast.Call) -> ast.AST:
        here = (node.lineno, node.col_offset, node.end_col_offset)
        draw = self.draw
        if here != (draw.lineno, draw.col_offset, draw.end_col_offset):
            return self.generic_visit(node)
        _, place = drawn_shape(node, self.imports) or (None, 0)
        given = [ast.Name(n, ast.Load()) for n in ("key", "shape", "dtype")]
        others = node.args[1:place]
        keywords = [k for k in node.keywords if k.arg not in ("key", "shape", "dtype")]
        late = node.args[place + 2 :]
        return ast.Call(
            node.func, [given[0], *others, given[1], given[2], *late], keywords
        )
