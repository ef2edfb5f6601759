"""The type of an input by what stands in its place: `if state is None: state = State(jnp.zeros(...))`."""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.carries import Begins, bound_once, words_of
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.source import is_none

_NAMES = re.compile(r"\"[^\"]*[a-z]")
"""An axis with a name in the text of a type."""
_SHAPE, _DTYPE = "input_shape", "dtype"
"""Names for what is read of the first input."""


def begun(scope: Scope, method: ast.FunctionDef, name: str, first: str) -> str | None:
    """The type of an input by what stands in its place where it is None; None where that is not plain.

    Args:
        scope: the class.
        method: its method.
        name: of the input.
        first: the type of the first input of the method.
    """
    method = _in_terms(method)
    value = _begun(method, name)
    if value is None:
        return None
    if made := class_made(scope, value):
        return made
    type_ = _reader(scope, method, first).type(value)
    # An array of numbers alone stands for any that it is stretched to.
    return type_ if type_ and _NAMES.search(type_) else None


def class_made(scope: Scope, value: ast.expr) -> str:
    """The NamedTuple of the module that an expression makes; empty where it makes none."""
    match value:
        case ast.Call(func=ast.Name(id=name)) if fields_of_tuple(scope, name):
            return name
        case ast.Call(func=function):
            called = scope.called(function)
            results = _results(called) if called else []
            made = {class_made(scope, r) for r in results if not _calls(r, function)}
            return made.pop() if len(made) == 1 else ""
    return ""


def fields_of_tuple(scope: Scope, name: str) -> dict[str, ast.AnnAssign]:
    """The fields of a NamedTuple of the module; none of anything else."""
    owner = scope.classes.get(name)
    bases = [] if owner is None else [ast.unparse(base) for base in owner.bases]
    if owner is None or [b.rpartition(".")[2] for b in bases] != ["NamedTuple"]:
        return {}
    return {
        s.target.id: s
        for s in owner.body
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    }


def types_of_fields(
    scope: Scope, name: str, first: Callable[[ast.FunctionDef], str]
) -> dict[str, str]:
    """The types of the fields of a NamedTuple, by the first of its calls that says all of them; else none.

    Args:
        scope: a class that has it as an input.
        name: of the NamedTuple.
        first: tells the type of the first input of a method.
    """
    fields = [*fields_of_tuple(scope, name)]
    others = (Scope(scope.module, c) for c in scope.classes.values())
    scopes = [scope, *(s for s in others if s.owner is not scope.owner)]
    methods = [
        (s, m) for s in scopes for m in (*s.methods.values(), *s.functions.values())
    ]
    # What is told its sizes says less of them than what reads them off an input.
    for told, (each, method) in itertools.product((False, True), methods):
        plain = _in_terms(method)
        for call in _calls_of(plain, name):
            reader = _reader(each, plain, first(method))
            reader = replace(reader, sizes=_plain_inputs(method) if told else ())
            given = dict(zip(fields, call.args, strict=False))
            given |= {k.arg: k.value for k in call.keywords if k.arg}
            types = {f: reader.type(given[f]) for f in fields if f in given}
            known = {f: text for f, text in types.items() if text}
            if len(known) == len(fields):
                return known
    return {}


def _plain_inputs(method: ast.FunctionDef) -> list[str]:
    """The inputs of a method whose types are those of no arrays: as parts of shapes they are sizes."""
    return [
        a.arg
        for a in method.args.args
        if not isinstance(a.annotation, ast.Subscript) and a.arg not in ("self", _DTYPE)
    ]


def _begun(method: ast.FunctionDef, name: str) -> ast.expr | None:
    """What an input is where it is not given, if one statement says so."""
    found = []
    for node in walk(method):
        match node:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=asked), ops=[ast.Is()], comparators=[none]
                ),
                body=[
                    *_,
                    ast.Assign(targets=[ast.Name(id=target)], value=value),
                ],
            ) if asked == target == name and is_none(none):
                found.append(value)
            case ast.IfExp(
                test=ast.Compare(left=ast.Name(id=asked), ops=[op], comparators=[none]),
                body=body,
                orelse=otherwise,
            ) if asked == name and is_none(none) and isinstance(op, ast.Is | ast.IsNot):
                sides = (body, otherwise)
                made, kept = sides if isinstance(op, ast.Is) else sides[::-1]
                if isinstance(kept, ast.Name) and kept.id == name:
                    found.append(made)
    return found[0] if len(found) == 1 else None


def _results(function: ast.FunctionDef) -> list[ast.expr]:
    returned = [n.value for n in walk(function) if isinstance(n, ast.Return)]
    return [value for value in returned if value is not None]


def _calls(node: ast.expr, function: ast.expr) -> bool:
    """Whether an expression calls a function, which would be looked up in itself."""
    return isinstance(node, ast.Call) and ast.dump(node.func) == ast.dump(function)


def _calls_of(method: ast.FunctionDef, name: str) -> Iterator[ast.Call]:
    for node in walk(method):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called == name:
                yield node


def _reader(scope: Scope, method: ast.FunctionDef, first: str) -> Begins:
    """What reads the arrays that a method makes, which is written in terms of its first input."""
    return Begins(scope, bound_once(method), _SHAPE, _DTYPE, words_of(first))


def _in_terms(method: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of a method in which the shape and the dtype of the first input have names."""
    inputs = [a.arg for a in method.args.args if a.arg != "self"]
    copied = copy.deepcopy(method)
    _InTerms(inputs[0] if inputs else "").visit(copied)
    return copied


class _InTerms(ast.NodeTransformer):
    """`x.shape` and `x.dtype` of an input as names, and `b, t, d = x.shape` as three values."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=targets)], value=ast.Name(id=read)
            ) if read == _SHAPE and not any(
                isinstance(t, ast.Starred) for t in targets
            ):
                places = range(len(targets))
                shape = ast.Name(_SHAPE, ast.Load())
                items: list[ast.expr] = [
                    ast.Subscript(shape, ast.Constant(place), ast.Load())
                    for place in places
                ]
                node.value = ast.Tuple(items, ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        names = {"shape": _SHAPE, "dtype": _DTYPE}
        match node:
            case ast.Attribute(value=ast.Name(id=self.name), attr=attr) if (
                attr in names
            ):
                return ast.Name(names[attr], ast.Load())
        self.generic_visit(node)
        return node
