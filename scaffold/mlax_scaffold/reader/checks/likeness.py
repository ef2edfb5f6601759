"""Which array of a body has the dtype that the body computes in."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.evidence import Evidence
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.checks.exactness import qualified, word_of
from mlax_scaffold.reader.checks.number_arguments import (
    number_arguments,
    numpy_arguments,
)
from mlax_scaffold.reader.source import class_of, dotted, self_attribute

FLOATING = ("Float", "Real")
"""Words of arrays that a body may compute in the dtype of."""
UPDATED = ["self", "grad", "param"]
"""What an update of a weight takes, which is computed in the dtype that its gradient arrives in."""
_OF_ARRAYS = frozenset(("T", "astype", "at", "dtype", "mT", "ndim", "reshape", "shape"))
"""Attributes that only arrays have."""
_STATIC = frozenset(
    [
        *("arange", "eye", "full", "geomspace", "identity", "linspace", "logspace"),
        *("ones", "split", "tri", "zeros"),
    ]
)
"""Functions that are given numbers, or keys."""

_OF_FLOATS = (
    "jax.numpy.linalg.",
    *(
        f"functional.{name}"
        for name in (
            *("l2_norm", "log_softmax", "logsumexp", "mean", "moments", "rms"),
            *("softmax", "standardize", "std", "sum", "var"),
        )
    ),
)
"""Beginnings of the names of functions that are given a floating array first."""


def first_of(arguments: Iterable[ast.arg], *words: str) -> str | None:
    """The first argument whose type is an array of one of those words."""
    for argument in arguments:
        match argument.annotation:
            case ast.Subscript(value=ast.Name(id=word)) if word in words:
                return argument.arg
    return None


def floating_of(
    tree: ast.Module, arguments: Iterable[ast.arg], *words: str
) -> str | None:
    """The first floating array that arguments are, or that is a field of one: `graph.nodes`."""
    words = (*FLOATING, *words)
    for argument in arguments:
        if first_of([argument], *words):
            return argument.arg
        if isinstance(argument.annotation, ast.Name):
            field = _first_field(tree, argument.annotation.id, words)
            if field is not None:
                return argument.arg + field
    return None


def _first_field(tree: ast.Module, name: str, words: tuple[str, ...]) -> str | None:
    """How the first floating array of a NamedTuple or a TypedDict of the module is read."""
    for statement in tree.body:
        match statement:
            case ast.ClassDef(bases=[base]) if statement.name == name:
                for part in statement.body:
                    match part:
                        case ast.AnnAssign(
                            target=ast.Name(id=field),
                            annotation=ast.Subscript(value=ast.Name(id=word)),
                        ) if word in words:
                            of_dict = (dotted(base) or "").endswith("TypedDict")
                            return f'["{field}"]' if of_dict else f".{field}"
    return None


def like_of(
    call: ast.Call,
    tree: ast.Module,
    method: ast.FunctionDef,
    imports: Mapping[str, Import],
    attributes: Mapping[str, str],
) -> str | None:
    """The array whose dtype what a call makes should have; None where nothing tells.

    Of a method that is given inputs it is the first floating one; of any other function the array
    whose shape is asked for, else the first one that is used as an array; and of a method that
    is given none, a weight, or what a layer gives.
    """
    given = (*method.args.posonlyargs, *method.args.args)
    floating = floating_of(tree, given)
    if floating is not None:
        return floating
    names = [a.arg for a in given]
    if names == UPDATED:
        return UPDATED[1]
    if "dtype" in names:
        return None
    plain = {a.arg for a in given if a.annotation is None} - {"self", "key", "rng"}
    if plain and method.name == "forward":
        return None
    if plain:
        arrays = [*_shaped(call), *_arrays(method, imports)]
        other = _rebound(method, call) | arguments_without_dtype(tree, method)
        return next((n for n in arrays if n in plain - other), None)
    if names[:1] != ["self"] or method.name in ("setup", "setup_tree"):
        return None
    read = (n for n in walk(method) if isinstance(n, ast.Attribute))
    weights = {self_attribute(n) for n in read} & {
        name for name, what in attributes.items() if what == "trainable"
    }
    owner = class_of(tree, method)
    weights = {*filter(None, weights)} - (_declared(owner) - single_arrays(owner))
    if weights:
        return f"self.{min(weights)}"
    return given_by_layer(tree, method, call)


def single_arrays(owner: ast.ClassDef | None) -> set[str]:
    """What a class declares as one weight or state each, and not as a container of several."""
    return {
        name
        for name, value in _declarations(owner)
        if isinstance(value, ast.Call) and dotted(value.func) in ("trainable", "state")
    }


def _declared(owner: ast.ClassDef | None) -> set[str]:
    return {name for name, _ in _declarations(owner)}


def _declarations(owner: ast.ClassDef | None) -> Iterator[tuple[str, ast.expr]]:
    for node in walk(owner) if owner else ():
        match node:
            case ast.Assign(targets=[target], value=value):
                name = self_attribute(target)
                if name is not None:
                    yield name, value.body if isinstance(value, ast.IfExp) else value


def given_by_layer(
    tree: ast.Module, method: ast.FunctionDef, before: ast.AST | None = None
) -> str | None:
    """The first name that is bound once to what a layer gives, `h = self.embed(tokens)`, before a node."""
    layers = {
        name
        for name, value in _declarations(class_of(tree, method))
        if isinstance(value, ast.Call)
        and (dotted(value.func) or "").rpartition(".")[2][:1].isupper()
    }
    for statement in method.body:
        if before is not None and any(node is before for node in walk(statement)):
            return None
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=layer)):
                if self_attribute(layer) in layers and _times_bound(method, name) == 1:
                    return name
    return None


def _times_bound(method: ast.FunctionDef, name: str) -> int:
    names = (n for n in walk(method) if isinstance(n, ast.Name) and n.id == name)
    return sum(isinstance(n.ctx, ast.Store) for n in names)


def array_given(
    tree: ast.Module, method: ast.FunctionDef, imports: Mapping[str, Import]
) -> str | None:
    """The first argument of a function without types that it uses as an array."""
    given = (*method.args.posonlyargs, *method.args.args)
    plain = {a.arg for a in given if a.annotation is None} - {"self", "key", "rng"}
    other = _rebound(method) | arguments_without_dtype(tree, method)
    return next((n for n in _arrays(method, imports) if n in plain - other), None)


def array_handed(tree: ast.Module, method: ast.FunctionDef) -> str | None:
    """The first argument that a caller gives a floating input of its own: `x` of `self.bound(x)`."""
    found = next(_handed(tree, method, FLOATING), None)
    return None if found in _rebound(method) else found


def exact_arguments(tree: ast.Module, method: ast.FunctionDef) -> set[str]:
    """The arguments that a caller gives an input, or a state, of integers or booleans of its own.

    And those without a type that are indices in the body, or of which its docstring says so.
    """
    said = ast.get_docstring(method) or ""
    known = Evidence(Scope(tree), said=said).of(method)
    typed = {a.arg for a in method.args.args if a.annotation is not None}
    own = {name for name, input in known.items() if input.kind in ("Int", "Bool")}
    own -= {*typed, *_cast(tree, method)}
    return {*_handed(tree, method, ("Int", "Bool"))} | own


def arguments_without_dtype(tree: ast.Module, method: ast.FunctionDef) -> set[str]:
    """The arguments that no body computes in the dtype of: exact ones, numbers, and what NumPy makes."""
    found = exact_arguments(tree, method) | number_arguments(tree, method)
    return found | numpy_arguments(tree, method)


def _handed(
    tree: ast.Module, method: ast.FunctionDef, words: tuple[str, ...]
) -> Iterator[str]:
    states = _exact_states(tree) if "Int" in words else set()
    for caller, name, value in _given(tree, method):
        arguments = (*caller.args.args, *caller.args.kwonlyargs)
        inputs = {a.arg for a in arguments if word_of(a) in words}
        if dotted(value) in inputs | states:
            yield name


def _cast(tree: ast.Module, method: ast.FunctionDef) -> Iterator[str]:
    """The arguments that a caller gives in the dtype of an array: `mask.astype(x.dtype)`."""
    for _, name, value in _given(tree, method):
        match value:
            case ast.Call(
                func=ast.Attribute(attr="astype"), args=[ast.Attribute(attr="dtype")]
            ):
                yield name


def _given(
    tree: ast.Module, method: ast.FunctionDef
) -> Iterator[tuple[ast.FunctionDef, str, ast.expr]]:
    """What callers give for the arguments of a method or a function, by place."""
    given = [*method.args.posonlyargs, *method.args.args]
    member = bool(given) and given[0].arg == "self"
    for caller in (n for n in walk(tree) if isinstance(n, ast.FunctionDef)):
        for call in (n for n in walk(caller) if isinstance(n, ast.Call)):
            called = self_attribute(call.func) if member else dotted(call.func)
            if called == method.name:
                for argument, value in zip(given[member:], call.args, strict=False):
                    yield caller, argument.arg, value


def _exact_states(tree: ast.Module) -> set[str]:
    """The states that are declared with a dtype of integers or booleans: `self.steps`."""
    found = set()
    for node in walk(tree):
        match node:
            case ast.Assign(
                targets=[target],
                value=ast.Call(func=ast.Name(id="state"), args=[_, _, dtype]),
            ):
                kind = (dotted(dtype) or "").rpartition(".")[2]
                if kind.startswith(("int", "uint", "bool")):
                    found.add(f"self.{self_attribute(target)}")
    return found


def _rebound(method: ast.FunctionDef, before: ast.expr | None = None) -> set[str]:
    """The names that are bound to what may be of another dtype; those bound ahead of `before` alone.

    What is computed of itself, as in `a = a + b`, stays what it is.
    """
    if before is not None and _repeats(method, before):
        before = None
    same: set[ast.AST] = set()
    for node in walk(method):
        match node:
            case ast.AugAssign(target=ast.Name() as name):
                same.add(name)
            case ast.Assign(targets=[ast.Name() as name], value=value):
                if name.id in _terms(value):
                    same.add(name)
    return {
        n.id
        for n in walk(method)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in same
        if before is None or n.lineno < before.lineno
    }


def _repeats(method: ast.FunctionDef, part: ast.expr) -> bool:
    """Whether a part of a method stands in a loop, or in a function in it."""
    repeated = ast.For | ast.While | ast.FunctionDef | ast.Lambda
    return any(
        part in walk(n)
        for n in walk(method)
        if isinstance(n, repeated) and n is not method
    )


def _terms(node: ast.expr) -> Iterator[str]:
    """The names that an expression is the sum, the difference or the product of."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            yield from _terms(left)
            yield from _terms(right)
        case ast.Name(id=name):
            yield name


def _shaped(call: ast.Call) -> Iterator[str]:
    """`x` of what is given `x.shape`."""
    for node in walk(call):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                yield name


def _arrays(method: ast.FunctionDef, imports: Mapping[str, Import]) -> Iterator[str]:
    """The names that are used as arrays are."""
    for node in walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                attr in _OF_ARRAYS
            ):
                yield name
            case ast.BinOp(left=ast.Name(id=name), op=ast.MatMult()):
                yield name
            case ast.BinOp(op=ast.MatMult(), right=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=called)):
                module = imports[owner].meaning if owner in imports else ""
                if module == "jax.numpy" and called not in _STATIC:
                    yield from (a.id for a in node.args if isinstance(a, ast.Name))
            case ast.Call(func=function, args=[ast.Name(id=name), *_]) if (
                qualified(function, imports) or ""
            ).startswith(_OF_FLOATS):
                yield name
