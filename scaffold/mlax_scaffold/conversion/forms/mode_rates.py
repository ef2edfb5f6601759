"""Rates of dropout that are zero in inference: layers here drop nothing there.

rate = self.rate if is_training else 0.0
x = dropout(rate, x)                          becomes    x = dropout(self.rate, x)

What haiku drops where nothing tells of a mode is dropped in inference, too, which is said.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, with_names
from mlax_scaffold.conversion.source.vocabulary import INFERENCE, TRAINING
from mlax_scaffold.conversion.source.walking import located, walk


def without_mode_rates(origin: Origin, notes: Notes) -> None:
    """Write them so, in place, where nothing else reads such a local."""
    _remark_drops(origin, notes)
    for function in [n for n in walk(origin.tree) if isinstance(n, ast.FunctionDef)]:
        for part in list(function.body):
            match part:
                case ast.Assign(
                    targets=[ast.Name(id=local)], value=ast.IfExp() as value
                ):
                    rate = _in_training(value)
                    if rate is not None and _only_dropped(function, local):
                        kept = [s for s in function.body if s is not part]
                        function.body = [with_names(s, {local: rate}) for s in kept]
        for call in walk(function):
            if isinstance(call, ast.Call) and _drops(call):
                call.args = [_of_training(a) for a in call.args]
                for keyword in call.keywords:
                    keyword.value = _of_training(keyword.value)
    located(origin.tree)


def _remark_drops(origin: Origin, notes: Notes) -> None:
    """Say of what drops in classes and functions that know of no mode."""
    for node in (*origin.classes.values(), *origin.functions.values()):
        parts = [*walk(node)]
        read = {
            getattr(p, "id", getattr(p, "attr", getattr(p, "arg", ""))) for p in parts
        }
        if not read.isdisjoint((*TRAINING, *INFERENCE)):
            continue
        for call in parts:
            if (
                isinstance(call, ast.Call)
                and origin.qualified(call.func) == "haiku.dropout"
            ):
                notes.remark(
                    call,
                    f"`{ast.unparse(call.func)}` drops in inference too",
                    "here it does in training alone",
                )


def _in_training(value: ast.IfExp) -> ast.expr | None:
    """What is chosen in training, where the other side is zero; None of another choice."""
    test, body, other = value.test, value.body, value.orelse
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, body, other = test.operand, other, body
    name = getattr(test, "id", getattr(test, "attr", ""))
    if name in INFERENCE:
        body, other = other, body
    zero = literal(other)
    known = name in (*TRAINING, *INFERENCE)
    return body if known and zero == 0 and zero is not False else None


def _of_training(value: ast.expr) -> ast.expr:
    """An argument as it is in training, where it is a rate that is zero in inference."""
    rate = _in_training(value) if isinstance(value, ast.IfExp) else None
    return value if rate is None else rate


def _drops(call: ast.Call) -> bool:
    return ast.unparse(call.func).lower().endswith("dropout")


def _only_dropped(function: ast.FunctionDef, local: str) -> bool:
    """Whether a local is assigned once, and read as an argument of dropout alone."""
    found = [n for n in walk(function) if is_name(n, local)]
    given = [
        argument
        for call in walk(function)
        if isinstance(call, ast.Call) and _drops(call)
        for argument in (*call.args, *(k.value for k in call.keywords))
        if is_name(argument, local)
    ]
    return len(given) > 0 and len(found) == len(given) + 1
