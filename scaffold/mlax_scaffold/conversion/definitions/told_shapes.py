"""Shapes that annotations of jaxtyping tell: `Float[Array, "nodes features"]`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable

from mlax_scaffold.conversion.definitions.class_fields import kind_of
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array
from mlax_scaffold.conversion.source.trees import expression, literal
from mlax_scaffold.conversion.source.walking import walk


def told(
    symbols: Symbols,
    inputs: Iterable[ast.arg],
    fields: Collection[str] = (),
    body: Iterable[ast.stmt] = (),
) -> dict[str, Array]:
    """The inputs, with the axes that annotations name where a size occurs more than once.

    So is one that has the name of a hyperparameter, of these. Of others no more is taken to be
    known than what the code asks for, and that takes an element along the first axis: `x[0]`.
    """
    inputs, body = list(inputs), [*body]
    first = _takes_first(body)
    words = {a.arg: _words(a.annotation) for a in inputs}
    counts = Counter(word for found in words.values() for word in found)
    sizes: dict[str, ast.expr] = {}
    made = {}
    for given in inputs:
        axes: list[ast.expr] = []
        known = words[given.arg]
        shared = any(counts[w] > 1 or w in fields for w in known if w.isidentifier())
        if shared or first:
            for word in known:
                if word.isdecimal():
                    axes.append(ast.Constant(int(word)))
                elif word in fields:
                    sizes[word] = expression(f"self.{word}")
                elif word not in sizes:
                    hint = word if word not in ("in", "_") else "features"
                    sizes[word] = symbols.fresh(hint)
                if not word.isdecimal():
                    axes.append(sizes[word])
        plain = all(w.isidentifier() or w.isdecimal() for w in known)
        told = bool(axes) and plain
        made[given.arg] = Array(axes if told else [], not told, kind_of(given, body))
    return made


def _words(annotation: ast.expr | None) -> list[str]:
    match annotation:
        case ast.Subscript(
            slice=ast.Tuple(elts=[_, ast.Constant(value=str() as text)])
        ):
            return text.split()
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _words(left) or _words(right)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _words(inner)
    return []


def _takes_first(body: Iterable[ast.stmt]) -> bool:
    """Whether statements take an element of an array along its first axis."""
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.value, ast.Name)
        and isinstance(literal(part.slice), int)
        for statement in body
        for part in walk(statement)
    )
