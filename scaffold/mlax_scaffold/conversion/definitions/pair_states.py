"""States that pairs of functions hand on beside the weights, as states of the class that a pair stands for.

def init(key, dim):
    return {"w": jnp.ones(dim)}, {"mean": jnp.zeros(dim)}
def apply(params, state, x):                                 def __call__(self, x):
    new = {"mean": 0.9 * state["mean"] + x.mean(0)}  becomes     old_mean = self.mean
    return x * params["w"], new                                  self.mean = 0.9 * old_mean + x.mean(0)
                                                                 return x * self.w
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from mlax_scaffold.conversion.declarations.pair_weights import record_fields
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, name, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


@dataclass(frozen=True)
class HandedStates:
    """What a pair makes, apart."""

    weights: ast.expr
    states: list[tuple[str, ast.expr]]
    """What each state begins as, by its attribute."""
    call: ast.FunctionDef
    """The function that is given the weights, which keeps the states itself."""


def handed_states(
    origin: Origin, value: ast.expr | None, call: ast.FunctionDef
) -> HandedStates | None:
    """The states of a pair; None where it has none, or does something else with them."""
    if not isinstance(value, ast.Tuple) or len(value.elts) != 2:
        return None
    weights, begun = value.elts
    given = [a.arg for a in call.args.args if a.arg not in ("self", "cls")]
    found, taken = _parts(origin, begun), _parts(origin, weights)
    if not found or not taken or len(given) < 3:
        return None
    if any(isinstance(v, ast.Dict | ast.List | ast.ListComp) for v in found.values()):
        return None
    attributes = {k: f"{k}_state" if k in taken else k for k in found}
    states = _States(origin, given[1], attributes)
    made = states.run(cloned(call))
    if made is None:
        return None
    return HandedStates(weights, [(attributes[k], v) for k, v in found.items()], made)


def _parts(origin: Origin, node: ast.expr) -> dict[str, ast.expr]:
    """What a dictionary, or a record, holds by name."""
    match node:
        case ast.Dict(keys=keys, values=values):
            titles = [literal(k) if k is not None else None for k in keys]
            if all(isinstance(t, str) and t.isidentifier() for t in titles):
                return dict(zip(map(str, titles), values, strict=True))
        case ast.Call(func=ast.Name(id=title), args=args, keywords=keywords):
            fields = record_fields(origin, title)
            if fields or (title == "dict" and not args):
                found = dict(zip(fields, args, strict=False))
                return found | {str(k.arg): k.value for k in keywords if k.arg}
    return {}


class _States:
    """Writes the function that is given a state so that it keeps it."""

    def __init__(self, origin: Origin, state: str, attributes: dict[str, str]):
        self.origin, self.state, self.attributes = origin, state, attributes
        self.later: set[str] = set()
        """The names of the state after the call."""

    def run(self, call: ast.FunctionDef) -> ast.FunctionDef | None:
        """The function; None where it does something else with the state."""
        ends = [
            p.value for s in call.body for p in _own(s) if isinstance(p, ast.Return)
        ]
        if not ends or not all(
            isinstance(e, ast.Tuple) and len(e.elts) > 1 for e in ends
        ):
            return None
        if {f"old_{key}" for key in self.attributes} & names(call):
            return None
        self.later = {
            end.elts[-1].id  # type: ignore[union-attr]
            for end in ends
            if isinstance(end.elts[-1], ast.Name)  # type: ignore[union-attr]
        } - {self.state}
        body = self._block(call.body)
        read = {k for part in body or () for k in self._read(part)}
        if body is None:
            return None
        before: list[ast.stmt] = []
        for key in [k for k in self.attributes if k in read]:
            target = ast.Name(f"old_{key}", ast.Store())
            before.append(ast.Assign([target], self._own(key)))
        call.body = [
            *before,
            *(_Old(self.state, self.attributes).visit(p) for p in body),
        ]
        left = {n for part in call.body for n in names(part)}
        if left & {self.state, *self.later}:
            return None
        call.args.args = [a for a in call.args.args if a.arg != self.state]
        for part in call.body:
            ast.copy_location(part, call)
        return located(call)

    def _own(self, key: str, context: ast.expr_context | None = None) -> ast.expr:
        return ast.Attribute(name("self"), self.attributes[key], context or ast.Load())

    def _read(self, node: ast.AST) -> set[str]:
        keys = {_key(p, self.state) for p in walk(node)}
        return keys & self.attributes.keys()

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt] | None:
        found: list[ast.stmt] = []
        for node in body:
            for field in ("body", "orelse"):
                inner = getattr(node, field, None)
                # What functions within it return is theirs.
                within = not isinstance(node, ast.FunctionDef)
                if within and isinstance(inner, list) and inner:
                    made = self._block(inner)
                    if made is None:
                        return None
                    setattr(node, field, made or [ast.Pass()])
            made = self._statement(node)
            if made is None:
                return None
            found += made
        return found

    def _statement(self, node: ast.stmt) -> list[ast.stmt] | None:
        match node:
            case ast.Return(value=ast.Tuple(elts=[*results, last])):
                sets = [] if getattr(last, "id", "") in self.later else self._set(last)
                whole = results[0]
                if len(results) > 1:
                    whole = ast.Tuple(results, ast.Load())
                return None if sets is None else [*sets, ast.Return(whole)]
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if (
                local in self.later
            ):
                return self._set(value)
            case ast.Assign(targets=[target], value=value) if key := next(
                (k for n in self.later if (k := _key(target, n))), ""
            ):
                if key not in self.attributes:
                    return None
                return [ast.Assign([self._own(key, ast.Store())], value)]
        return [node]

    def _set(self, value: ast.expr) -> list[ast.stmt] | None:
        """What sets the states that a new one has; None where that is not to be told."""
        if is_name(value, self.state):
            return []
        match value:
            case ast.Dict(keys=[None, *keys], values=[whole, *values]) if is_name(
                whole, self.state
            ):
                value = ast.Dict(keys, values)
            case ast.Call(func=ast.Name(id="dict"), args=[whole]) if is_name(
                whole, self.state
            ):
                value = ast.Call(value.func, [], value.keywords)
            case ast.Call(func=ast.Attribute(value=whole, attr="_replace"), args=[]):
                if is_name(whole, self.state):
                    value = ast.Call(ast.Name("dict", ast.Load()), [], value.keywords)
            case ast.Call(func=ast.Attribute(value=whole, attr="copy"), args=[]):
                if is_name(whole, self.state):
                    return []
        empty = isinstance(value, ast.Dict) and not value.keys
        empty |= isinstance(value, ast.Call) and not value.args and not value.keywords
        parts = _parts(self.origin, value)
        if (not parts and not empty) or parts.keys() - self.attributes.keys():
            return None
        return [
            ast.Assign([self._own(key, ast.Store())], part)
            for key, part in parts.items()
        ]


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement and what is in it, but for what functions in it do."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


class _Old(NodeTransformer):
    """Reads the state as what it was before the call."""

    def __init__(self, state: str, attributes: dict[str, str]):
        self.state, self.attributes = state, attributes

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return self._old(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return self._old(node)

    def _old(self, node: ast.expr) -> ast.expr:
        key = _key(node, self.state)
        return name(f"old_{key}") if key in self.attributes else node


def _key(node: ast.AST, holder: str) -> str:
    """What a node reads, or sets, of a state by name; "" for any other one."""
    match node:
        case ast.Subscript(value=value, slice=index) if is_name(value, holder):
            key = literal(index)
            return key if isinstance(key, str) else ""
        case ast.Attribute(value=value, attr=attr) if is_name(value, holder):
            return attr if attr not in ("copy", "_replace") else ""
    return ""
