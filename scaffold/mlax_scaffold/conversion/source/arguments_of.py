"""Constructors and methods of classes, as syntax: what they are given, and that without some of it."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Set

from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk


def method_of(node: ast.ClassDef, title: str) -> ast.FunctionDef | None:
    """The method of that name; None where the class has none of its own."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == title:
            return part
    return None


def arguments_given(function: ast.FunctionDef) -> list[ast.arg]:
    """The parameters of a function, or of a method beside its object."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [a for a in given if a.arg not in ("self", "cls")]


def begins_weights(function: ast.FunctionDef) -> bool:
    """Whether a function makes the numbers of a weight: it is given a key and a shape first."""
    given = [a.arg for a in function.args.args[:2]]
    return len(given) == 2 and given[0] in KEYS and given[1] in ("shape", "size")


def with_defaults(given: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters that have defaults, with those."""
    late = given.args[len(given.args) - len(given.defaults) :]
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [
        *zip(late, given.defaults, strict=True),
        *((a, d) for a, d in named if d is not None),
    ]


def defaults_of(given: ast.arguments) -> dict[str, ast.expr]:
    """The defaults of parameters, by name."""
    return {argument.arg: default for argument, default in with_defaults(given)}


def beside_self(given: ast.arguments, *, open_ended: bool = False) -> ast.arguments:
    """What a method is given beside the object; where it is open-ended, what takes all else, too."""
    return ast.arguments(
        posonlyargs=[],
        args=given.args[1:],
        vararg=given.vararg if open_ended else None,
        kwonlyargs=given.kwonlyargs,
        kw_defaults=given.kw_defaults,
        kwarg=given.kwarg if open_ended else None,
        defaults=given.defaults,
    )


def absent_by_default(node: ast.ClassDef) -> set[str]:
    """The parameters of methods that are None where nothing is given."""
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    return {
        name
        for method in methods
        for name, default in defaults_of(method.args).items()
        if isinstance(default, ast.Constant) and default.value is None
    }


def without_arguments(given: ast.arguments, gone: Container[str]) -> None:
    """Take parameters out, in place."""
    defaults = defaults_of(given)
    kept = [a for a in given.args if a.arg not in gone]
    given.defaults = [defaults[a.arg] for a in kept if a.arg in defaults]
    given.args = kept
    named = [
        (a, d)
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if a.arg not in gone
    ]
    given.kwonlyargs = [a for a, _ in named]
    given.kw_defaults = [d for _, d in named]


def without_parameters(
    tree: ast.Module, node: ast.ClassDef, start: ast.FunctionDef, gone: Set[str]
) -> None:
    """Take parameters out of a constructor, and out of all calls of its class, in place."""
    places = [a.arg for a in start.args.args[1:]]
    without_arguments(start.args, gone)
    for call in walk(tree):
        if isinstance(call, ast.Call) and is_name(call.func, node.name):
            call.keywords = [k for k in call.keywords if k.arg not in gone]
            for place in reversed(range(min(len(places), len(call.args)))):
                if places[place] in gone:
                    del call.args[place]


def with_values(node: ast.stmt, values: Mapping[str, ast.expr]) -> ast.stmt:
    """A statement with values in the place of names that are read, changed in place."""
    made = _Values(values).visit(node)
    for part in walk(made):
        if isinstance(part, ast.expr) and not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return made


class _Values(NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return cloned(value) if value is not None else node


def stored_names(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds."""
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def given_to(start: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """What a call gives each parameter of a constructor; None where that is not to be told."""
    given = start.args
    places = [a.arg for a in given.args[1:]]
    named = {*places, *(a.arg for a in given.kwonlyargs)}
    spread = any(isinstance(a, ast.Starred) for a in call.args)
    spread = spread or any(k.arg is None for k in call.keywords)
    if spread or given.vararg is not None or len(call.args) > len(places):
        return None
    bound = defaults_of(given)
    bound |= dict(zip(places, call.args, strict=False))
    more = {str(k.arg): k.value for k in call.keywords if k.arg not in named}
    bound |= {str(k.arg): k.value for k in call.keywords if k.arg in named}
    if more and given.kwarg is None:
        return None
    if given.kwarg is not None:
        keys: list[ast.expr | None] = [ast.Constant(k) for k in more]
        bound[given.kwarg.arg] = ast.Dict(keys, [*more.values()])
    return bound if named <= bound.keys() else None
