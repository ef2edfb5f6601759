"""Complex numbers have the precision of the input: what names one precision is told with its edit."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.complex_numbers import names_complex
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.likeness import floating_of
from mlax_scaffold.reader.checks.numpy_arrays import computed_dtype
from mlax_scaffold.reader.source import Source

_PROMOTING = ("jax.numpy.promote_types", "jax.numpy.result_type")


def check_complex_dtypes(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jnp.complex64` in a body that is given an array."""
    if not any(_is_complex64(node, imports) for node in walk(method)):
        return
    like = _like(source, method)
    if like is None:
        return
    promoted = {
        id(part)
        for node in walk(method)
        if isinstance(node, ast.Call) and qualified(node.func, imports) in _PROMOTING
        for part in walk(node)
    }
    for node in walk(method):
        if not _is_complex64(node, imports) or id(node) in promoted:
            continue
        assert isinstance(node, ast.Attribute)
        module = source.text_of(node.value)
        text = f"{module}.result_type({like}, {module}.complex64)"
        source.report(
            node,
            f"`{source.text_of(node)}` is the precision of float32, whatever {like} has",
            f"Write `{text}`.",
            fix=Fix((source.edit(node, text),)),
        )


def check_complex_initializer(source: Source, call: ast.Call) -> bool:
    """Report a real weight whose initializer, beside the definition, makes complex numbers: False."""
    match call:
        case ast.Call(args=[initializer, shape], keywords=[]):
            pass
        case _:
            return True
    made = initializer.func if isinstance(initializer, ast.Call) else initializer
    dtype = _default(source.tree, made.id) if isinstance(made, ast.Name) else None
    if dtype is None:
        return True
    text = source.text_of(dtype)
    end = source.end(shape)
    source.report(
        initializer,
        f"`{source.text_of(made)}` makes complex numbers, and a real weight is declared",
        f"Say so, after its shape: `{text}`.",
        fix=Fix((source.replace(end, end, f", {text}"),)),
    )
    return False


def _default(tree: ast.Module, name: str) -> ast.expr | None:
    """The complex default of the `dtype` of a function of the module, or of one that it makes."""
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef) or statement.name != name:
            continue
        for node in walk(statement):
            if isinstance(node, ast.arguments) and node.defaults:
                last, default = node.args[-1], node.defaults[-1]
                if last.arg == "dtype" and names_complex(default):
                    return default
    return None


def _is_complex64(node: ast.AST, imports: Mapping[str, Import]) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and qualified(node, imports) == "jax.numpy.complex64"
    )


def _like(source: Source, method: ast.FunctionDef) -> str | None:
    given = (*method.args.posonlyargs, *method.args.args)
    if method.name in ("setup", "setup_tree"):
        return None
    return floating_of(source.tree, given, "Complex") or computed_dtype(source, method)
