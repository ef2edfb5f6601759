"""Moves calls out of statements into statements of their own, in the order of evaluation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import libcst as cst

from mlax_scaffold.model.library import Traits
from mlax_scaffold.model.reserved import ENTRY_POINT
from mlax_scaffold.rewrite.nodes import (
    Renamer,
    code,
    expression,
    fresh,
    local_names,
    missing_comments,
    statement,
    with_comments,
)
from mlax_scaffold.rewrite.traversal import Transformer, children

Emit = Callable[[cst.Call, str], list[str]]
"""Statements that assign the result of a call to a target."""


@dataclass(frozen=True)
class _Hoisted:
    value: cst.Call | cst.Attribute | cst.Subscript
    name: str


class Hoister(Transformer):
    """Hoists the calls that `wanted` gives a name for.

    A call that is all of an assignment's value is assigned to the assignment's target; any other
    gets a name, which stands in its place and serves again after the statement. The only one in what is
    assigned to a variable has that name already, and what is returned is called so.

    Where a call is not evaluated exactly when its statement is, as in a lambda, an expression stands in its
    place, which `inline` gives.

    What must be read before such a call, `reads` with their names, is hoisted likewise.
    """

    def __init__(
        self,
        wanted: Callable[[cst.Call], str | None],
        emit: Emit,
        taken: set[str],
        inline: Callable[[cst.Call], str] | None = None,
        returned: str = "y",
        reads: Mapping[cst.CSTNode, str] = MappingProxyType({}),
    ):
        super().__init__()
        self.returned = returned
        self.reads = reads
        self.wanted = wanted
        self.emit = emit
        self.taken = taken
        self.inline = inline
        self.pending: list[list[_Hoisted]] = []
        self.root: cst.CSTNode | None = None

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.root = self.root or node
        return super().on_visit(node)

    @cached_property
    def later(self) -> frozenset[cst.CSTNode]:
        """The calls that cannot stand before their statement."""
        assert self.root is not None
        return frozenset(evaluated_later(self.root))

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        read = self.reads.get(original_node)
        if read is not None and original_node not in self.later:
            return self._hoisted(updated_node, read)
        name = self.wanted(updated_node)
        if name is None:
            return updated_node
        if self.inline is not None and original_node in self.later:
            return expression(self.inline(updated_node))
        return self._hoisted(updated_node, name)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self.reads.get(original_node)
        return updated_node if name is None else self._hoisted(updated_node, name)

    def leave_Subscript(
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        name = self.reads.get(original_node)
        return updated_node if name is None else self._hoisted(updated_node, name)

    def _hoisted(
        self, value: cst.Call | cst.Attribute | cst.Subscript, name: str
    ) -> cst.Name:
        temporary = fresh(name, self.taken)
        self.pending[-1].append(_Hoisted(value, temporary))
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
        self.taken.difference_update(h.name for h in hoisted)
        last = hoisted[-1]
        match updated_node.body:
            case [cst.Assign(targets=[target], value=cst.Name(value=last.name))]:
                direct = _Hoisted(last.value, _target(target.target))
                return self._placed([*hoisted[:-1], direct], updated_node, None)
            case [cst.Expr(value=cst.Name(value=last.name))]:
                ignored = _Hoisted(last.value, "_")
                return self._placed([*hoisted[:-1], ignored], updated_node, None)
        if len(hoisted) == 1:
            hoisted, updated_node = self._renamed(last, updated_node)
        return self._placed(hoisted, updated_node, updated_node)

    def _renamed(
        self, only: _Hoisted, node: cst.SimpleStatementLine
    ) -> tuple[list[_Hoisted], cst.SimpleStatementLine]:
        """The one call of a statement under the name of what is made of it."""
        match node.body:
            case [
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value
                )
            ] if name not in local_names(value):
                pass
            case [cst.Return(value=cst.Name(value=only.name))]:
                name = self.returned
            case _:
                return [only], node
        renamed = node.visit(Renamer({only.name: name}))
        return [_Hoisted(only.value, name)], cst.ensure_type(
            renamed, cst.SimpleStatementLine
        )

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
        self.taken.difference_update(h.name for h in hoisted)
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
            texts = (
                self.emit(h.value, h.name)
                if isinstance(h.value, cst.Call) and self.wanted(h.value) is not None
                else [f"{h.name} = {code(h.value)}"]
            )
            made = [statement(text) for text in texts]
            made[0] = with_comments(made[0], missing_comments(h.value, made))
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


def evaluated_later(node: cst.CSTNode, inside: bool = False) -> Iterator[cst.Call]:
    """The calls that are not evaluated exactly once, where the statement around them is."""
    comprehensions = cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp
    if inside and isinstance(node, cst.Call):
        yield node
    match node:
        case cst.IfExp(body=body, orelse=orelse):
            parts: tuple[cst.CSTNode, ...] = (body, orelse)
        case cst.BooleanOperation(right=part) | cst.Lambda(body=part):
            parts = (part,)
        case cst.While(test=part) | cst.If(orelse=cst.If(test=part)):
            parts = (part,)
        case cst.Comparison(comparisons=[_, *rest]):
            parts = tuple(rest)
        case _:
            parts = tuple(children(node)) if isinstance(node, comprehensions) else ()
    for child in children(node):
        if isinstance(node, cst.If) and child is node.orelse and parts:
            # The test of an elif is evaluated where no statement can stand before it.
            for part in children(child):
                yield from evaluated_later(part, inside or part in parts)
            continue
        yield from evaluated_later(child, inside or child in parts)


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


@dataclass(frozen=True)
class LayerCall:
    """The arguments of a call of a layer, as text."""

    function: str
    """The function of its module that is called."""
    positional: list[str]
    keyword: list[tuple[str, str]]
    key: str | None


def layer_call(call: cst.Call, traits: Traits | None) -> LayerCall:
    """A call of a layer, whose entry points take inputs with a default by their names."""
    positional, keyword = arguments_text(call.args)
    named = dict(keyword)
    keyword = [(n, text) for n, text in keyword if n not in ("key", ENTRY_POINT)]
    name = ast.literal_eval(named.get(ENTRY_POINT, "'fwd'"))
    taken = None if traits is None else traits.entry(name)
    if taken is not None:
        given = taken.positional, taken.keyword
        positional, keyword = arranged(*given, positional, keyword)
    return LayerCall(name, positional, keyword, named.get("key"))


def arranged(
    names: Sequence[str],
    others: Sequence[str],
    positional: list[str],
    keyword: list[tuple[str, str]],
) -> tuple[list[str], list[tuple[str, str]]]:
    """The arguments of a call of an entry point: what is `x` by its place, all else by name."""
    if any(text.startswith("*") for text in positional):
        return positional, keyword
    count = len(names)
    keyword = [*zip(others, positional[count:], strict=False), *keyword]
    by_name = dict(keyword)
    positional = positional[:count]
    for name in names[len(positional) :]:
        if name in by_name:
            positional.append(by_name[name])
            keyword = [(n, text) for n, text in keyword if n != name]
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
    single = [text for text in positional if not text.startswith("*")]
    if len(single) == len(positional) == 1:
        return positional[0]
    several = ", ".join(positional)
    # What is spread may be one input, too.
    spread = len(single) < 2 and len(single) < len(positional)
    return f"arrays.packed({several})" if spread else f"({several})"
