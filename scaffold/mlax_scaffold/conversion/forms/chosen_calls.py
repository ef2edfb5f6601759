"""One of two layers that is made where it is called, as branches.

x = (nn.RMSNorm() if self.rms else nn.LayerNorm())(x)    becomes

if self.rms:
    x = nn.RMSNorm()(x)
else:
    x = nn.LayerNorm()(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)


def without_chosen_calls(origin: Origin) -> None:
    """Write them so, in place, in classes of linen and haiku, which make layers where they call them."""
    for node in origin.classes.values():
        if framework_of(origin, node) in ("flax", "haiku"):
            _Branches(names(node)).visit(node)
    located(origin.tree)


class _Branches(NodeTransformer):
    """Writes statements of one class."""

    def __init__(self, taken: set[str]):
        self.taken = taken

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for title in ("body", "orelse"):
            body = getattr(node, title, None)
            if isinstance(body, list):
                made = [s for part in body for s in self._statements(part)]
                setattr(node, title, made)
        return node

    def _statements(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, _SIMPLE):
            return [self.visit(node)]
        before: list[ast.stmt] = []
        while (call := _called_choice(node)) is not None:
            before += self._given(call)
            value = getattr(node, "value", None)
            ends = isinstance(node, ast.Return)
            if value is call and not ends:
                return [*before, *self._inner(_chosen(node, call))]
            first = call.args[0] if call.args and value is call else None
            local = first.id if isinstance(first, ast.Name) else self._free()
            held = ast.Assign([ast.Name(local, ast.Store())], call)
            ast.copy_location(held, node)
            before += self._inner(_chosen(held, call))
            _Put(call, ast.Name(local, ast.Load())).visit(node)
        return [*before, node]

    def _given(self, call: ast.Call) -> list[ast.stmt]:
        """Keep what other layers make of an argument, as these are there on both sides."""
        held: list[ast.stmt] = []
        for i, given in enumerate(call.args):
            if any(
                isinstance(p, ast.Call) and isinstance(p.func, ast.Call)
                for p in walk(given)
            ):
                local = self._free()
                kept = ast.Assign([ast.Name(local, ast.Store())], given)
                held.append(ast.copy_location(kept, given))
                call.args[i] = ast.copy_location(ast.Name(local, ast.Load()), given)
        return held

    def _inner(self, node: ast.stmt) -> list[ast.stmt]:
        """Branches, of which each may hold a choice in turn."""
        if isinstance(node, ast.If):
            node.body = [s for part in node.body for s in self._statements(part)]
            node.orelse = [s for part in node.orelse for s in self._statements(part)]
        return [node]

    def _free(self) -> str:
        number = 0
        while (local := f"given_{number}" if number else "given") in self.taken:
            number += 1
        self.taken.add(local)
        return local


def _called_choice(node: ast.stmt) -> ast.Call | None:
    """The innermost call of a choice between two layers; not in what is made for each element."""
    lazy = (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp)
    hidden = {
        id(p) for part in walk(node) if isinstance(part, lazy) for p in walk(part)
    }
    found = [
        part
        for part in walk(node)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.IfExp)
        and id(part) not in hidden
        and _makes(part.func)
    ]
    return found[-1] if found else None


def _makes(node: ast.IfExp) -> bool:
    """Whether both sides are made where they stand."""
    return all(
        isinstance(side, ast.Call) or (isinstance(side, ast.IfExp) and _makes(side))
        for side in (node.body, node.orelse)
    )


def _chosen(node: ast.stmt, call: ast.Call) -> ast.stmt:
    """The statement in two branches, each with one of the layers."""
    assert isinstance(call.func, ast.IfExp)
    place = next(i for i, part in enumerate(walk(node)) if part is call)
    sides = []
    for layer in (call.func.body, call.func.orelse):
        made = cloned(node)
        chosen = list(walk(made))[place]
        assert isinstance(chosen, ast.Call)
        chosen.func = cloned(layer)
        sides.append(made)
    branches = ast.If(cloned(call.func.test), [sides[0]], [sides[1]])
    return ast.copy_location(branches, node)


class _Put(NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().visit(node)
