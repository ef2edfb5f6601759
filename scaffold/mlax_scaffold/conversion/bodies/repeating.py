"""Sizes that every pass of a loop changes."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.bodies.calling import Calling
from mlax_scaffold.conversion.shapes.repeated_sizes import after_passes
from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    name,
    names,
    same,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class Repeating(Calling):
    """Follows them."""

    def _repeat(self, before: Mapping[str, Value], count: ast.expr | None) -> None:
        """Axes but the last, which every pass changes as the first one does."""
        for local, first in before.items():
            after = self.env.get(local)
            if not isinstance(first, Array) or not isinstance(after, Array):
                continue
            if after.lead and not first.lead and self._begins_as_others(after, before):
                self.symbols.ranked(after, ["nodes", *["_"] * (len(first.axes) - 1)])
            if first.lead or after.lead or len(first.axes) != len(after.axes):
                continue
            axes = list(after.axes)
            for i, (one, other) in enumerate(zip(first.axes, axes[:-1], strict=False)):
                known = self.symbols.find(one), self.symbols.find(other)
                if not same(*known) and self._is_of_others(known[1], before):
                    # `x = adjacency @ x`: rows are what the next pass goes over.
                    self.symbols.equal(one, other)
                elif not same(*known):
                    made = after_passes(*known, count)
                    axes[i] = made or self.symbols.fresh("_")
            self.env[local] = after.like(axes)

    def _begins_as_others(self, array: Array, changed: Mapping[str, Value]) -> bool:
        """Whether an array has as many axes before the known ones as one that a loop leaves as it is."""
        others = [v for k, v in self.env.items() if k not in changed]
        return any(isinstance(v, Array) and v.prefix is array.prefix for v in others)

    def _is_of_others(self, axis: ast.expr, changed: Mapping[str, Value]) -> bool:
        """Whether nothing is known of an axis but that an array has it that a loop leaves as it is."""
        if not isinstance(axis, ast.Name) or not is_symbol(axis):
            return False
        others = [v for k, v in self.env.items() if k not in changed]
        return any(
            is_name(self.symbols.find(a), axis.id)
            for value in others
            if isinstance(value, Array)
            for a in value.axes
        ) and not any(
            axis.id in names(self.symbols.find(a))
            for value in changed.values()
            if isinstance(value, Array)
            for a in value.axes
        )

    def _widths(self, entry: ast.Name, local: str, value: ast.expr) -> None:
        """Declarations of a loop get the size that comes before, from pass to pass."""
        read = [
            part
            for part in self.builder.setup
            if isinstance(part, ast.Assign)
            and isinstance(part.value, ast.ListComp)
            and entry.id in names(self.symbols.find(part.value.elt))
        ]
        if entry.id in names(value):
            for part in read:
                kept = ast.unparse(part.targets[0])  # type: ignore[attr-defined]
                self.builder.notes.refuse(
                    part,
                    f"the size of each layer of `{kept}` depends on that of the one before",
                    "write the sizes out, or take them as a hyperparameter",
                )
            return
        self.symbols.known[entry.id] = name(local)
        for part in read:
            assert isinstance(part.value, ast.ListComp)
            generator = part.value.generators[0]
            generator.target = ast.Tuple(
                [ast.Name(local, ast.Store()), generator.target], ast.Store()
            )
            # One more width than there are passes: the last one is that of the result.
            generator.iter = ast.Call(name("zip"), [cloned(value), generator.iter], [])

    def _grow(self, entry: ast.Name, first: ast.expr, growth: ast.expr) -> None:
        """Declarations of a loop whose size grows by the same in every pass."""
        grown = None
        for part in self.builder.setup:
            if not isinstance(part, ast.Assign) or not isinstance(
                part.value, ast.ListComp
            ):
                continue
            target = part.value.generators[0].target
            if isinstance(target, ast.Name) and any(
                isinstance(n, ast.Name) and is_name(self.symbols.find(n), entry.id)
                for n in walk(part.value.elt)
            ):
                target.id = "number" if target.id == "_" else target.id
                grown = expression("a + i * g", a=first, i=name(target.id), g=growth)
        if grown is not None:
            self.symbols.known[entry.id] = grown
