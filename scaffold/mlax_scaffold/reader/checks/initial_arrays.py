"""Finds arrays in the places of initializers, and what makes the same array of a key, a shape and a dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.remedies.array_shapes import (
    drawn_shape,
    is_number,
    is_scalar,
    shape_of,
)
from mlax_scaffold.reader.remedies.drawn_weights import drawn_initializer
from mlax_scaffold.reader.remedies.names import of_jax, word
from mlax_scaffold.reader.source import Source, dotted

_JNP = "jax.numpy."
_MADE = frozenset(
    f"{_JNP}{name}"
    for name in (
        *("arange", "array", "asarray", "eye", "full", "identity", "linspace"),
        *("ones", "zeros"),
    )
)
"""Functions that make arrays of nothing but numbers."""
_WORDS = {f"{_JNP}zeros": "zeros", f"{_JNP}ones": "ones"}
_FUNCTIONS = frozenset((*_WORDS, f"{_JNP}eye"))
"""Functions that are taken for initializers."""
_DTYPE_AT = {
    f"{_JNP}{name}": place
    for name, place in (
        *(("array", 1), ("asarray", 1), ("identity", 1), ("zeros", 1), ("ones", 1)),
        *(("full", 2), ("eye", 3), ("arange", 3)),
    )
}
"""Where a dtype stands among the arguments."""

Imports = Mapping[str, Import]


def is_initial_array(call: ast.Call, imports: Imports) -> bool:
    """Whether the first argument of `trainable`, `state` or `moment` is an array, or the only one a number.

    `moment(array)` is a declaration, which begins with the array.
    """
    match call.args:
        case [ast.Starred(), *_] | [] | [ast.Lambda(), *_]:
            return False
        case [first] if dotted(call.func) == "moment":
            return False
        case [first] if not call.keywords and is_number(first):
            return True
        case [first, *_] if qualified(first, imports) in _FUNCTIONS:
            return True
        case [first, *_]:
            made = any(_is_made(c, imports) for c in walk(first))
            return made and _is_array(first, imports)
    return False


def check_initial_array(source: Source, call: ast.Call, imports: Imports) -> None:
    """Report `trainable(jnp.eye(n), (n, n))`, `trainable(jnp.zeros(n))`, and `trainable(jnp.ones, (n,))`."""
    initializer, *rest = call.args
    role = dotted(call.func)
    kind = "a number" if is_number(initializer) else "an array"
    function = qualified(initializer, imports) or ""
    if function in _FUNCTIONS:
        kind = "called with a shape"
        hint = "An initializer is called with a key, a shape and a dtype."
        fix = _of_function(source, initializer, function)
    elif role == "moment":
        end = source.end(initializer)
        hint = "A moment that begins with an array has its shape: `moment(array)`."
        fix = Fix((source.replace(end, source.end(rest[0]), ""),))
    else:
        hint = (
            f"`{role}(initializer, shape)` calls a function that makes the array: `zeros`, "
            "`constant(0.5)`, `lambda key, shape, dtype: jnp.eye(*shape, dtype=dtype)`."
        )
        fix = _initialized(source, initializer, rest, imports)
        if fix is not None and role == "state" and len(rest) < 2:
            fix = _of_exact_dtype(source, call, fix)
    source.report(
        initializer,
        f"`{unparsed(initializer)}` is {kind}, and no initializer",
        hint,
        fix=fix,
    )


def _of_function(source: Source, node: ast.expr, function: str) -> Fix:
    """The word that makes what a function of jax.numpy does."""
    if function in _WORDS:
        named = word(source, _WORDS[function])
        return Fix((source.edit(node, named.bound),), (named,))
    made = f"lambda key, shape, dtype: {source.text_of(node)}(*shape, dtype=dtype)"
    return Fix((source.edit(node, made),))


def _of_exact_dtype(source: Source, call: ast.Call, fix: Fix) -> Fix:
    """A state that begins with integers or booleans, of their dtype: a number is a count."""
    initializer = call.args[0]
    dtype, imports = _exact_dtype(initializer), fix.imports
    text = unparsed(dtype) if dtype is not None else ""
    if _is_count(initializer):
        jnp = of_jax(source, "jnp")
        text = f"{jnp.bound}.int32"
        imports = tuple(dict.fromkeys((*imports, jnp)))
    if not text:
        return fix
    line, column = source.end(call)
    at = line, column - 1
    return Fix((*fix.edits, source.replace(at, at, f", {text}")), imports)


def _exact_dtype(node: ast.expr) -> ast.expr | None:
    """The dtype that an array is made in, where it is none of floating numbers."""
    for part in walk(node):
        name = (dotted(part) or "").rpartition(".")[2]  # type: ignore[arg-type]
        if isinstance(part, ast.Attribute | ast.Name) and name.startswith(
            ("int", "uint", "bool")
        ):
            return part
    return None


def _is_made(node: ast.AST, imports: Imports) -> bool:
    if drawn_shape(node, imports):
        return True
    return isinstance(node, ast.Call) and qualified(node.func, imports) in _MADE


def _is_array(node: ast.expr, imports: Imports) -> bool:
    """Whether an expression is certain to be an array."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_array(left, imports) or _is_array(right, imports)
        case ast.UnaryOp(operand=operand):
            return _is_array(operand, imports)
        case ast.Call(func=function):
            full = qualified(function, imports) or ""
            return full.startswith(_JNP) or drawn_shape(node, imports) is not None
    return False


def _is_count(node: ast.expr) -> bool:
    """Whether it is an integer that is written out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def _initialized(
    source: Source, node: ast.expr, rest: list[ast.expr], imports: Imports
) -> Fix | None:
    """The declaration with an initializer; None where nothing says the shape."""
    shape = None if rest else shape_of(node, imports)
    if shape is None and not rest:
        return None
    behind = "" if shape is None else f", {shape}"
    if any(drawn_shape(n, imports) for n in walk(node)):
        if (drawn := drawn_initializer(source, node, imports)) is None:
            return None
        text, _, imported = drawn
        return Fix((source.edit(node, f"{text}{behind}"),), imported)
    named = _named(source, node, imports)
    if named is not None:
        text, needed = named
        return Fix((source.edit(node, f"{text}{behind}"),), (needed,))
    end = source.end(node)
    edits = [source.insert(node, "lambda key, shape, dtype: ")]
    edits += _in_dtype(source, node, imports)
    edits += [source.replace(end, end, behind)] if behind else []
    return Fix(tuple(edits))


def _named(
    source: Source, node: ast.expr, imports: Imports
) -> tuple[str, Needed] | None:
    """The initializer of a word, and its import; None where it is another."""
    value: ast.expr | None = node if is_number(node) else None
    if isinstance(node, ast.Call):
        full = qualified(node.func, imports) or ""
        if full in _WORDS:
            named = word(source, _WORDS[full])
            return named.bound, named
        if full == f"{_JNP}full" and len(node.args) > 1:
            value = node.args[1]
        elif full in (f"{_JNP}array", f"{_JNP}asarray") and is_scalar(node.args[0]):
            value = node.args[0]
    if value is None:
        return None
    if isinstance(value, ast.Constant) and value.value in (0, 1):
        named = word(source, "ones" if value.value else "zeros")
        return named.bound, named
    named = word(source, "constant")
    return f"{named.bound}({source.text_of(value)})", named


def _in_dtype(source: Source, whole: ast.expr, imports: Imports) -> Iterator[Edit]:
    """Edits by which arrays have the dtype that the initializer is given."""
    for call in walk(whole):
        if not isinstance(call, ast.Call) or not _is_made(call, imports):
            continue
        place = _DTYPE_AT.get(qualified(call.func, imports) or "", len(call.args))
        given = [k.value for k in call.keywords if k.arg == "dtype"]
        given += call.args[place : place + 1]
        if given:
            yield source.edit(given[0], "dtype")
        else:
            line, column = source.end(call)
            end = line, column - 1
            yield source.replace(end, end, ", dtype=dtype")
