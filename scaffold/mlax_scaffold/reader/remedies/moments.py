"""Arrays that an optimizer begins with, as moments."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, dotted

_LIKE = {"jax.numpy.zeros_like": "zeros", "jax.numpy.ones_like": "ones"}
_SHAPED = {"jax.numpy.zeros": "zeros", "jax.numpy.ones": "ones"}


def moment(
    source: Source,
    setup: ast.FunctionDef,
    value: ast.expr,
    imports: Mapping[str, Import],
) -> Fix | None:
    """`jnp.zeros_like(param)` or `jnp.zeros(param.shape)` as `moment(zeros, param.shape)`.

    None for any other value: a dtype of its own, or the shape of something else, is not guessed.
    """
    if not isinstance(value, ast.Call) or value.keywords:
        return None
    full = qualified(value.func, imports) or ""
    inputs = {a.arg for a in setup.args.args} - {"self"}
    match value.args:
        case [ast.Name(id=name)] if full in _LIKE and name in inputs:
            filled, shape = _LIKE[full], f"{name}.shape"
        case [shape] | [
            shape,
            ast.Attribute(value=ast.Name(), attr="dtype"),
        ] if full in _SHAPED and _is_shape(shape, inputs):
            filled, shape = _SHAPED[full], source.text_of(shape)
        case _:
            return None
    declared, initializer = word(source, "moment"), word(source, filled)
    text = f"{declared.bound}({initializer.bound}, {shape})"
    return Fix((source.edit(value, text),), (declared, initializer))


def shaped(source: Source, setup: ast.FunctionDef, call: ast.Call) -> Fix | None:
    """`moment()` as zeros in the shape of the leaf, and `moment(ones)` as ones; None for anything else."""
    inputs = [a.arg for a in setup.args.args if a.arg != "self"]
    if call.keywords or dotted(call.func) != "moment" or len(inputs) != 1:
        return None
    function, shape = source.text_of(call.func), f"{inputs[0]}.shape"
    match call.args:
        case []:
            named = word(source, "zeros")
            text = f"{function}({named.bound}, {shape})"
            return Fix((source.edit(call, text),), (named,))
        case [initializer]:
            text = f"{function}({source.text_of(initializer)}, {shape})"
            return Fix((source.edit(call, text),))
    return None


def declared_as(source: Source, call: ast.Call, name: str) -> Fix:
    """What a layer calls its state, and an optimizer a moment, by the word of the other."""
    named = word(source, name)
    return Fix((source.edit(call.func, named.bound),), (named,))


def _is_shape(node: ast.expr, inputs: set[str]) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name in inputs
    return False
