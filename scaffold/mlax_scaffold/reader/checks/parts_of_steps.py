"""Finds methods of an optimizer's hyperparameters that read what only a step has: `self.key()`, a moment.

The remedy hands it to them: `def noise(self, grad, key)`, called as `self.noise(grad, self.key())`. What they
set they return then: `self.m = self.averaged(grad, self.m)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.calls_apart import call_apart
from mlax_scaffold.reader.remedies.set_by_methods import Results
from mlax_scaffold.reader.source import Source, self_attribute

_OF_STEPS = {
    "coefficient": "it",
    "key": "a key",
    "mask": "it",
    "moment": "it",
    "scheduled": "its value",
    "state": "it",
    "step": "it",
    "step_number": "it",
    "dither": "it",
    "value": "it",
    "value_and_gradients": "it",
}
"""What only a step has, by what the reader calls such an attribute, and what is handed."""

_SET_IN_STEPS = ("coefficient", "moment", "state")


@dataclass
class _Helper:
    """A method, and what it is to be handed: its parameters by what they stand for."""

    node: ast.FunctionDef
    reads: list[ast.Attribute | ast.Call] = field(default_factory=list)
    """What only a step has; calls of `self.key()`, each of which is a key of its own."""
    sets: list[ast.Attribute] = field(default_factory=list)
    """What it sets of that, which hyperparameters cannot."""
    calls: list[tuple[ast.Call, str]] = field(default_factory=list)
    """Calls of other methods, with their names."""
    given: dict[str, str] = field(default_factory=dict)
    """What is handed to it, by parameter: the text of it in a step."""
    returned: list[str] = field(default_factory=list)
    """What it sets, itself or through another one: the texts of it in a step."""

    @property
    def can_take_more(self) -> bool:
        """Whether parameters can stand behind those that it has, and a key serves each of its draws."""
        arguments = self.node.args
        others = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs)
        inner = (ast.For, ast.While, ast.comprehension, ast.FunctionDef, ast.Lambda)
        again = any(isinstance(n, inner) for s in self.node.body for n in ast.walk(s))
        draws = any(text.endswith("()") for text in self.given.values())
        decorated = bool(self.node.decorator_list or arguments.defaults)
        return not (any(others) or decorated or (again and draws))

    def parameter(self, text: str) -> str:
        """The parameter for a text; each draw has one of its own."""
        known = {given: name for name, given in self.given.items()}
        if text in known and not text.endswith("()"):
            return known[text]
        nodes = [*ast.walk(self.node)]
        taken = {n.id for n in nodes if isinstance(n, ast.Name)} | {*self.given}
        taken |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        name = wanted = text.removeprefix("self.").removesuffix("()")
        count = 1
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        self.given[name] = text
        return name


def check_parts_of_steps(
    source: Source, methods: Sequence[ast.FunctionDef], attributes: Mapping[str, str]
) -> frozenset[str]:
    """Report them; the attributes that are found so, which need no other finding.

    Args:
        source: the spec.
        methods: those of the hyperparameters, properties among them.
        attributes: what each attribute of self is in a step.
    """
    helpers = {m.name: _read(m, methods, attributes) for m in methods}
    sets = [(h.node.name, node) for h in helpers.values() for node in h.sets]
    fix = _handed(source, helpers) or call_apart(source, _set_by(helpers))
    for number, (method, node) in enumerate(sets):
        text = unparsed(node)
        source.report(
            node,
            f"`{text}` is set in a step, and not in `{method}`, a method of hyperparams",
            f"Return the new value, and set it there: `{text} = self.{method}(...)`.",
            fix=None if number else fix,
        )
    found = [h for h in helpers.values() if h.reads]
    for number, helper in enumerate(found):
        first = helper.reads[0]
        attribute = first.func if isinstance(first, ast.Call) else first
        name = self_attribute(attribute) or ""
        shown = f"self.{name}{'()' if isinstance(first, ast.Call) else ''}"
        source.report(
            attribute,
            f"`{shown}` is there in a step, and not in `{helper.node.name}`, a method of hyperparams",
            f"{_hint(helper, _OF_STEPS[attributes[name]])}: `self.{helper.node.name}(..., {shown})`.",
            fix=None if number or sets else fix,
        )
    reads = (r for h in found for r in h.reads)
    names = (self_attribute(r.func if isinstance(r, ast.Call) else r) for r in reads)
    return frozenset(filter(None, names))


def _set_by(helpers: Mapping[str, _Helper]) -> dict[str, set[str | None]]:
    """What each method sets, itself or through another one; none of those that set nothing."""
    found = {h.node.name: {self_attribute(n) for n in h.sets} for h in helpers.values()}
    for _ in helpers:
        for helper in helpers.values():
            for _, name in helper.calls:
                found[helper.node.name] |= found[name]
    return {name: names for name, names in found.items() if names}


def _hint(helper: _Helper, what: str) -> str:
    given = "Make it a method, and hand" if helper.node.decorator_list else "Hand"
    return f"{given} {what} to it"


def _read(
    method: ast.FunctionDef,
    methods: Sequence[ast.FunctionDef],
    attributes: Mapping[str, str],
) -> _Helper:
    helper = _Helper(method)
    others = {m.name for m in methods}
    nodes = [*_in_order(method)]
    draws = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    items = {id(n.value) for n in nodes if isinstance(n, ast.Subscript) and _is_set(n)}
    for node in nodes:
        match node:
            case ast.Call(func=function) if name := self_attribute(function):
                if name in others:
                    helper.calls.append((node, name))
                elif attributes.get(name) == "key":
                    helper.reads.append(node)
            case ast.Attribute() if (name := self_attribute(node)) and (
                id(node) in items or _is_set(node)
            ):
                if attributes.get(name) in _SET_IN_STEPS:
                    helper.sets.append(node)
            case ast.Attribute(ctx=ast.Load()) if name := self_attribute(node):
                what = attributes.get(name)
                if what in _OF_STEPS and not (what == "key" and id(node) in draws):
                    helper.reads.append(node)
    return helper


def _is_set(node: ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Store)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _handed(source: Source, helpers: Mapping[str, _Helper]) -> Fix | None:
    """Each method with parameters for what it reads, and each call with what they stand for."""
    called = {name: {callee for _, callee in h.calls} for name, h in helpers.items()}
    try:
        order = [*TopologicalSorter(called).static_order()]
    except CycleError:
        return None
    if not all(_is_set(node) for h in helpers.values() for node in h.sets):
        return None  # An item of what it is handed would be one of a copy.
    results = Results(source)
    edits, calls = [], set[ast.Call]()
    for helper in map(helpers.__getitem__, order):
        for read in (*helper.reads, *helper.sets):
            text = source.text_of(read)
            edits.append(source.edit(read, helper.parameter(text)))
        helper.returned += [source.text_of(node) for node in helper.sets]
        for call, name in helper.calls:
            calls.add(call)
            given = map(helper.parameter, helpers[name].given.values())
            edits += _with_arguments(source, call, given)
            results.set_by(call, map(helper.parameter, helpers[name].returned))
            helper.returned += helpers[name].returned
        helper.returned = [*dict.fromkeys(helper.returned)]
        results.returned_by(helper.node, map(helper.parameter, helper.returned))
        if helper.given:
            if not helper.can_take_more:
                return None
            added = "".join(f", {name}" for name in helper.given)
            end = source.end(helper.node.args.args[-1])
            edits.append(source.replace(end, end, added))
    given = {name: h.given.values() for name, h in helpers.items() if h.given}
    functions = set[ast.expr]()
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=function) if (name := self_attribute(function)) in given:
                functions.add(function)
                if node not in calls:
                    edits += _with_arguments(source, node, given[name])
                    results.set_by(node, helpers[name].returned)
            case ast.Attribute() if self_attribute(node) in given:
                if node not in functions:
                    return None
    return Fix((*edits, *results.edits)) if results.edits is not None else None


def _with_arguments(source: Source, call: ast.Call, given: Iterable[str]) -> list[Edit]:
    """A call with further arguments at its end."""
    line, column = source.end(call)
    place = line, column - 1
    before = [""] if call.args or call.keywords else []
    added = ", ".join([*before, *given])
    return [source.replace(place, place, added)] if added else []
