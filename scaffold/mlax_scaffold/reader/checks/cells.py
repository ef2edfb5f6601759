"""Finds cells that are called as in other libraries: with the carry first, or for the carry alone.

A cell of the library is `y, carry = cell(x, carry)`. Sizes that are equal fit in any order, so that names
decide.
"""

from __future__ import annotations

import ast
import re

from mlax_scaffold.errors import Diagnostic, Fix
from mlax_scaffold.model.definition import Definition, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.constructs import construct, functions_of
from mlax_scaffold.reader.looping import looped
from mlax_scaffold.reader.source import (
    Source,
    dotted,
    indexed_attribute,
    self_attribute,
    source_of,
    tree_of,
)

_CARRIES = frozenset(
    ("carry", "carries", "hidden", "hiddens", "hx", "hc", "memory", "state", "states")
)
"""What is carried is called so, or has it in its name."""
_INPUTS = frozenset(
    ("x", "xs", "xt", "inp", "inps", "input", "inputs", "token", "tokens", "u", "ut")
)
"""What a cell reads in a step is called so, or has it in its name."""
_OF_ARRAYS = re.compile(r"(jnp|lax|jax\.(nn|numpy|lax))\.")
"""Functions that are given arrays, and no pairs of them."""
_HOW = "A cell is `y, carry = cell(x, carry)`."


def check_cells(definition: Definition, library: Library) -> list[Diagnostic]:
    """Every finding in the methods of a layer or a block."""
    cells = {
        d.name
        for d in definition.declared(Role.SUB_LAYER)
        if d.references and all(library[r].carries for r in d.references)
    }
    tree = tree_of(definition)
    if not cells or not isinstance(tree, ast.ClassDef):
        return []
    source = source_of(definition)
    for method in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
        variables = _variables(method, cells)
        for node in walk(method):
            match node:
                case ast.Assign(targets=[target], value=ast.Call() as call):
                    if _is_of(call.func, cells, variables):
                        _check(source, method, target, call)
        for step in _steps(method):
            match step:
                case (
                    ast.FunctionDef(body=[*_, ast.Return(value=ast.Call() as call)])
                    | ast.Lambda(body=ast.Call() as call)
                ):
                    if _is_of(call.func, cells, variables):
                        _check_step(source, step.args, call)
    return source.diagnostics


def _variables(method: ast.FunctionDef, cells: set[str]) -> set[str]:
    """The variables of loops that stand for a cell of a list."""
    loops = (n for n in walk(method) if isinstance(n, ast.For | ast.comprehension))
    pairs = (pair for loop in loops for pair in looped(loop))
    return {name for name, iterated in pairs if self_attribute(iterated) in cells}


def _steps(method: ast.FunctionDef) -> list[ast.FunctionDef | ast.Lambda]:
    """What `lax.scan` is given as its step: of those of one name, all."""
    given: list[ast.expr] = []
    for call in (n for n in walk(method) if isinstance(n, ast.Call)):
        made = construct(call)
        if made is not None and made.name == "scan":
            given += functions_of(call, made)
    names = {n.id for n in given if isinstance(n, ast.Name)}
    inner = (n for n in walk(method) if isinstance(n, ast.FunctionDef))
    named = [n for n in inner if n is not method and n.name in names]
    return [*named, *(n for n in given if isinstance(n, ast.Lambda))]


def _is_of(function: ast.expr, cells: set[str], variables: set[str]) -> bool:
    name = self_attribute(function) or indexed_attribute(function)
    one = isinstance(function, ast.Name) and function.id in variables
    return name in cells or one


def _check(
    source: Source, method: ast.FunctionDef, target: ast.expr, call: ast.Call
) -> None:
    if len(call.args) != 2 or any(isinstance(a, ast.Starred) for a in call.args):
        return
    first, second = call.args
    parts = target.elts if isinstance(target, ast.Tuple) else []
    alone = len(parts) != 2 or _texts(source, target) == _texts(source, second)
    turned = _is_turned(source, target, call)
    taken_whole = turned or _is_renewed(source, target, second)
    # `x = cell(x, h)` makes one array of another.
    read = _is_renewed(source, target, first) and bool(_words(first) & _INPUTS)
    taken_whole = taken_whole or read
    if alone and not taken_whole and not _is_one_array(method, target):
        return
    # The carry is the first of the results alone: `carry, y = cell(x, carry)`.
    crossed = len(parts) == 2 and not (alone or turned)
    crossed = crossed and _is_renewed(source, parts[0], second)
    crossed = crossed and bool(_words(parts[0]) & _CARRIES)
    if not (alone or turned or crossed):
        return
    given = source.text_of(second), source.text_of(first)
    x, carry = given if turned else given[::-1]
    text = source.text_of(target)
    if alone:
        # PyTorch's pair has what is hidden first, that of the library has it last.
        pair = isinstance(target, ast.Tuple) and len(parts) == 2
        if pair:
            text = carry = f"({', '.join(source.text_of(p) for p in reversed(parts))})"
        text = f"_, {text}"
    elif crossed or not _is_renewed(source, parts[1], first):
        text = f"{source.text_of(parts[1])}, {source.text_of(parts[0])}"
    edits = [source.edit(target, text)]
    if turned or carry != source.text_of(second):
        edits += [source.edit(first, x), source.edit(second, carry)]
    source.report(
        call,
        f"`{source.text_of(call.func)}` is given its carry first"
        if turned
        else f"`{source.text_of(call.func)}` returns its output, and the new carry",
        _HOW,
        fix=Fix(tuple(edits)),
    )


def _check_step(source: Source, parameters: ast.arguments, call: ast.Call) -> None:
    """A step of `lax.scan` that is the cell: `return self.cell(carry, x)`."""
    names = [a.arg for a in parameters.args]
    given = [a.id for a in call.args if isinstance(a, ast.Name)]
    if len(names) != 2 or given != names or len(call.args) > 2:
        return
    carry, x = names
    cell = source.text_of(call.func)
    source.report(
        call,
        f"`{cell}` is given its carry first",
        f"{_HOW} A step of `lax.scan` returns these two in the other order.",
        fix=Fix((source.edit(call, f"{cell}({x}, {carry})[::-1]"),)),
    )


def _is_turned(source: Source, target: ast.expr, call: ast.Call) -> bool:
    """Whether the carry is the first argument."""
    first, second = call.args
    new = target.elts[0] if isinstance(target, ast.Tuple) else target
    if _words(second) & _INPUTS and not _words(first) & _INPUTS:
        return not _words(second) & _CARRIES
    carried = _words(first) & _CARRIES and not _words(second) & _CARRIES
    return bool(carried and (source.same(new, first) or _words(new) & _CARRIES))


def _is_one_array(method: ast.FunctionDef, target: ast.expr) -> bool:
    """Whether what is assigned is computed with as one array: `h_new = cell(x, h)`, and `2 * h_new`.

    What is kept, returned or taken apart may be both.
    """
    name = target.id if isinstance(target, ast.Name) else ""
    pairs: list[ast.expr | None] = []
    arrays: list[ast.expr | None] = []
    for node in walk(method):
        match node:
            case ast.Return(value=ast.Tuple(elts=parts)):
                pairs += parts
            case ast.Subscript() | ast.Return() | ast.Starred():
                pairs.append(node.value)
            case ast.Assign(targets=[ast.Tuple(), *_], value=value):
                pairs.append(value)
            case ast.BinOp(left=left, right=right):
                arrays += [left, right]
            case ast.UnaryOp(operand=value):
                arrays.append(value)
            case ast.Call(func=function, args=[first, *_]):
                path = dotted(function) or ""
                arrays += [first] * bool(_OF_ARRAYS.match(path))
    return _reads(name, arrays) and not _reads(name, pairs)


def _reads(name: str, nodes: list[ast.expr | None]) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in nodes)


def _is_renewed(source: Source, target: ast.expr, value: ast.expr) -> bool:
    """Whether it is assigned to what it was given as."""
    return _texts(source, target) == _texts(source, value)


def _texts(source: Source, node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return [source.text_of(part) for part in parts]


def _words(node: ast.expr) -> set[str]:
    """The words of the name that an expression is, or is a part of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    name = node.id if isinstance(node, ast.Name) else self_attribute(node) or ""
    return {part.rstrip("0123456789") for part in name.lower().split("_")}
