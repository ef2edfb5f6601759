"""Functions of a file that begin weights, as functions of a key, a shape and a dtype where they are given.

self.param("a", partial(ring, low=0.5), (dim,))           lambda key, shape, dtype: ring(key, shape, low=0.5)
nn.Dense(dim, kernel_init=lambda k, s, d: ...)    become  lambda key, shape, dtype: ...

What a function makes without a dtype is of that of the weight.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.leaf_functions import as_lambda, called
from mlax_scaffold.conversion.forms.straightened import straighten
from mlax_scaffold.conversion.source.arguments_of import begins_weights, defaults_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    name,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, OWN_INITIALIZER
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_PLACES = ("key", "shape", "dtype")


def with_own_initializers(origin: Origin) -> None:
    """Write them so, in place, in classes of flax."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "nnx"):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _Given(origin, method).write()
    located(origin.tree)


class _Given:
    """The initializers that one method gives."""

    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin, self.method = origin, method
        self.local = {
            p.name: p
            for p in walk(method)
            if isinstance(p, ast.FunctionDef) and p is not method
        }

    def write(self) -> None:
        for call in walk(self.method):
            if not isinstance(call, ast.Call):
                continue
            if self_attribute(call.func) == "param" and len(call.args) > 2:
                made = self._of(call.args[1], call.args[3:])
                if made is not None:
                    call.args[1:] = [made, call.args[2]]
            for keyword in call.keywords:
                if str(keyword.arg).endswith("_init"):
                    keyword.value = self._of(keyword.value, []) or keyword.value
        for title, function in self.local.items():
            uses = [p for p in walk(self.method) if is_name(p, title)]
            if not uses and _draws(function) and function in self.method.body:
                self.method.body.remove(function)

    def _of(self, node: ast.expr, more: list[ast.expr]) -> ast.Lambda | None:
        """An initializer; None where it is one as it is, or none of the file's."""
        match node:
            case ast.Lambda():
                return _named(node, [a.arg for a in node.args.args], more)
            case ast.Name(id=title) if title in self.local:
                whole = whole_function(self.local[title])
                return whole and _named(whole, [a.arg for a in whole.args.args], more)
            case ast.Name(id=title) if title in self.origin.functions:
                function = self.origin.functions[title]
                return self._calling(function, node, [], more)
            case ast.Call(func=func, args=[ast.Name(id=title), *args]) if (
                self.origin.qualified(func) == "functools.partial"
                and title in self.origin.functions
            ):
                function = self.origin.functions[title]
                return self._calling(function, node.args[0], node.keywords, more + args)
            case ast.Call(func=ast.Name(id=title)) if title in self.origin.functions:
                whole = whole_function(self.origin.functions[title])
                bound = whole and _bound(self.origin.functions[title], node)
                if whole is None or bound is None:
                    return None
                inner = called(replaced(whole.body, bound))
                if isinstance(inner, ast.Lambda):
                    return _named(inner, [a.arg for a in inner.args.args], more)
        return None

    def _calling(
        self,
        function: ast.FunctionDef,
        func: ast.expr,
        keywords: list[ast.keyword],
        more: list[ast.expr],
    ) -> ast.Lambda | None:
        """A function that calls one of the file; None where that is one as it is."""
        given = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
        if not begins_weights(function) or more:
            return None
        if "dtype" not in given:
            function.args.args.append(ast.arg("dtype"))
            function.args.defaults.append(ast.Constant(None))
            given.append("dtype")
        if given[2:3] == ["dtype"] and not keywords:
            return None
        named = [*keywords]
        if not any(k.arg == "dtype" for k in keywords):
            named.append(ast.keyword("dtype", name("dtype")))
        return _lambda(ast.Call(func, [name("key"), name("shape")], named))


def _draws(function: ast.FunctionDef) -> bool:
    return bool(function.args.args) and function.args.args[0].arg in KEYS


def whole_function(function: ast.FunctionDef) -> ast.Lambda | None:
    """A function as one expression, also where it takes keys apart; None where it is none."""
    made = cloned(function)
    for part in walk(made):
        if isinstance(part, ast.FunctionDef):
            part.body = [s for p in part.body for s in _single(p)]
    straighten(made)
    return as_lambda(made)


def _single(node: ast.stmt) -> list[ast.stmt]:
    """`k1, k2 = split(key)` as two statements."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if all(
            isinstance(t, ast.Name) for t in targets
        ) and not isinstance(value, ast.Tuple):
            return [
                ast.copy_location(
                    ast.Assign(
                        [target],
                        expression("v[i]", v=value, i=ast.Constant(place)),
                    ),
                    node,
                )
                for place, target in enumerate(targets)
            ]
    return [node]


def _bound(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    places = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    bound = defaults_of(function.args)
    bound |= dict(zip(places, call.args, strict=False))
    bound |= {str(k.arg): k.value for k in call.keywords}
    return bound if bound.keys() == {*places} else None


def _named(
    whole: ast.Lambda, given: list[str], more: list[ast.expr]
) -> ast.Lambda | None:
    """A function of a key and a shape, and of a dtype perhaps, with the names that these have here."""
    if len(given) < 2 or given[0] not in (*KEYS, "k", "_"):
        return None
    rest = [g for g in given[2:] if g not in ("dtype", "d", "dt", "_")]
    if len(rest) > len(more) and given[2:] and rest != given[2:3]:
        return None
    titles: dict[str, ast.expr] = {given[0]: name("key"), given[1]: name("shape")}
    if more and rest:
        titles |= dict(zip(rest, more, strict=False))
        rest = rest[len(more) :]
    titles |= {g: name("dtype") for g in (*rest, *given[2:]) if g not in titles}
    return _lambda(replaced(whole.body, titles))


def _lambda(body: ast.expr) -> ast.Lambda:
    arguments = [ast.arg(a) for a in _PLACES]
    made = ast.Lambda(ast.arguments([], arguments, None, [], [], None, []), body)
    setattr(made, OWN_INITIALIZER, True)
    return made
