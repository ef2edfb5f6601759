"""Moves calls out of statements into statements of their own, in the order of evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import libcst as cst

from mlax_scaffold.rewrite.nodes import (
    code,
    fresh,
    missing_comments,
    statement,
    with_comments,
)

Emit = Callable[[cst.Call, str], list[str]]
"""Statements that assign the result of a call to a target."""


@dataclass(frozen=True)
class _Hoisted:
    call: cst.Call
    name: str


class Hoister(cst.CSTTransformer):
    """Hoists the calls that `wanted` gives a name for.

    A call that is all of an assignment's value is assigned to the assignment's target; any other
    gets a name of its own, and the name stands in its place. The reader has made sure that every
    call is evaluated exactly when its statement is.
    """

    def __init__(
        self,
        wanted: Callable[[cst.Call], str | None],
        emit: Emit,
        taken: set[str],
    ):
        super().__init__()
        self.wanted = wanted
        self.emit = emit
        self.taken = taken
        self.pending: list[list[_Hoisted]] = []

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        name = self.wanted(updated_node)
        if name is None:
            return updated_node
        temporary = fresh(name, self.taken)
        self.pending[-1].append(_Hoisted(updated_node, temporary))
        return cst.Name(temporary)

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> None:
        self.pending.append([])

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        hoisted = self.pending.pop()
        if not hoisted:
            return updated_node
        last = hoisted[-1]
        match updated_node.body:
            case [cst.Assign(targets=[target], value=cst.Name(value=last.name))]:
                self.taken.discard(last.name)
                direct = _Hoisted(last.call, _target(target.target))
                return self._placed([*hoisted[:-1], direct], updated_node, None)
            case [cst.Expr(value=cst.Name(value=last.name))]:
                self.taken.discard(last.name)
                ignored = _Hoisted(last.call, "_")
                return self._placed([*hoisted[:-1], ignored], updated_node, None)
        return self._placed(hoisted, updated_node, updated_node)

    def visit_If(self, node: cst.If) -> None:
        self.pending.append([])

    def leave_If(self, original_node: cst.If, updated_node: cst.If):
        return self._compound(updated_node)

    def visit_For(self, node: cst.For) -> None:
        self.pending.append([])

    def leave_For(self, original_node: cst.For, updated_node: cst.For):
        return self._compound(updated_node)

    def visit_With(self, node: cst.With) -> None:
        self.pending.append([])

    def leave_With(self, original_node: cst.With, updated_node: cst.With):
        return self._compound(updated_node)

    def _compound(self, node: cst.If | cst.For | cst.With):
        hoisted = self.pending.pop()
        return self._placed(hoisted, node, node) if hoisted else node

    def _placed(
        self,
        hoisted: Sequence[_Hoisted],
        original: cst.SimpleStatementLine | cst.If | cst.For | cst.With,
        remaining: cst.BaseStatement | None,
    ) -> cst.FlattenSentinel[cst.BaseStatement]:
        statements: list[cst.BaseStatement] = []
        first_of_last = 0
        for h in hoisted:
            made = [statement(text) for text in self.emit(h.call, h.name)]
            made[0] = with_comments(made[0], missing_comments(h.call, made))
            statements += made
            first_of_last = len(statements) - len(made)
        if remaining is not None:
            statements.append(remaining.with_changes(leading_lines=[]))
        elif isinstance(original, cst.SimpleStatementLine):
            trailing = original.trailing_whitespace
            if trailing.comment is not None:
                statements[first_of_last] = statements[first_of_last].with_changes(
                    trailing_whitespace=trailing
                )
        lines = [*original.leading_lines, *statements[0].leading_lines]  # type: ignore[attr-defined]
        statements[0] = statements[0].with_changes(leading_lines=lines)
        return cst.FlattenSentinel(statements)


def _target(target: cst.BaseAssignTargetExpression) -> str:
    text = code(target)
    bare = isinstance(target, cst.Tuple) and not target.lpar
    return f"({text})" if bare else text


def arguments_text(
    arguments: Sequence[cst.Arg],
) -> tuple[list[str], list[tuple[str, str]]]:
    """Positional arguments, and keyword arguments with their names (`**`: none), as text."""
    positional: list[str] = []
    keyword: list[tuple[str, str]] = []
    for argument in arguments:
        if argument.star == "**":
            keyword.append(("**", code(argument.value)))
        elif argument.star:
            positional.append(argument.star + code(argument.value))
        elif argument.keyword is not None:
            keyword.append((argument.keyword.value, code(argument.value)))
        else:
            positional.append(code(argument.value))
    return positional, keyword


def keyword_text(name: str, text: str) -> str:
    """A keyword argument as it stands in a call."""
    return f"**{text}" if name == "**" else f"{name}={text}"


def handed_text(owner: str, layer: str, keyword: Sequence[tuple[str, str]]) -> str:
    """The named inputs of an initialized layer, as one argument; empty where there are none."""
    given = [keyword_text(name, text) for name, text in keyword if name != "**"]
    return f"**checks.handed({owner!r}, {layer}, {', '.join(given)})" if given else ""


def packed(positional: Sequence[str]) -> str:
    """The one input that `fwd` takes: several are a tuple."""
    if len(positional) == 1 and not positional[0].startswith("*"):
        return positional[0]
    return f"({', '.join(positional)}{',' if len(positional) == 1 else ''})"
