"""What is true or false of traced values, as operations of arrays."""

from __future__ import annotations

import ast

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source

_LOGIC = {ast.And: ("&", "logical_and"), ast.Or: ("|", "logical_or")}


def as_operations(source: Source, test: ast.expr, jnp: str) -> str:
    """A condition of arrays: `and`, `or`, `not` and chains of comparisons are operations.

    Args:
        source: the spec.
        test: the condition, as it stands in the spec or is made.
        jnp: the name of jax.numpy.
    """
    match test:
        case ast.BoolOp(op=op, values=parts):
            sign, function = _LOGIC[type(op)]
            texts = [as_operations(source, p, jnp) for p in parts]
            if all(isinstance(p, ast.Compare) for p in parts):
                return f" {sign} ".join(
                    text if "&" in text else f"({text})" for text in texts
                )
            found = texts[-1]
            for text in reversed(texts[:-1]):
                found = f"{jnp}.{function}({text}, {found})"
            return found
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"{jnp}.logical_not({as_operations(source, operand, jnp)})"
        case ast.Compare(left=left, ops=[_, _, *_] as ops, comparators=others):
            sides = [left, *others]
            pairs = zip(sides[:-1], ops, sides[1:], strict=True)
            each = [unparsed(ast.Compare(a, [op], [b])) for a, op, b in pairs]
            return " & ".join(f"({text})" for text in each)
    return text_on_a_line(source, test)


def text_on_a_line(source: Source, node: ast.expr) -> str:
    """An expression as it stands in the spec, where it does on one line."""
    one_line = getattr(node, "lineno", 0) == getattr(node, "end_lineno", -1)
    return source.text_of(node) if one_line else unparsed(node)


def is_kept_truth(node: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether an expression of a function is true or false, and decides no branch.

    Its operators tell: `a and b` of a comparison is, and of two names is one of them.
    """
    return _is_truth(node) and not any(
        node in walk(n.test)
        for n in walk(function)
        if isinstance(n, ast.If | ast.While | ast.IfExp | ast.Assert)
    )


def _is_truth(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp(values=parts):
            return any(map(_is_truth, parts))
        case ast.UnaryOp(op=ast.Not()) | ast.Compare():
            return True
    return False
