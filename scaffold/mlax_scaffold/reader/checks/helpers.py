"""Finds, in the functions and constants beside a definition, what a generated module cannot hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model import import_time
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.import_time import Refused
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.body import BodyChecker
from mlax_scaffold.reader.checks.defaults import check_defaults, check_type
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.checks.keys import check_keys
from mlax_scaffold.reader.checks.uses import UseChecker
from mlax_scaffold.reader.checks.widening import NARROW, word_of
from mlax_scaffold.reader.remedies.made_constants import by_function, by_numpy
from mlax_scaffold.reader.remedies.names import word as import_of
from mlax_scaffold.reader.remedies.numbers_of_math import by_math
from mlax_scaffold.reader.remedies.tables import written_down
from mlax_scaffold.reader.requirements import requirements_of
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.reader.source import Source

_RESERVED = frozenset(["checks"])
"""What a requirement in a helper becomes a call of."""

_CONSTANTS = (
    "A constant is a number, a text, a name of jax, arithmetic with functions of math, a "
    "lambda, a small array of NumPy, or a tuple, a list, a dictionary or a NamedTuple of "
    "them. Make an array of jax in a function."
)


def check_constant(
    source: Source,
    name: str,
    value: ast.expr,
    annotation: ast.expr | None,
    imports: Mapping[str, Import],
) -> bool:
    """Report a constant that importing the generated module could not compute: False."""
    check_type(source, annotation)
    before = len(source.diagnostics)
    lambdas = list(_lambdas(value))
    for function in lambdas:
        check_function(source, as_function(name, function), imports, imports)
    if len(source.diagnostics) > before:
        return False
    inside = {id(part) for f in lambdas for part in ast.walk(f)}
    for part in (p for p in ast.walk(value) if id(p) not in inside):
        if not isinstance(part, ast.Name | ast.Attribute):
            continue
        narrow = NARROW.get(qualified(part, imports) or "")
        if word := word_of(part, imports) or narrow:
            needed = import_of(source, word)
            source.report(
                part,
                f"`{unparsed(part)}` adds 16-bit numbers one after another"
                if narrow
                else f"`{unparsed(part)}` computes half-precision input in float32",
                f"Use the strict `{word}` of mlax_scaffold.spec.",
                fix=Fix((source.edit(part, needed.bound),), (needed,)),
            )
            return False
    meanings = {n: imported.meaning for n, imported in imports.items()}
    tuples = {n for n, imported in imports.items() if imported.is_tuple}
    try:
        import_time.check_constant(value, meanings, tuples)
    except Refused as refused:
        node, reason = refused.node, str(refused)
        if isinstance(node, ast.Name) and node.id not in imports:
            reason = f"`{node.id}` is not defined above"
        fix = written_down(source, value, imports)
        fix = fix or by_math(source, value, imports, import_time.check_constant)
        fix = fix or by_numpy(source, value, imports, import_time.check_constant)
        fix = fix or by_function(source, name, value, imports)
        source.report(node, f"the constant `{name}`: {reason}", _CONSTANTS, fix=fix)
        return False
    return True


def check_function(
    source: Source,
    node: ast.FunctionDef,
    imports: Mapping[str, Import],
    known: Mapping[str, Import],
) -> None:
    """Report every finding of a function beside the definition.

    Args:
        source: the spec.
        node: the function, with the values of constants in it.
        imports: what the spec imports.
        known: the same, with what stands before it in the spec.
    """
    if ast.get_docstring(node) is not None and len(node.body) == 1:
        source.report(
            node,
            f"{node.name} holds nothing but a docstring",
            "Write what it does, or remove it.",
        )
    args = [a for a in ast.walk(node.args) if isinstance(a, ast.arg)]
    selves = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == "self"]
    selves += [a for a in args if a.arg == "self"]
    if selves:
        source.report(
            selves[-1],
            f"`{node.name}` stands beside the class, and has no self",
            "Give it what it reads, as arguments, or make it a method.",
        )
        return
    check_defaults(source, node.args, known)
    BodyChecker(source, node, {}, imports=imports, reserved=_RESERVED).check()
    UseChecker(source, node, {}).check()
    check_keys(source, node, {})
    requirements_of(Scope(source, imports), node)


def as_function(name: str, node: ast.Lambda) -> ast.FunctionDef:
    """The function that a lambda is, at its place."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    function = ast.FunctionDef(name, node.args, [body], [], lineno=node.lineno)
    return ast.copy_location(function, node)


def is_plain(value: ast.expr, imports: Mapping[str, Import]) -> bool:
    """Whether pages and signatures show a constant by its value: no function, no array, and no NamedTuple."""
    roots = {p.id for p in ast.walk(value) if isinstance(p, ast.Name)}
    known = [imports[name] for name in roots if name in imports]
    made = any(isinstance(part, ast.Call) for part in ast.walk(value))
    of_others = any(i.is_tuple or i.module == "numpy" for i in known)
    return not any(_lambdas(value)) and not (made and of_others)


def _lambdas(value: ast.expr) -> Iterator[ast.Lambda]:
    """The functions in a constant, without those in them."""
    if isinstance(value, ast.Lambda):
        yield value
        return
    for child in ast.iter_child_nodes(value):
        if isinstance(child, ast.expr):
            yield from _lambdas(child)
