"""What a method sets of a step, as what it returns, and what its calls set."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from mlax_scaffold.errors import Edit
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import Source


@dataclass
class Results:
    """The edits that return and set it; None where a method or a call has another form."""

    source: Source
    edits: list[Edit] | None = field(default_factory=list)

    def returned_by(self, method: ast.FunctionDef, names: Iterable[str]) -> None:
        """What a method returns at its end, beside what it returns already."""
        names = [*names]
        if not names:
            return
        inner = (ast.FunctionDef, ast.Lambda)
        nodes = [n for s in method.body for n in walk(s)]
        returns = [n for n in nodes if isinstance(n, ast.Return)]
        last = method.body[-1]
        if any(isinstance(n, inner) for n in nodes) or returns not in ([], [last]):
            self.edits = None
        elif not returns:
            end = self.source.end(last)
            indent = " " * last.col_offset
            self._add(end, f"\n{indent}return {', '.join(names)}")
        else:
            self._beside(getattr(last, "value", None), names)

    def set_by(self, call: ast.Call, targets: Iterable[str]) -> None:
        """What is set where a method is called in a statement of its own, or for one value."""
        targets = [*targets]
        if not targets:
            return
        for statement in walk(self.source.tree):
            match statement:
                case ast.Expr(value=value) if value is call and not self._returns(call):
                    self._add(self.source.start(call), f"{', '.join(targets)} = ")
                    return
                case ast.Assign(targets=[target], value=value) if value is call:
                    if self._returns(call):
                        self._beside(target, targets)
                        return
        self.edits = None

    def _returns(self, call: ast.Call) -> bool:
        """Whether the method that is called returns something."""
        name = getattr(call.func, "attr", "")
        return any(
            isinstance(n, ast.Return)
            for method in walk(self.source.tree)
            if isinstance(method, ast.FunctionDef) and method.name == name
            for n in walk(method)
        )

    def _beside(self, value: ast.expr | None, others: list[str]) -> None:
        if value is None:
            self.edits = None
            return
        start, end = self.source.start(value), self.source.end(value)
        bare = isinstance(value, ast.Tuple) and self.source.text_of(value)[:1] != "("
        if bare:
            self._add(start, "(")
        self._add(end, f"{')' if bare else ''}, {', '.join(others)}")

    def _add(self, place: tuple[int, int], text: str) -> None:
        if self.edits is not None:
            self.edits.append(self.source.replace(place, place, text))
