"""Finds numbers of a step, which are of the default float dtype, beside leaves of another one."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import bindings_of, only_value
from mlax_scaffold.reader.constructs import construct, functions_of
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, self_attribute

_KINDS = ("scheduled", "state", "step", "value", "coefficient")
"""What attributes are that are such numbers."""
_DEPTH = 8
"""So many values are looked up, one in the other."""
_KEEPS = (
    *("abs", "clip", "exp", "log", "maximum", "minimum", "power", "sqrt", "square"),
    "where",
)
"""Functions whose result is such a number where an argument is."""
_OF_SEVERAL = frozenset(
    (
        *("add", "arctan2", "clip", "divide", "hypot", "maximum", "minimum"),
        *("multiply", "power", "subtract", "where"),
    )
)
"""Functions of several arrays, whose result is as wide as the widest."""


def check_coefficients(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report each that stands beside a leaf in a function of `jax.tree.map`.

    In the methods over whole trees: `update` gets them in the dtype of its leaf.
    """
    if "step_number" not in attributes:
        return
    named = {n.name: n for n in walk(method) if isinstance(n, ast.FunctionDef)}
    beside = {n.name: n for n in source.tree.body if isinstance(n, ast.FunctionDef)}
    scalars = {word(source, "tree_dot").bound}
    known = _Known(method, attributes, beside | named, scalars)
    seen: set[ast.AST] = set()
    for call in walk(method):
        made = construct(call)
        if made is None or made.name != "tree_map" or not isinstance(call, ast.Call):
            continue
        for given in functions_of(call, made):
            function = named.get(given.id) if isinstance(given, ast.Name) else given
            if not isinstance(function, ast.FunctionDef | ast.Lambda):
                continue
            leaves = [a.arg for a in function.args.args if a.arg != "self"]
            if not leaves or function in seen:
                continue
            seen.add(function)
            for number, leaf in _beside(function, leaves, known):
                _report(source, number, leaf)


@dataclass(frozen=True)
class _Known:
    """A method or a function, and what its names stand for."""

    method: ast.FunctionDef
    attributes: Mapping[str, str]
    functions: Mapping[str, ast.FunctionDef]
    """Those beside the definition, and in the method."""
    scalars: Collection[str]
    """What words are called that make one number of whole trees, in the default float dtype."""

    def returned(self, name: str) -> Iterator[tuple[ast.expr, _Known]]:
        """What a function beside the definition returns, and where that is read."""
        function = self.functions.get(name)
        for node in walk(function) if function else ():
            if isinstance(node, ast.Return) and node.value is not None:
                yield node.value, replace(self, method=function, attributes={})


def _beside(
    function: ast.FunctionDef | ast.Lambda, leaves: Collection[str], known: _Known
) -> Iterator[tuple[ast.expr, str]]:
    """The numbers of the step that are operands beside what leaves make, with the first of these."""
    for node in walk(function):
        operands = _operands(node)
        for one in operands:
            others = [n for o in operands if o is not one for n in walk(o)]
            names = {n.id for n in others if isinstance(n, ast.Name)}
            beside = [leaf for leaf in leaves if leaf in names]
            own = {n.id for n in walk(one) if isinstance(n, ast.Name)}
            if beside and not own & {*leaves} and _is_number(one, known):
                yield one, beside[0]


def _operands(node: ast.AST) -> list[ast.expr]:
    """What an operation is of whose result is as wide as any of it."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=called)) if (
            called in _OF_SEVERAL
        ):
            arrays = node.args[1 if called == "where" else 0 :]
            return [*arrays, *(k.value for k in node.keywords)]
    return []


def _is_number(node: ast.expr, known: _Known, depth: int = 0) -> bool:
    """Whether an expression is certain to be an array that one number of the step makes."""
    if depth > _DEPTH:
        return False
    method, attributes = known.method, known.attributes

    def inner(part: ast.expr) -> bool:
        return _is_number(part, known, depth + 1)

    match node:
        case ast.Attribute() if name := self_attribute(node):
            return attributes.get(name) in _KINDS
        case ast.Name(id=name):
            values = only_value(name, method) or _in_the_end(name, method)
            return any(map(inner, values))
        case ast.UnaryOp(operand=operand):
            return inner(operand)
        case ast.BinOp(left=left, op=op, right=right) if isinstance(
            op, ast.Pow | ast.Div
        ) and _is_count(left, right, method, attributes, depth):
            return True
        case ast.BinOp(left=left, right=right):
            # Whatever the other is, the result is as wide.
            return inner(left) or inner(right)
        case ast.IfExp(body=one, orelse=other):
            return inner(one) and inner(other)
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=called), args=args):
            return called in _KEEPS and any(
                inner(a) or _of_leaves(a, known, depth) for a in args
            )
        case ast.Call(func=ast.Name(id=called)) if called in known.scalars:
            return True
        case ast.Call(func=ast.Name(id=called)):
            found = [*known.returned(called)]
            return bool(found) and all(
                _is_number(v, there, depth + 1) for v, there in found
            )
    return False


def _in_the_end(name: str, method: ast.FunctionDef) -> list[ast.expr]:
    """What a local begins with that is bound again, and ends as an array: `x = jnp.clip(x, 0, 1)`."""
    values = sorted(bindings_of(name, method), key=lambda v: v.lineno)
    whole = [s.value for s in method.body if isinstance(s, ast.Assign)]
    match values[-1:]:
        case [ast.Call(func=ast.Attribute(value=ast.Name(), attr=called)) as last]:
            if called in _KEEPS and last in whole:
                return [value for value in values if not _reads(value, name)]
    return []


def _reads(node: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(node))


def _of_leaves(node: ast.expr, known: _Known, depth: int) -> bool:
    """Whether an expression adds what is computed of all leaves: without any it is a number of Python."""
    match node:
        case ast.Name(id=name):
            values = only_value(name, known.method) if depth < _DEPTH else ()
            return any(_of_leaves(v, known, depth + 1) for v in values)
        case ast.Call(func=ast.Name(id=called)) if called in known.functions:
            found = [*known.returned(called)] if depth < _DEPTH else []
            return any(_of_leaves(v, there, depth + 1) for v, there in found)
        case ast.Call(
            func=ast.Name(), args=[ast.GeneratorExp() | ast.ListComp() as terms]
        ):
            iterated = [part for g in terms.generators for part in walk(g.iter)]
            return any(
                isinstance(part, ast.Attribute)
                and part.attr in ("leaves", "tree_leaves")
                for part in iterated
            )
    return False


def _is_count(
    one: ast.expr,
    other: ast.expr,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    depth: int,
) -> bool:
    """Whether one of two is the number of the step, an integer, and the other one a number."""

    def counts(node: ast.expr) -> bool:
        match node:
            case ast.Attribute() if name := self_attribute(node):
                return attributes.get(name) == "step_number"
            case ast.Name(id=name):
                return any(map(counts, only_value(name, method)))
            case ast.BinOp(left=left, right=ast.Constant(value=int())):
                return counts(left)
        return False

    pairs = (one, other), (other, one)
    return any(
        counts(a) and (counts(b) or _is_plain(b, method, depth)) for a, b in pairs
    )


def _is_plain(node: ast.expr, method: ast.FunctionDef, depth: int) -> bool:
    """Whether an expression is made of numbers and attributes of self alone."""
    if depth > _DEPTH:
        return False

    def inner(part: ast.expr) -> bool:
        return _is_plain(part, method, depth + 1)

    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Attribute():
            return self_attribute(node) is not None
        case ast.Name(id=name):
            values = [*only_value(name, method), *_unpacked(name, method)]
            return any(map(inner, values))
        case ast.UnaryOp(operand=operand) | ast.Subscript(value=operand):
            return inner(operand)
        case ast.BinOp(left=left, right=right):
            return inner(left) and inner(right)
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=called), args=args):
            return called in _KEEPS and all(map(inner, args))
    return False


def _unpacked(name: str, method: ast.FunctionDef) -> Iterator[ast.expr]:
    """`self.betas` of `b1, b2 = self.betas`, where nothing else binds the name."""
    bound = [n for n in walk(method) if isinstance(n, ast.Name) and n.id == name]
    if sum(isinstance(n.ctx, ast.Store) for n in bound) != 1:
        return
    for node in walk(method):
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=names)], value=ast.Attribute() as value
            ):
                if any(isinstance(n, ast.Name) and n.id == name for n in names):
                    yield value


def _report(source: Source, number: ast.expr, leaf: str) -> None:
    if isinstance(number, ast.UnaryOp):
        number = number.operand
    text = source.text_of(number)
    whole = isinstance(number, ast.Name | ast.Attribute | ast.Call)
    shown = text if whole else f"({text})"
    written = f"{shown}.astype({leaf}.dtype)"
    source.report(
        number,
        f"`{unparsed(number)}` is a number of the step: with a leaf of half precision "
        "it makes float32",
        f"Give it the dtype of the leaf: `{written}`.",
        fix=Fix((source.edit(number, written),)),
    )
