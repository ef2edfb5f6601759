"""Finds, in the declarations of `setup`, initializers and shapes that are something else."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix, Needed
from mlax_scaffold.model.definition import SECTIONS, Import, Kind
from mlax_scaffold.model.import_time import (
    INITIALIZERS,
    OWN_INITIALIZERS,
    Refused,
    check_initializer,
    is_initializer,
)
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.declared_shapes import check_text, is_size
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.remedies.drawn_weights import declared_weight
from mlax_scaffold.reader.remedies.names import SPEC, of_jax, word
from mlax_scaffold.reader.source import Source, dotted

_MADE = frozenset(f"jax.numpy.{name}" for name in ("empty", "full", "ones", "zeros"))
"""Functions that make arrays of one number: what begins so is a weight or a state, perhaps."""
_AXES = ("in_axis", "out_axis")
_FANS = ("glorot", "he", "kaiming", "lecun", "xavier")
"""Those that initializers are named after which scale by the numbers of inputs and outputs."""
_IDENTITY = ".functional.identity"
"""What an identity matrix is taken for: it has the name of one."""

Imports = Mapping[str, Import]


def check_arguments(source: Source, call: ast.Call, imports: Imports) -> None:
    """Report an initializer and a shape that are certain to be none."""
    if len(call.args) < 2 or any(isinstance(a, ast.Starred) for a in call.args):
        return
    initializer, shape = call.args[:2]
    meanings = {name: imported.meaning for name, imported in imports.items()}
    role = dotted(call.func) or "trainable"
    if isinstance(initializer, ast.Tuple | ast.List):
        fix = None
        if is_initializer(shape, meanings) or _makes(shape, meanings):
            first, second = source.text_of(initializer), source.text_of(shape)
            fix = Fix((source.edit(initializer, second), source.edit(shape, first)))
        source.report(
            initializer,
            f"the first argument of `{role}` is the initializer, the second the shape",
            f"Write `{role}(zeros, {unparsed(initializer)})`, for example.",
            fix=fix,
        )
        return
    if isinstance(initializer, ast.Constant) and initializer.value is not None:
        source.report(
            initializer,
            f"`{unparsed(initializer)}` is no initializer",
            "It is a function that makes the array: `zeros`, `ones`, `constant(0.5)`.",
            fix=_named(source, initializer) or _constant(source, initializer),
        )
    elif _of_arrays(called := _called(initializer), imports):
        name = unparsed(called)
        jnp = of_jax(source, "jnp")
        scale = initializer.args if isinstance(initializer, ast.Call) else []
        parts = [*map(source.text_of, scale), f"{jnp.bound}.eye(*shape, dtype=dtype)"]
        made = f"lambda key, shape, dtype: {' * '.join(parts)}"
        edit = Fix((source.edit(initializer, made),), (jnp,))
        source.report(
            initializer,
            f"`{name}` is a function of arrays, and no initializer",
            "An initializer is called with a key, a shape and a dtype.",
            fix=edit if meanings[name] == _IDENTITY else None,
        )
    elif _makes(initializer, meanings):
        name = unparsed(initializer)
        end = source.end(initializer)
        source.report(
            initializer,
            f"`{name}` makes an initializer: `{name}()`",
            fix=Fix((source.replace(end, end, "()"),)),
        )
    elif (made := _of_matrices(initializer, imports)) and _is_vector(shape):
        end = source.end(made)
        at = end[0], end[1] - 1
        axes = f"{', ' if made.args or made.keywords else ''}in_axis=-1, out_axis=()"
        source.report(
            initializer,
            f"`{unparsed(made.func)}` is for arrays of two axes or more, and the shape has one",
            "The number of inputs is the size of that axis: `in_axis=-1, out_axis=()`.",
            fix=Fix((source.replace(at, at, axes),)),
        )
    check_text(source, shape)
    if _is_number(shape) or is_size(source, shape):
        text = unparsed(shape)
        source.report(
            shape,
            "a shape is a tuple",
            f"Write `({text},)`.",
            fix=Fix((source.edit(shape, f"({text},)"),)),
        )


def check_derived(
    source: Source,
    name: str,
    value: ast.expr,
    imports: Imports,
    *,
    given_key: bool = False,
) -> None:
    """Report an array in the place of a value that follows from hyperparameters.

    Where `setup` is `given_key`, what it makes are the weights, as in libraries whose layers draw theirs.
    """
    made = isinstance(value, ast.Call) and qualified(value.func, imports) in _MADE
    if not made and not _draws(value, imports):
        return
    source.report(
        value,
        f"self.{name} is an array, which no hyperparameter can be",
        f"A weight is `trainable(initializer, shape)`, what changes without a gradient "
        f"`state(initializer, shape)`; make a constant array in forward: `{name} = ...`.",
        fix=declared_weight(source, value, imports) if given_key else None,
    )


def _draws(node: ast.AST, imports: Imports) -> bool:
    """Whether an expression holds what is drawn, but in a function that it makes."""
    if isinstance(node, ast.Lambda):
        return False
    full = qualified(node.func, imports) if isinstance(node, ast.Call) else None
    if full is not None and full.startswith("jax.random."):
        return True
    return any(_draws(part, imports) for part in ast.iter_child_nodes(node))


def _called(node: ast.expr) -> ast.expr:
    """What is called, of a call with one argument at most; whatever else it is."""
    match node:
        case ast.Call(func=function, args=[] | [_], keywords=[]):
            return function
    return node


def _of_arrays(node: ast.expr, imports: Imports) -> bool:
    """Whether an expression is the name of a function that another spec defines."""
    imported = imports.get(node.id) if isinstance(node, ast.Name) else None
    found = imported and imported.reference
    return bool(found) and SECTIONS[found.section] is Kind.FUNCTION


def _of_matrices(node: ast.expr, imports: Imports) -> ast.Call | None:
    """The call that makes an initializer whose deviation depends on the sizes of two axes."""
    if not isinstance(node, ast.Call) or any(k.arg in _AXES for k in node.keywords):
        return None
    owner, _, name = (qualified(node.func, imports) or "").rpartition(".")
    if not owner.endswith("initializers"):
        return None
    return (
        node if name == "variance_scaling" or name.partition("_")[0] in _FANS else None
    )


def _is_vector(shape: ast.expr) -> bool:
    match shape:
        case ast.Tuple(elts=[size]) | ast.List(elts=[size]):
            return not isinstance(size, ast.Starred)
    return False


def _makes(node: ast.expr, meanings: Mapping[str, str]) -> bool:
    """Whether an expression is a function that makes initializers."""
    try:
        check_initializer(node, meanings)
    except Refused as refused:
        return "makes an initializer" in str(refused)
    return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _named(source: Source, node: ast.Constant) -> Fix | None:
    """The initializer of that name in quotes; None where none needs nothing but its name."""
    name = node.value
    if not isinstance(name, str) or name not in (*INITIALIZERS, *OWN_INITIALIZERS):
        return None
    if name in ("constant", "variance_scaling"):
        return None
    needed = word(source, name)
    made = needed.bound if name in ("zeros", "ones") else f"{needed.bound}()"
    return Fix((source.edit(node, made),), (needed,))


def _constant(source: Source, node: ast.Constant) -> Fix | None:
    if not isinstance(node.value, int | float) or isinstance(node.value, bool):
        return None
    known = {0.0: "zeros", 1.0: "ones"}
    name = known.get(float(node.value), "constant")
    text = f"constant({node.value})" if name == "constant" else name
    return Fix((source.edit(node, text),), (Needed(SPEC, name, name),))
