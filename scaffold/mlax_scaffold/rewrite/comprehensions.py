"""A comprehension over layers, or over calls that change states, becomes a loop before its statement.

`[self.norm(x) for x in xs]` is a list that a loop appends to, so that the passes that follow thread
the states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from mlax_scaffold.rewrite.chains import chain_of
from mlax_scaffold.rewrite.closures import STATE, takes
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.looping import Comprehension, generators, looped, unkeyed
from mlax_scaffold.rewrite.nodes import (
    Renamer,
    code,
    comments_in,
    counted_names,
    expression,
    fresh,
    local_names,
    statement,
    with_comments,
)
from mlax_scaffold.rewrite.traversal import Transformer, Visitor

_AROUND = Comprehension | cst.SimpleStatementLine | cst.If | cst.For | cst.Lambda
"""What statements may have to stand before, or inside of."""


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    changing = {n for n, traits in context.traits.items() if traits.stateful}
    changing |= {n for n, needs in context.needs.items() if needs.changes}
    changing |= context.dynamic | context.given
    if not changing and not context.sequences:
        return function
    taken = local_names(function) | context.taken
    loops = _Loops(context, changing, taken, function)
    return cst.ensure_type(function.visit(loops), cst.FunctionDef)


class _Loops(Transformer):
    def __init__(
        self,
        context: Context,
        changing: set[str],
        taken: set[str],
        function: cst.FunctionDef,
    ):
        super().__init__()
        self.context = context
        self.changing = changing
        self.taken = taken
        self.names = counted_names(function)
        self.pending: list[list[cst.BaseStatement]] = []
        self.firsts: set[cst.CSTNode] = set()
        self.targets: dict[cst.CSTNode, str] = {}
        """What a comprehension is assigned to that is all of an assignment."""
        self.extended: set[cst.CSTNode] = set()
        """The generators that lists are extended by, each of whose passes sees what those before it added."""

    def _becomes_loop(self, node: Comprehension) -> bool:
        for level in generators(node):
            if any(f in self.context.sequences for _, f in looped(unkeyed(level)[0])):
                return True
        return _calls(node, self.changing)

    def changed(self, node: cst.CSTNode) -> Any:
        if node in self.firsts:
            # What a comprehension goes over is evaluated before it.
            self.firsts.remove(node)
            self.pending.append([])
            made = self.changed(node)
            before = self.pending.pop()
            self.pending[-2] += before
            return made
        if isinstance(node, Comprehension):
            self.firsts.add(generators(node)[0].iter)
        if isinstance(node, _AROUND):
            self.pending.append([])
        match node:
            case cst.SimpleStatementLine(
                body=[
                    cst.Assign(
                        targets=[cst.AssignTarget(target=cst.Name(value=name))],
                        value=cst.ListComp() | cst.SetComp() | cst.DictComp() as value,
                    )
                ]
            ) if name not in local_names(value):
                self.targets[value] = name
            case cst.SimpleStatementLine(body=[added]):
                name, generator = _extension(added)
                if isinstance(generator, cst.GeneratorExp) and not any(
                    name in counted_names(level.target)
                    for level in generators(generator)
                ):
                    self.targets[generator] = name
                    self.extended.add(generator)
        made = super().changed(node)
        if isinstance(node, Comprehension):
            inner = self.pending.pop()
            # What stands inside may read what the comprehension binds.
            if not inner and not self._becomes_loop(node):
                return made
            return self._loop(node, made, inner)
        if isinstance(node, cst.Lambda):
            return self._function(made, self.pending.pop())
        if isinstance(node, cst.SimpleStatementLine | cst.If | cst.For):
            before = self.pending.pop()
            if before:
                return _placed(before, made)
        return made

    def _function(
        self, node: cst.Lambda, inner: Sequence[cst.BaseStatement]
    ) -> cst.BaseExpression:
        """A lambda in which loops are to stand: they read what it is called with."""
        if not inner:
            return node
        name = fresh("function", self.taken)
        body = cst.IndentedBlock([*inner, statement(f"return {code(node.body)}")])
        self.pending[-1].append(cst.FunctionDef(cst.Name(name), node.params, body))
        return cst.Name(name)

    def _loop(
        self,
        original: Comprehension,
        node: Comprehension,
        inner: Sequence[cst.BaseStatement],
    ) -> cst.BaseExpression:
        name = self.targets.get(original) or fresh("items", self.taken)
        own = counted_names(original)
        targets = {
            n for level in generators(original) for n in counted_names(level.target)
        }
        renamed = {
            n: fresh(n, self.taken) for n in sorted(targets) if self.names[n] > own[n]
        }
        value = (
            code(node.elt) if not isinstance(node, cst.DictComp) else code(node.value)
        )
        match node:
            case cst.SetComp():
                empty, added = "set()", f"{name}.add({value})"
            case cst.DictComp():
                empty, added = "{}", f"{name}[{code(node.key)}] = {value}"
            case _:
                empty, added = "[]", f"{name}.append({value})"
        body: list[cst.BaseStatement] = [*inner, statement(added)]
        for level in reversed(generators(node)):
            for test in reversed(level.ifs):
                body = [cst.If(test.test, cst.IndentedBlock(body))]
            match level.iter:
                case cst.List(elements=[bound]):
                    body = [
                        statement(f"{code(level.target)} = {code(bound.value)}"),
                        *body,
                    ]
                case _:
                    body = [cst.For(level.target, level.iter, cst.IndentedBlock(body))]
        [loop] = body
        loop = with_comments(loop, comments_in(original))  # type: ignore[type-var]
        if renamed:
            loop = cst.ensure_type(loop.visit(Renamer(renamed)), cst.For)
        if original not in self.extended:
            self.pending[-1].append(statement(f"{name} = {empty}"))
        self.pending[-1].append(loop)
        return expression(name)


def _extension(node: cst.CSTNode) -> tuple[str, cst.BaseExpression | None]:
    """A list that a statement extends, and by what: `ys.extend(xs)`, `ys += xs`; None for others."""
    match node:
        case cst.Expr(
            value=cst.Call(
                func=cst.Attribute(
                    value=cst.Name(value=name), attr=cst.Name(value="extend")
                ),
                args=[cst.Arg(value=given, keyword=None, star="")],
            )
        ):
            return name, given
        case cst.AugAssign(
            target=cst.Name(value=name), operator=cst.AddAssign(), value=given
        ):
            return name, given
    return "", None


def _placed(before: list[cst.BaseStatement], node: cst.BaseStatement):
    """What stands before a statement, and the statement, but where that binds a name to itself."""
    first = before[0].with_changes(leading_lines=node.leading_lines)  # type: ignore[attr-defined]
    rest = node.with_changes(leading_lines=[])
    match node:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=name))],
                    value=cst.Name(value=given),
                )
            ]
        ) if name == given:
            return cst.FlattenSentinel([first, *before[1:]])
        case cst.SimpleStatementLine(body=[added]):
            match _extension(added):
                case name, cst.Name(value=given) if name == given:
                    return cst.FlattenSentinel([first, *before[1:]])
    return cst.FlattenSentinel([first, *before[1:], rest])


def _calls(node: cst.CSTNode, names: set[str]) -> bool:
    found: list[str] = []

    class Calls(Visitor):
        def visit_Call(self, node: cst.Call) -> None:
            chain = chain_of(node.func)
            name = "" if chain is None else chain.name
            if name in names or takes(node, STATE):
                found.append(name or "")

    node.visit(Calls())
    return bool(found)
