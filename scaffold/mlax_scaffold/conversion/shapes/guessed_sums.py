"""Sizes of joined inputs of which only the sum is told: each is the size that its input is called after.

`Linear(enc_dim * 2 + dec_dim, dim)` of `encoder_outputs` and `hidden` joined: the first is of `enc_dim * 2`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import permutations

from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import same
from mlax_scaffold.conversion.source.walking import walk


def with_guessed_sums(symbols: Symbols, env: Mapping[str, Value]) -> None:
    """Take such sizes to be so, where as many are unknown as there are terms."""
    for left, right in list(symbols.demands):
        for one, other in ((left, right), (right, left)):
            unknown, told = _uncommon(
                _terms(symbols.find(one)), _terms(symbols.find(other))
            )
            if len(unknown) != len(told) or not told:
                continue
            if not all(map(is_symbol, unknown)) or any(map(is_symbol, told)):
                continue
            owners = [_owner(symbols, env, u) for u in unknown]
            orders = permutations(told)
            best = max(orders, key=lambda o: sum(map(_alike, owners, o)))
            for symbol, size in zip(unknown, best, strict=True):
                symbols.equal(symbol, size)
            break


def _terms(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _uncommon(
    some: list[ast.expr], others: list[ast.expr]
) -> tuple[list[ast.expr], list[ast.expr]]:
    """The terms of two sums without those that both have."""
    left, right = list(some), list(others)
    for term in some:
        twin = next((t for t in right if same(t, term)), None)
        if twin is not None:
            left.remove(term)
            right.remove(twin)
    return left, right


def _owner(symbols: Symbols, env: Mapping[str, Value], symbol: ast.expr) -> str:
    """The input that has an axis of that size."""
    for title, value in env.items():
        if isinstance(value, Array) and any(
            ast.unparse(symbols.find(a)) == ast.unparse(symbol) for a in value.axes
        ):
            return title
    return ""


def _alike(title: str, size: ast.expr) -> int:
    """How much of the beginning of an input's name a size has in its own."""
    found = 0
    for part in walk(size):
        name = part.attr if isinstance(part, ast.Attribute) else ""
        words = {*name.lower().split("_")}
        for word in words:
            count = 0
            for a, b in zip(title.lower(), word, strict=False):
                if a != b:
                    break
                count += 1
            found = max(found, count)
    return found
