"""Finds defaults, initializers and types that importing the generated module would have to run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.model.import_time import (
    Refused,
    check_annotation,
    check_initializer,
    check_value,
    is_initializer,
)
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.default_values import check_taken
from mlax_scaffold.reader.remedies.classes import chosen, listed
from mlax_scaffold.reader.remedies.foreign import known
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.remedies.numbers_of_math import by_math
from mlax_scaffold.reader.remedies.own_defaults import function_for_lambda
from mlax_scaffold.reader.remedies.types import or_none
from mlax_scaffold.reader.source import Source, is_none
from mlax_scaffold.spelling import did_you_mean

_VALUES = (
    "A default is a literal, arithmetic of numbers, or a function by its name: 1, (1, 1), "
    "2 * math.pi, None, jax.nn.relu."
)
_NOT_FINITE = {
    "inf": "{}.inf",
    "infinity": "{}.inf",
    "-inf": "-{}.inf",
    "nan": "{}.nan",
}
"""Texts that `float` makes numbers of, as jax.numpy has them."""
_INITIALIZERS = (
    "An initializer is one of mlax_scaffold.spec or of jax.nn.initializers: zeros, "
    "lecun_normal(in_axis=1)."
)
_TYPES = "Write a name, or one with what it holds: int, tuple[int, ...], jax.Array."

Meanings = Mapping[str, str]


def check_default(
    source: Source,
    annotation: ast.expr,
    default: ast.expr,
    kind: HyperType | None,
    imports: Mapping[str, Import],
) -> None:
    """Report a hyperparameter's default that cannot stand in a signature, or is none of its choices."""
    if kind is not None and kind.word.initializes:
        if kind.optional and is_none(default):
            return
        _check(source, default, imports, check_initializer, _INITIALIZERS)
        return
    meanings = {name: found.meaning for name, found in imports.items()}
    if kind is None and is_initializer(default, meanings):
        return
    _check(source, default, imports, check_value, _VALUES)
    if kind is not None and kind.enumeration:
        return
    if kind is not None and check_taken(source, annotation, default, kind, imports):
        return
    called = kind is not None and kind.word.check == "function"
    if called and isinstance(default, ast.Constant) and not is_none(default):
        source.report(
            default,
            f"`{unparsed(default)}` is no function",
            "Name it: `jax.nn.relu`, `jnp.tanh`.",
            fix=known(source, default, str(default.value)),
        )
    if kind is None or not kind.choices:
        return
    items = [default]
    if kind.sequence and isinstance(default, ast.Tuple | ast.List):
        items = default.elts
    for item in items:
        if not isinstance(item, ast.Constant) or (kind.optional and is_none(item)):
            continue
        if (type(item.value), item.value) not in {(type(c), c) for c in kind.choices}:
            texts = [c for c in kind.choices if isinstance(c, str)]
            close = did_you_mean(str(item.value), texts)
            source.report(
                item,
                f"{item.value!r} is not one of the choices",
                close,
                fix=chosen(source, item, close.split('"')[1]) if close else None,
            )


def check_none(
    source: Source, annotation: ast.expr, default: ast.expr, *, taken: bool
) -> bool:
    """Report None as the default of what does not take it; whether it is one."""
    if taken or not is_none(default):
        return False
    written = source.text_of(annotation)
    source.report(
        default,
        f"None is no value of `{written}`",
        f"Write `{written} | None`.",
        fix=or_none(source, annotation),
    )
    return True


def check_defaults(
    source: Source, arguments: ast.arguments, imports: Mapping[str, Import]
) -> None:
    """Defaults stand in signatures, where Python computes them at import."""
    for default in (*arguments.defaults, *arguments.kw_defaults):
        if default is not None:
            _check(source, default, imports, check_value, _VALUES)


def check_type(source: Source, annotation: ast.expr | None) -> None:
    """Report a type that is more than names: tools evaluate the types of generated functions."""
    if annotation is None:
        return
    try:
        check_annotation(annotation)
    except Refused as refused:
        source.report(refused.node, str(refused), _TYPES)


def check_types(source: Source, method: ast.FunctionDef) -> None:
    """Report the types of a method's parameters and result that are more than names."""
    for arg in ast.walk(method.args):
        if isinstance(arg, ast.arg):
            check_type(source, arg.annotation)
    check_type(source, method.returns)


def check_scope(
    source: Source, node: ast.ClassDef, imports: Mapping[str, Import]
) -> None:
    """Report defaults with an imported name that means something else inside the class."""
    own = imports.keys() & set(_names(node))
    for default in _defaults(node):
        for part in ast.walk(default):
            if isinstance(part, ast.Name) and part.id in own:
                source.report(
                    part,
                    f"`{part.id}` is a field or a method of the class, and cannot be "
                    "part of a default",
                    "Choose another name for one of the two.",
                )


def _check(
    source: Source,
    default: ast.expr,
    imports: Mapping[str, Import],
    check: Callable[[ast.expr, Meanings], None],
    hint: str,
) -> None:
    meanings = {name: imported.meaning for name, imported in imports.items()}
    try:
        check(default, meanings)
    except Refused as refused:
        unknown = _unknown(default, imports)
        if unknown is None:
            fix = listed(source, refused.node)
            fix = fix or by_math(source, default, imports, check)
            if isinstance(default, ast.Lambda):
                fix = function_for_lambda(source, default)
            if (number := _not_finite(refused.node)) is not None:
                named = of_jax(source, "jnp")
                text = number.format(named.bound)
                fix = Fix((source.edit(refused.node, text),), (named,))
            if "makes an initializer" in str(refused):
                end = source.end(refused.node)
                fix = Fix((source.replace(end, end, "()"),))
            source.report(refused.node, str(refused), hint, fix=fix)
            return
        meant = known(source, unknown, unknown.id)
        source.report(
            unknown,
            f"`{unknown.id}` is not imported",
            did_you_mean(unknown.id, sorted(imports)) or hint,
            fix=meant,
        )


def _not_finite(node: ast.AST) -> str | None:
    """`float("inf")` and the like as constants of jax.numpy."""
    match node:
        case ast.Call(
            func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]
        ):
            return _NOT_FINITE.get(text.strip().lower())
    return None


def _unknown(default: ast.expr, imports: Mapping[str, Import]) -> ast.Name | None:
    names = [n for n in ast.walk(default) if isinstance(n, ast.Name)]
    bound = {a.arg for a in ast.walk(default) if isinstance(a, ast.arg)}
    bound |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    known = {*imports, *bound, *vars(builtins)}
    return next((name for name in names if name.id not in known), None)


def _names(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                yield name


def _defaults(node: ast.ClassDef) -> Iterator[ast.expr]:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(value=ast.expr() as value):
                yield value
            case ast.FunctionDef(args=arguments):
                yield from arguments.defaults
                yield from filter(None, arguments.kw_defaults)
