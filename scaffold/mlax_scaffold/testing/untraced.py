"""What asks for the value of what is traced, in a branch that the defaults do not take."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from typing import Any

from mlax_scaffold.testing import covering
from mlax_scaffold.testing.picks import UNTRACED, Make, Pick

_SECONDS = 3.0
"""Of the processor's time: so long it is looked for."""
_OF_TYPES = ("dtype", "ndim", "shape", "size")
"""Attributes of arrays that are known while they are traced."""
_OF_NUMBERS = ("math", "np", "numpy")
"""Modules of functions that take numbers alone."""
_MAKE_NUMBERS = ("bool", "float", "int", "max", "min", "range", "round")
"""Functions of Python that do."""


def first_untraced(make: Make[Any], text: str) -> Exception | None:
    """What jax raises in the first case of the generated tests that it cannot trace, if any.

    Only where the text of the spec lets one be expected, and for a few seconds.
    """
    if not may_ask(text):
        return None
    end = time.process_time() + _SECONDS

    def soon(pick: Pick) -> Any:
        if time.process_time() > end:
            raise _OutOfTime
        return make(pick)

    try:
        for _ in covering.covering(soon):
            pass
    except UNTRACED as error:
        return error
    except Exception:
        pass  # It is for the tests to tell; or there is no time for more.
    return None


class _OutOfTime(Exception):
    """No others are looked for."""


def may_ask(text: str) -> bool:
    """Whether a branch of the code may ask for a number, or for what is true, of an array."""
    return any(map(_asks, (n for b in _branches(ast.parse(text)) for n in ast.walk(b))))


def _branches(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs in some cases alone."""
    for node in ast.walk(tree):
        match node:
            case ast.If() | ast.While():
                yield from (*node.body, *node.orelse)
            case ast.IfExp():
                yield from (node.body, node.orelse)
            case ast.BoolOp():
                yield from node.values[1:]


def _asks(node: ast.AST) -> bool:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return _reads(test)
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return False
        case ast.Compare():
            return _reads(node)
        case ast.Call(func=ast.Name(id=name), args=args):
            return name in _MAKE_NUMBERS and any(map(_reads, args))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=args):
            return name in _OF_NUMBERS and any(map(_reads, args))
    return False


def _reads(node: ast.AST) -> bool:
    """Whether a name is read there that may be an array: no field, and no shape."""
    match node:
        case ast.Name(id=name):
            return name not in ("self", "math", "jnp", "np", "jax")
        case ast.Attribute(attr=attribute) if attribute in _OF_TYPES:
            return False
        case ast.Attribute(value=ast.Name(id="self")):
            return False
        case ast.Call(func=ast.Name(id="len" | "isinstance" | "callable")):
            return False
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return False
    return any(map(_reads, ast.iter_child_nodes(node)))
