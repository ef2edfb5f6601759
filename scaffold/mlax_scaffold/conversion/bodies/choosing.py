"""Values that branches choose, and what a method returns that does so in several places."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from mlax_scaffold.conversion.bodies.looping import Looping
from mlax_scaffold.conversion.shapes.chosen_sizes import chosen_size, compares_sizes
from mlax_scaffold.conversion.shapes.sizes import is_symbol
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import (
    expression,
    literal,
    name,
    same,
    statement,
    targets,
)


class Choosing(Looping):
    """Reads them."""

    def _one_of(self, found: Sequence[Value]) -> Value:
        """What a method returns that does so in several places."""
        last = found[-1]
        arrays = [v for v in found if isinstance(v, Array)]
        if not isinstance(last, Array) or len(arrays) != len(found) or last.lead:
            return last
        if any(v.lead or len(v.axes) != len(last.axes) for v in arrays):
            return last
        under = self.under.get(id(found[0])) if len(found) == 2 else None
        if under is not None and literal(under) is not None:
            return self._after_branches(under, *arrays)
        axes = list(last.axes)
        for i, axis in enumerate(axes):
            known = self.symbols.find(axis)
            if not all(same(self.symbols.find(v.axes[i]), known) for v in arrays):
                axes[i] = self.symbols.fresh("_")
        return last if axes == last.axes else last.like(axes)

    def _makes(self, node: ast.AST) -> bool:
        """Whether a layer is made in an expression, and called there."""
        return any(
            isinstance(part, ast.Call) and self._is_declaration(part.func)
            for part in ast.walk(node)
        )

    def _uncomprehended(self, node: ast.stmt) -> list[ast.stmt]:
        """Comprehensions that make a layer in each pass, as loops before their statement."""
        if not isinstance(node, ast.Assign | ast.Return | ast.Expr):
            return [node]
        listed = [
            part
            for part in ast.walk(node)
            if isinstance(part, ast.ListComp | ast.GeneratorExp)
            and len(part.generators) == 1
            and not part.generators[0].ifs
            and self._makes(part.elt)
        ]
        before: list[ast.stmt] = []
        whole = node.value
        for part in listed:
            local = self.builder.free("results")
            match node:
                case ast.Assign(targets=[ast.Name(id=title)]) if part is whole:
                    local = title
            generator = part.generators[0]
            append = ast.Expr(expression(f"{local}.append(e)", e=part.elt))
            loop = ast.For(generator.target, generator.iter, [append], [])
            for made in (statement(f"{local} = []"), loop):
                for inner in ast.walk(made):
                    if not hasattr(inner, "lineno"):
                        ast.copy_location(inner, node)
                before.append(made)
            if (
                part is whole
                and isinstance(node, ast.Assign)
                and local in targets(node)
            ):
                return before
            _Instead(part, ast.copy_location(name(local), part)).visit(node)
        return [*before, node]

    def _chooses_layer(self, node: ast.expr) -> bool:
        """Whether one of the sides of a choice makes a layer: `x if x.shape[-1] == n else Linear(n)(x)`."""
        return isinstance(node, ast.IfExp) and (
            self._makes(node.body) or self._makes(node.orelse)
        )

    def _after_branches(
        self, condition: ast.expr | None, value: Value, other: Value
    ) -> Value:
        """A value that is one where a condition on hyperparameters holds, and another one elsewhere."""
        if condition is None or value is other:
            return value
        if compares_sizes(condition):
            # That says by itself which of them are the same.
            return value
        if not isinstance(value, Array) or not isinstance(other, Array):
            return value
        if len(value.axes) != len(other.axes):
            return value
        axes = list(value.axes)
        for place, pair in enumerate(zip(value.axes, other.axes, strict=True)):
            a, b = (self.symbols.find(axis) for axis in pair)
            if same(a, b):
                continue
            chosen = chosen_size(copy.deepcopy(condition), a, b)
            open_ = any(is_symbol(n) for s in (a, b) for n in ast.walk(s))
            if not open_ or not isinstance(chosen, ast.IfExp):
                axes[place] = chosen
        return value if axes == value.axes else value.like(axes)


def as_branches(node: ast.Assign, target: ast.Name) -> ast.If:
    """`x = a if c else b` as a statement with two branches."""
    value = node.value
    assert isinstance(value, ast.IfExp)
    sides: list[list[ast.stmt]] = [
        [ast.Assign([ast.Name(target.id, ast.Store())], side)]
        for side in (value.body, value.orelse)
    ]
    made = ast.copy_location(ast.If(value.test, *sides), node)
    return ast.fix_missing_locations(made)


class _Instead(ast.NodeTransformer):
    """Writes another expression in the place of one."""

    def __init__(self, old: ast.expr, new: ast.expr):
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)
