"""Functions inside of a method that draw or change states get parameters for the key and the states.

`lax.scan(step, h, xs)` becomes `effects.scan(step, h, xs, key=..., state=...)`, and `step(h, x)` becomes
`step(key, states, h, x)`. What the key is, `keys` knows, which numbers places; `KEY` stands for it until
then, and `STATE` for the states, until `sub_layers` hoists what changes them.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.reader.closures import Called
from mlax_scaffold.reader.constructs import lifted
from mlax_scaffold.reader.marks import Function
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    code,
    element,
    expression,
    fresh,
    local_names,
    self_attribute,
    statement,
)
from mlax_scaffold.rewrite.returns import ended
from mlax_scaffold.rewrite.traversal import Transformer, Visitor

KEY = "effects__key"
STATE = "effects__state"


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    marks = context.marks.get(context.method.name)
    if marks is None:
        return function
    numbers = _Numbers()
    function.visit(numbers)
    functions = {
        n: f for k, n in numbers.found.items() if (f := marks.functions.get(k))
    }
    calls = {
        node: run
        for (kind, number), node in numbers.found.items()
        if kind == "call" and (run := marks.calls.get(number))
    }
    taken = local_names(function) | context.taken
    found = _Closures(context, functions, calls, taken)
    return cst.ensure_type(function.visit(found), cst.FunctionDef)


class _Numbers(Visitor):
    """The nodes of a method, by their kinds and their places among those of a kind."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.found: dict[tuple[str, int], cst.CSTNode] = {}

    def _add(self, kind: str, node: cst.CSTNode) -> None:
        number = self.counts.get(kind, 0)
        self.counts[kind] = number + 1
        self.found[kind, number] = node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._add("def", node)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self._add("lambda", node)

    def visit_Call(self, node: cst.Call) -> None:
        self._add("call", node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if self_attribute(node):
            self._add("value", node)


class _Closures(Transformer):
    def __init__(
        self,
        context: Context,
        functions: dict[cst.CSTNode, Function],
        calls: dict[cst.CSTNode, Called],
        taken: set[str],
    ):
        super().__init__()
        self.context = context
        self.functions = functions
        self.calls = calls
        self.taken = taken
        self.elifs: set[cst.CSTNode] = set()
        self.pending: list[list[cst.BaseStatement]] = []
        """Functions that are to stand before the statement that is visited."""

    def changed(self, node: cst.CSTNode) -> Any:
        if isinstance(node, cst.If) and isinstance(node.orelse, cst.If):
            self.elifs.add(node.orelse)
        if self._is_statement(node) or self._becomes_def(node):
            self.pending.append([])
        made = super().changed(node)
        if self._is_statement(node):
            before = self.pending.pop()
            if before:
                first = before[0].with_changes(leading_lines=made.leading_lines)
                rest = made.with_changes(leading_lines=[])
                return cst.FlattenSentinel([first, *before[1:], rest])
        return made

    def _is_statement(self, node: cst.CSTNode) -> bool:
        return isinstance(node, _STATEMENTS) and node not in self.elifs

    def _becomes_def(self, node: cst.CSTNode) -> bool:
        function = self.functions.get(node)
        is_def = isinstance(node, cst.FunctionDef)
        return function is not None and not is_def and not function.expression

    # Functions

    def leave_Lambda(
        self, original_node: cst.Lambda, updated_node: cst.Lambda
    ) -> cst.BaseExpression:
        function = self.functions.get(original_node)
        if function is None:
            return updated_node
        return self._made(updated_node, function)

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        function = self.functions.get(original_node)
        if function is None:
            return updated_node
        text = value_text(self.context, self_attribute(original_node) or "")
        return self._made(cst.ensure_type(expression(text), cst.Lambda), function)

    def _made(self, node: cst.Lambda, function: Function) -> cst.BaseExpression:
        params = _with_parameters(node.params, function, self.context.states)
        if function.expression:
            return node.with_changes(
                params=params, whitespace_after_lambda=cst.SimpleWhitespace(" ")
            )
        before = self.pending.pop()
        name = fresh("function", self.taken)
        returned = statement(f"return {code(node.body)}")
        if function.effect.changes:
            states = self.context.states
            returned = statement(f"return {element(node.body)}, {states}")
        body = cst.IndentedBlock([*before, returned])
        self.pending[-1].append(cst.FunctionDef(cst.Name(name), params, body))
        return cst.Name(name)

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        function = self.functions.get(original_node)
        if function is None:
            return updated_node
        if function.effect.changes:
            returns = _Returns(updated_node, self.context.states)
            updated_node = cst.ensure_type(updated_node.visit(returns), cst.FunctionDef)
            updated_node = ended(updated_node, self.context.states)
        return updated_node.with_changes(
            params=_with_parameters(updated_node.params, function, self.context.states)
        )

    # Calls

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        run = self.calls.get(original_node)
        if run is None:
            return updated_node
        key = KEY if run.effect.draws else "None"
        made = run.construct
        if made is None:
            given = [key, *([STATE] if run.effect.changes else [])]
            first = [cst.Arg(expression(text)) for text in given]
            return updated_node.with_changes(args=[*first, *updated_node.args])
        if not made.name:
            return updated_node
        args = _lifted(list(updated_node.args), run)
        called = updated_node.func
        if made.name in ("bound", "applied"):
            args = [cst.Arg(called), *args]
        if not made.makes:
            args.append(_named("key", key))
            if run.effect.changes:
                args.append(_named("state", STATE))
            if made.name == "scan" and isinstance(called, cst.Name):
                args.append(_named("loop", called.value))
        elif run.effect.changes:
            args.append(_named("threads", "True"))
        args = [a.with_changes(comma=cst.MaybeSentinel.DEFAULT) for a in args]
        return updated_node.with_changes(
            func=expression(f"effects.{made.name}"),
            args=args,
            whitespace_before_args=cst.SimpleWhitespace(""),
        )


_STATEMENTS = (cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With)


class _Returns(Transformer):
    """What a function itself returns gets the states beside it."""

    def __init__(self, function: cst.FunctionDef, states: str):
        super().__init__()
        self.function = function
        self.states = states

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return node is self.function

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_Return(
        self, original_node: cst.Return, updated_node: cst.Return
    ) -> cst.Return:
        value = updated_node.value or cst.Name("None")
        return updated_node.with_changes(
            value=expression(f"{element(value)}, {self.states}"),
            whitespace_after_return=cst.SimpleWhitespace(" "),
        )


def _with_parameters(
    params: cst.Parameters, function: Function, states: str
) -> cst.Parameters:
    names = [KEY, *([states] if function.effect.changes else [])]
    added = [cst.Param(cst.Name(name)) for name in names]
    if params.posonly_params:
        return params.with_changes(posonly_params=[*added, *params.posonly_params])
    return params.with_changes(params=[*added, *params.params])


def _named(name: str, text: str) -> cst.Arg:
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(expression(text), keyword=cst.Name(name), equal=equal)


def _lifted(args: list[cst.Arg], run: Called) -> list[cst.Arg]:
    """The arguments, of which functions that do less are called like those beside them."""
    effects = iter(run.functions)
    made = run.construct
    assert made is not None

    def wrapped(node: cst.BaseExpression) -> cst.BaseExpression:
        lift = lifted(next(effects), run.effect)
        return expression(f"effects.{lift}({code(node)})") if lift else node

    for place, name in made.functions:
        for number, arg in enumerate(args):
            keyword = None if arg.keyword is None else arg.keyword.value
            if keyword != name and (keyword or number != place or arg.star):
                continue
            match arg.value:
                case cst.List(elements=several) | cst.Tuple(elements=several):
                    each = [e.with_changes(value=wrapped(e.value)) for e in several]
                    value: cst.BaseExpression = arg.value.with_changes(elements=each)
                case one:
                    value = wrapped(one)
            args[number] = arg.with_changes(value=value)
    return args


def value_text(context: Context, name: str) -> str:
    """A method or a sub-layer as a value: the text of a function that calls it; empty for others."""
    if name in context.sub_layers:
        traits = context.traits.get(name)
        taken = traits.entry("fwd") if traits else None
        given = [*("x", "y", "z")[: len(taken.positional) if taken else 1]]
    else:
        method = context.definition.method(name)
        if method is None or name not in context.needs:
            return ""
        given = [
            f"{n}_" if n in RESERVED | context.functions else n
            for n in method.parameters
        ]
        if any(n.endswith("=") for n in given):
            given = ["*args"]
    named = ", ".join(given)
    return f"(lambda {named}: self.{name}({named}))"


def takes(call: cst.Call, placeholder: str) -> bool:
    """Whether a call is given what a placeholder stands for."""
    return any(
        isinstance(a.value, cst.Name) and a.value.value == placeholder
        for a in call.args
    )


def with_key(call: cst.Call, key: str) -> cst.Call:
    """The call with a key in the place of what stands for it."""
    args = [
        a.with_changes(value=expression(key))
        if isinstance(a.value, cst.Name) and a.value.value == KEY
        else a
        for a in call.args
    ]
    return call.with_changes(args=args)


def key_renamed(params: cst.Parameters, own: str) -> cst.Parameters:
    """The parameters of a function, of which the key has a name of its own."""
    kind = "posonly_params" if params.posonly_params else "params"
    first, *others = getattr(params, kind)
    return params.with_changes(
        **{kind: [first.with_changes(name=cst.Name(own)), *others]}
    )
