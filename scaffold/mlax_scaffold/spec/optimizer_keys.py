"""Hands every place of an optimizer's method that takes a PRNG key its number, see `numbering`."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlax_scaffold.reader.numbering import Numbering, loop_fields
from mlax_scaffold.reader.numbering import numbered as places_of
from mlax_scaffold.reader.source import self_attribute
from mlax_scaffold.spec.declared import parse
from mlax_scaffold.spec.occurrences import Method, routed
from mlax_scaffold.spec.sub_optimizers import made_optimizers

if TYPE_CHECKING:
    from mlax_scaffold.spec.optimizer import Optimizer


@functools.cache
def numbered(owner: type[Optimizer], function: Any) -> Method:
    """A method that asks for keys by number."""
    tree = parse(function)
    found = places_of(tree, lambda call, loops: _kind(owner, call, loops) is not None)
    tree = ast.fix_missing_locations(_Routes(owner, found).visit(tree))
    namespace: dict[str, Any] = {}
    code = compile(tree, inspect.getsourcefile(function) or "<spec>", "exec")
    exec(code, function.__globals__, namespace)
    return Method(namespace[function.__name__], found.places)


def _kind(
    owner: type[Optimizer], node: ast.Call, loops: Mapping[str, str]
) -> str | None:
    """What takes a key in a call: "key", "applied", "optimizer"; None where nothing does."""
    single = (*owner._fields.holding("optimizer"), *made_optimizers(owner))
    match node.func:
        case ast.Attribute(attr="key") as called if self_attribute(called) == "key":
            return "key"
        case ast.Attribute(value=inner, attr="apply") if (
            self_attribute(inner) in single
        ):
            return "applied"
        case ast.Name(id=name) if loops.get(name) in owner._fields.holding(
            "optimizers"
        ):
            return "optimizer"
        case called if self_attribute(called) in single:
            return "optimizer"
    return None


class _Routes(ast.NodeTransformer):
    def __init__(self, owner: type[Optimizer], found: Numbering) -> None:
        self.owner = owner
        self.found = found
        # The variables of the loops around, with the fields that they come from.
        self.loops: Mapping[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        kind = _kind(self.owner, node, self.loops)
        number = ast.Constant(self.found.numbers.get(id(node)))
        self.generic_visit(node)
        match kind, node.func:
            case "key", _:
                return routed(node, "_key", [number], [])
            case "applied", ast.Attribute(value=optimizer) as called:
                called.value = routed(optimizer, "_given", [number, optimizer], [])
            case "optimizer", optimizer:
                node.func = routed(optimizer, "_given", [number, optimizer], [])
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        several = self.owner._fields.holding("optimizers")
        fields = {v: f for v, f in loop_fields(node).items() if f in several}
        node.iter = self.visit(node.iter)
        places = self.found.passes.get(id(node))
        if places is not None:
            number = ast.Constant(self.found.numbers[id(node)])
            most: ast.expr = ast.Constant(None)
            if fields:
                first = next(iter(fields.values()))
                most = ast.parse(f"len(self.{first})", mode="eval").body
            given = [number, ast.Constant(places), node.iter, most]
            node.iter = routed(node.iter, "_passes", given, [])
        outer, self.loops = self.loops, {**self.loops, **fields}
        node.body = [self.visit(statement) for statement in node.body]
        self.loops = outer
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node
