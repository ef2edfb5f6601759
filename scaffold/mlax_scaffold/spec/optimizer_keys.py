"""Hands every place of an optimizer's method that takes a PRNG key its number, see `numbering`."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mlax_scaffold.reader.closures import Closures, closures, effects_in
from mlax_scaffold.reader.constructs import Effect
from mlax_scaffold.reader.evaluation import COMPREHENSIONS
from mlax_scaffold.reader.looping import of_parts
from mlax_scaffold.reader.numbering import Numbering, loop_fields
from mlax_scaffold.reader.numbering import numbered as places_of
from mlax_scaffold.reader.repeating import closures_of_step
from mlax_scaffold.reader.source import self_attribute
from mlax_scaffold.spec.declared import parse
from mlax_scaffold.spec.nested import NestedRoutes, routed
from mlax_scaffold.spec.occurrences import Method
from mlax_scaffold.spec.sub_optimizers import made_optimizers

if TYPE_CHECKING:
    from mlax_scaffold.spec.optimizer import Optimizer


@functools.cache
def numbered(owner: type[Optimizer], function: Any) -> Method:
    """A method that asks for keys by number."""
    tree = parse(function)

    def draws(call: ast.Call, loops: Mapping[str, str]) -> bool:
        return _kind(owner, call, loops) is not None

    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    found = places_of(tree, draws, _closures(owner, definition))
    tree = ast.fix_missing_locations(_Routes(owner, found).visit(tree))
    namespace: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<spec>", "exec")
    exec(code, function.__globals__, namespace)
    return Method(namespace[function.__name__], found.places)


def _closures(owner: type[Optimizer], method: ast.FunctionDef) -> Closures:
    """The functions inside of a method that draw or change states."""
    single = _single(owner)
    several = owner._fields_.holding("optimizers")
    effects = dict.fromkeys((*single, *several), Effect(True, True, own=True))
    effects["key"] = Effect(draws=True)
    states = {*_declared(owner), *(f"{name}.state" for name in single)}

    def found(effects: Mapping[str, Effect]) -> Closures:
        return closures(method, effects_in(method, effects, several, states))

    return closures_of_step(method, effects, single, found)


def _declared(owner: type[Optimizer]) -> Iterator[str]:
    """The moments and states that `setup` and `setup_tree` of a class declare."""
    for name in ("setup", "setup_tree"):
        function = vars(owner).get(name)
        for node in ast.walk(parse(function)) if function is not None else ():
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if stored and (attribute := self_attribute(node)):
                yield attribute


def _single(owner: type[Optimizer]) -> tuple[str, ...]:
    """The attributes that are one optimizer."""
    return (*owner._fields_.holding("optimizer"), *made_optimizers(owner))


def _kind(
    owner: type[Optimizer], node: ast.Call, loops: Mapping[str, str]
) -> str | None:
    """What takes a key in a call: "key", "applied", "optimizer"; None where nothing does."""
    single = _single(owner)
    match node.func:
        case ast.Attribute(attr="key") as called if self_attribute(called) == "key":
            return "key"
        case ast.Attribute(value=inner, attr="apply") if (
            self_attribute(inner) in single
        ):
            return "applied"
        case ast.Name(id=name) if loops.get(name) in owner._fields_.holding(
            "optimizers"
        ):
            return "optimizer"
        case called if self_attribute(called) in single:
            return "optimizer"
    return None


class _Routes(NestedRoutes, ast.NodeTransformer):
    def __init__(self, owner: type[Optimizer], found: Numbering) -> None:
        super().__init__(found, {})
        self.owner = owner
        # The variables of the loops around, with the fields that they come from.
        self.loops: Mapping[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        run = self.found.closures.calls.get(id(node))
        if run is not None:
            return self.run(node, run)
        kind = _kind(self.owner, node, self.loops)
        number = ast.Constant(self.found.numbers.get(id(node)))
        self.generic_visit(node)
        match kind, node.func:
            case "key", _:
                return routed(node, "_key_", [number], [])
            case "applied", ast.Attribute(value=optimizer) as called:
                called.value = routed(optimizer, "_given_", [number, optimizer], [])
            case "optimizer", optimizer:
                node.func = routed(optimizer, "_given_", [number, optimizer], [])
        return node

    def _optimizers(self, loop: ast.For | ast.comprehension) -> dict[str, str]:
        """The variables of a loop that are optimizers, with the fields that hold them."""
        several = self.owner._fields_.holding("optimizers")
        return {v: f for v, f in loop_fields(loop).items() if f in several}

    def visit_For(self, node: ast.For) -> ast.For:
        fields = self._optimizers(node)
        node.iter = self.visit(node.iter)
        places = self.found.passes.get(id(node))
        if places is not None:
            number = ast.Constant(self.found.numbers[id(node)])
            given = [number, ast.Constant(places), node.iter, _most(fields, node)]
            node.iter = routed(node.iter, "_passes_", given, [])
        outer, self.loops = self.loops, {**self.loops, **fields}
        node.body = [self.visit(statement) for statement in node.body]
        self.loops = outer
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def _comprehension(self, node: Any) -> Any:
        number = self.found.numbers.get(id(node))
        outer = self.loops
        for place, generator in enumerate(node.generators):
            fields = self._optimizers(generator)
            generator.iter = self.visit(generator.iter)
            if number is not None:
                own = ast.Constant(0 if place else number)
                places = ast.Constant(self.found.passes[id(generator)])
                given = [own, places, generator.iter]
                given.append(_most(fields, generator))
                generator.iter = routed(generator.iter, "_passes_", given, [])
            self.loops = {**self.loops, **fields}
            generator.ifs = [self.visit(test) for test in generator.ifs]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.visit(getattr(node, name)))
        self.loops = outer
        if isinstance(node, ast.GeneratorExp):
            # What is drawn is drawn in order, whenever it is used.
            return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
        return node

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        return super().visit(node)


def _most(fields: Mapping[str, str], loop: ast.For | ast.comprehension) -> ast.expr:
    """How many passes a loop over optimizers has; None for another loop."""
    first = None if of_parts(loop) else next(iter(fields.values()), None)
    return ast.parse(f"len(self.{first})" if first else "None", mode="eval").body
