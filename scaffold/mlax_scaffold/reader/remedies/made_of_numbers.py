"""Arrays that are made of hyperparameters alone: jax.numpy computes them in a dtype of its own."""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.errors import Needed
from mlax_scaffold.reader.axes.sizes import hyperparameters
from mlax_scaffold.reader.checks.setup_arrays import ALSO_OF_NUMPY
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, dotted


def is_number(node: ast.expr, numbers: Collection[str]) -> bool:
    """Whether it is a constant, or one of the hyperparameters of these texts."""
    return isinstance(node, ast.Constant) or dotted(node) in numbers


def of_numbers(node: ast.AST, numbers: Collection[str]) -> bool:
    """Whether it is an array that a function makes of numbers alone, as `jnp.hanning(frame)` does."""
    match node:
        case ast.Call(func=ast.Attribute(), args=[*args], keywords=[]):
            return bool(args) and all(is_number(a, numbers) for a in args)
    return False


def by_numpy_alone(source: Source, node: ast.expr) -> tuple[str, tuple[Needed, ...]]:
    """The text of an expression, by NumPy where that makes the same of numbers; and what it imports."""
    text = source.text_of(node)
    name = (dotted(node.func) or "") if isinstance(node, ast.Call) else ""
    module, _, function = name.rpartition(".")
    jnp, numpy = of_jax(source, "jnp"), of_jax(source, "np")
    numbers = hyperparameters(source.tree, node)
    if module != jnp.bound or function not in ALSO_OF_NUMPY:
        return text, ()
    if not of_numbers(node, numbers):
        return text, ()
    return f"{numpy.bound}{text.removeprefix(jnp.bound)}", (numpy,)
