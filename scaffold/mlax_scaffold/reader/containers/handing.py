"""Layers that a block is given where functions stand: `jax.checkpoint(layer)(x)` calls one later."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterable, Sequence

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.constructs import construct, functions_of

_FUNCTIONS = ast.Lambda | ast.FunctionDef


def handed_on(nodes: Sequence[ast.AST]) -> dict[int, int]:
    """The arguments of constructs that are functions, by their `id`: how many inputs each gets.

    That is told where what the construct makes is called at once, and one elsewhere.
    """
    called = {id(n.func): len(n.args) for n in nodes if isinstance(n, ast.Call)}
    return {
        id(function): called.get(id(node), 1)
        for node in nodes
        if isinstance(node, ast.Call)
        for function in functions_of(node, construct(node))
    }


def as_function(layer: str, count: int) -> str:
    """The text of a function that calls a layer; the variables in its index are what they are now."""
    index = ast.parse(layer, mode="eval")
    bound = {n.id for n in ast.walk(index) if isinstance(n, ast.Name)} - {"self"}
    free = (n for n in (*"xyzuvw", *(f"x_{i}" for i in range(count))) if n not in bound)
    names = ", ".join(itertools.islice(free, count))
    given = ", ".join([names, *(f"{n}={n}" for n in sorted(bound))])
    return f"(lambda {given}: {layer}({names}))"


def called_later(body: Iterable[ast.AST], uses: Collection[int]) -> bool:
    """Whether some statements hand on, or read in a function inside, one of some nodes, by their `id`."""
    nodes = [n for part in body for n in walk(part)]
    inner = (n for n in nodes if isinstance(n, _FUNCTIONS))
    inside = {id(n) for function in inner for n in walk(function)}
    return bool(({*handed_on(nodes)} | inside) & {*uses})


def item_of(part: ast.expr, index: ast.expr) -> ast.expr | None:
    """The layer `self.layers[1:][0]`, as `self.layers[1]`; None where the text does not tell.

    Args:
        part: `self.layers[1:]`, or another part without a step.
        index: which of them.
    """
    number = _number(index, 0)
    match part:
        case ast.Subscript(value=layers, slice=ast.Slice(step=None) as cut):
            first, last = _number(cut.lower, 0), _number(cut.upper, 0)
        case _:
            return None
    if number is None or first is None or last is None or first < 0 or last > 0:
        return None
    found = first + number if number >= 0 else last + number
    return ast.Subscript(layers, ast.parse(str(found), mode="eval").body, ast.Load())


def _number(node: ast.expr | None, default: int) -> int | None:
    match node:
        case None:
            return default
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
    return None
