"""Objects of plain classes that hold settings, and are handed their weights, as objects that hold these.

class Linear:                                        class Linear:
    def __init__(self, n, m):                            def __init__(self, n, m, *, key):
        self.n, self.m = n, m                                self.n, self.m = n, m
    def init(self, key):                   becomes           self.w = normal(key, (self.n, self.m))
        return {"w": normal(key, (self.n, self.m))}
    def __call__(self, params, x):                       def __call__(self, x):
        return x @ params["w"]                               return x @ self.w
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.conversion.output.description import Pair
from mlax_scaffold.conversion.source.arguments_of import method_of, without_arguments
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    name,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_MAKES = ("init", "init_params", "init_weights", "initialize")
_CALLS = ("__call__", "apply", "forward")
_WEIGHTS = ("params", "weights", "variables", "theta", "parameters")


@dataclass
class _Object:
    """A class, what makes its weights, and what is handed them."""

    node: ast.ClassDef
    start: ast.FunctionDef
    make: ast.FunctionDef
    call: ast.FunctionDef
    key: str
    weights: str
    """What the call names them."""


def without_weightless_objects(
    origin: Origin, thing: str, notes: Notes
) -> dict[str, Pair]:
    """Write such classes so, in place; the two methods of each, by the name of the class."""
    found = [o for n in origin.classes.values() if (o := _object(origin, n))]
    while True:
        known = {o.node.name for o in found}
        made = {o.node.name: _written(origin, o, known) for o in found}
        # An object whose part stays as it is does so, too.
        left = [o for o in found if made[o.node.name] is None]
        for one in left:
            if one.node.name == thing:
                notes.refuse(
                    one.call,
                    f"`{one.weights}` that `{one.make.name}` makes, and that the call is handed as a whole",
                    'return a dictionary of arrays, and read it by name, `params["w"]`',
                )
        if not left:
            break
        found = [o for o in found if o not in left]
    pairs: dict[str, Pair] = {}
    for one in found:
        node, pair = made[one.node.name] or (one.node, None)
        one.node.body = node.body
        if pair is not None:
            pairs[node.name] = pair
    located(origin.tree)
    return pairs


def _written(
    origin: Origin, one: _Object, known: set[str]
) -> tuple[ast.ClassDef, Pair] | None:
    """Such a class as one that holds its weights, and its methods; None where that is not told."""
    node = cloned(one.node)
    copied = _object(origin, node)
    assert copied is not None
    places = _held(copied, known)
    if places is None:
        return None
    return node, Pair((one.make.name, one.call.name), tuple(places), (one.key,))


def _object(origin: Origin, node: ast.ClassDef) -> _Object | None:
    if framework_of(origin, node) != "plain":
        return None
    start = method_of(node, "__init__")
    make = next((m for n in _MAKES if (m := method_of(node, n))), None)
    call = next((m for n in _CALLS if (m := method_of(node, n))), None)
    if start is None or make is None or call is None:
        return None
    keys = [a.arg for a in make.args.args[1:]]
    given = [a.arg for a in call.args.args[1:]]
    plain = not make.decorator_list and not call.decorator_list
    if not plain or len(keys) != 1 or keys[0] not in KEYS:
        return None
    if not given or given[0] not in _WEIGHTS:
        return None
    return _Object(node, start, make, call, keys[0], given[0])


def _held(one: _Object, known: set[str]) -> list[str] | None:
    """The attributes that hold the weights then, in place; None where these are not told one by one."""
    *body, last = without_docstring(one.make.body)
    if not isinstance(last, ast.Return):
        return None
    local = last.value.id if isinstance(last.value, ast.Name) else ""
    holder = _Making(one, local, _parts(one.start, known))
    lines = [holder.visit(part) for part in body]
    lines = [
        line for part in lines for line in (part if isinstance(part, list) else [part])
    ]
    if isinstance(last.value, ast.Dict):
        lines += holder.of(last.value)
    called = _Called(one.weights, holder.parts, holder.made)
    for method in one.node.body:
        if isinstance(method, ast.FunctionDef) and method is one.call:
            method.body = [called.visit(part) for part in method.body]
    left = [p for p in walk(one.call) if is_name(p, one.weights)]
    left += [p for line in lines for p in walk(line) if local and is_name(p, local)]
    # A weight has no name that something else has.
    taken = {self_attribute(p) for p in walk(one.start)} | {
        m.name for m in one.node.body if isinstance(m, ast.FunctionDef)
    }
    if (
        left
        or holder.failed
        or {*holder.made} & taken
        or not (holder.made or holder.parts)
    ):
        return None
    for part in walk(one.start):
        if isinstance(part, ast.Call) and getattr(part.func, "id", "") in known:
            part.keywords.append(ast.keyword("key", name(one.key)))
    one.start.args.kwonlyargs.append(ast.arg(one.key))
    one.start.args.kw_defaults.append(None)
    one.start.body += lines
    one.node.body.remove(one.make)
    without_arguments(one.call.args, {one.weights})
    return [*holder.made, *holder.parts]


def _parts(start: ast.FunctionDef, known: set[str]) -> set[str]:
    """The attributes that hold objects of such classes."""
    return {
        attribute
        for part in walk(start)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and getattr(part.value.func, "id", "") in known
        and (attribute := self_attribute(part.targets[0]))
    }


class _Making(NodeTransformer):
    """Assigns each weight to an attribute."""

    def __init__(self, one: _Object, local: str, objects: set[str]):
        self.one, self.local, self.objects = one, local, objects
        self.made: list[str] = []
        self.parts: dict[str, str] = {}
        """Parts whose weights the object holds, by what they are called among its own."""
        self.failed = False

    def of(self, node: ast.Dict) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for key, value in zip(node.keys, node.values, strict=True):
            title = literal(key)
            if not isinstance(title, str) or not title.isidentifier():
                self.failed = True
                continue
            found += self._weight(title, value)
        return found

    def _weight(self, title: str, value: ast.expr) -> list[ast.stmt]:
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Attribute() as part, attr=attr)):
                attribute = self_attribute(part) or ""
                if attribute in self.objects and attr in _MAKES:
                    self.parts[title] = attribute
                    # The weights of both have one name.
                    self.failed = self.failed or title != attribute
                    return []
        if title not in self.made:
            self.made.append(title)
        target = ast.Attribute(name("self"), title, ast.Store())
        return [ast.copy_location(ast.Assign([target], value), value)]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Dict() as value):
                if local == self.local:
                    return self.of(value)
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=local), slice=at)]
            ):
                title = literal(at)
                if local == self.local and isinstance(title, str):
                    return self._weight(title, node.value)
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


class _Called(NodeTransformer):
    """Reads the weights of the object."""

    def __init__(self, weights: str, parts: dict[str, str], made: list[str]):
        self.weights, self.parts, self.made = weights, parts, made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        attribute = self_attribute(node.func)
        match node.args:
            case [ast.Subscript(value=holder, slice=at), *rest]:
                held = self.parts.get(str(literal(at)))
                if is_name(holder, self.weights) and held and held == attribute:
                    node.args = rest
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if is_name(node.value, self.weights) and literal(node.slice) in self.made:
            made = ast.Attribute(name("self"), str(literal(node.slice)), ast.Load())
            return ast.copy_location(made, node)
        self.generic_visit(node)
        return node
