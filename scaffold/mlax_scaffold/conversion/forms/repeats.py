"""Calls of layers that a row writes more than once: each is made once, before its statement.

`x.flatten(1)` becomes `x.reshape(x.shape[0], -1)`. Where x is the result of a layer, the layer would run
twice, which is more work, other random numbers, and a state that moves twice.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from mlax_scaffold.conversion.source.trees import AT_ONCE, LATER, name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def called_once(method: ast.FunctionDef) -> None:
    """Give the results of such calls names, in the body of a method, which is changed in place."""
    taken = {n.id for n in walk(method) if isinstance(n, ast.Name)}
    taken |= {a.arg for a in walk(method) if isinstance(a, ast.arg)}
    for node in walk(method):
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            _in_passes(node, taken)
    for node in [*walk(method)]:
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                setattr(node, field, [s for b in body for s in _named(b, taken)])


def _named(node: ast.stmt, taken: set[str]) -> Iterator[ast.stmt]:
    """The statement, behind those that name what it calls more than once."""
    while isinstance(node, AT_ONCE) and (repeated := _repeated(node)):
        local = _local(repeated[0], taken)
        taken.add(local)
        made = ast.Assign([ast.Name(local, ast.Store())], repeated[0])
        yield ast.copy_location(made, node)
        _Replace(repeated, local).visit(node)
    yield node


def _in_passes(node: ast.ListComp | ast.GeneratorExp, taken: set[str]) -> None:
    """Go over what such a call makes in each pass: `[y * y.size for y in [self.conv(m) for m in maps]]`."""
    if len(node.generators) != 1:
        return
    [generator] = node.generators
    repeated = _repeated(node.elt)
    bound = {n.id for n in walk(generator.target) if isinstance(n, ast.Name)}
    inside = {id(p) for c in repeated for p in walk(c)}
    outside = [p for p in walk(node.elt) if id(p) not in inside]
    reads = any(isinstance(p, ast.Name) and p.id in bound for p in outside)
    if not repeated or reads:
        return
    local = _local(repeated[0], taken)
    taken.add(local)
    made = ast.ListComp(repeated[0], [generator])
    node.elt = _Replace(repeated, local).visit(node.elt)
    over = ast.comprehension(ast.Name(local, ast.Store()), made, [], 0)
    node.generators = [over]
    located(ast.copy_location(made, node))


def _repeated(node: ast.AST) -> list[ast.Call]:
    """A call of a layer that stands at several places and came from one, the outermost first."""
    found: dict[tuple[object, ...], list[ast.Call]] = defaultdict(list)
    for part in walk(node):
        if isinstance(part, ast.Call) and _calls_layers(part):
            place = getattr(part, "lineno", None), getattr(part, "col_offset", None)
            if None not in place:
                found[*place, ast.dump(part)].append(part)
    later = {
        id(part)
        for outer in walk(node)
        if isinstance(outer, LATER)
        for part in walk(outer)
    }
    several = (calls for calls in found.values() if len(calls) > 1)
    return next((c for c in several if not any(id(p) in later for p in c)), [])


def _calls_layers(call: ast.Call) -> bool:
    """Whether it runs something of the class: a layer, or a method that may."""
    functions = (n.func for n in walk(call) if isinstance(n, ast.Call))
    return any(
        self_attribute(f.value if isinstance(f, ast.Subscript) else f)
        for f in functions
    )


def _local(call: ast.Call, taken: set[str]) -> str:
    found = call.func.attr if isinstance(call.func, ast.Attribute) else "y"
    while found in taken:
        found += "_"
    return found


class _Replace(NodeTransformer):
    def __init__(self, calls: list[ast.Call], local: str):
        self.calls = {id(call) for call in calls}
        self.local = local

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if id(node) in self.calls:
            return ast.copy_location(name(self.local), node)
        self.generic_visit(node)
        return node
