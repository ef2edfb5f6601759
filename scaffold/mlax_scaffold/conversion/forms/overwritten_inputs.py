"""Inputs of PyTorch's modules that a call sets before it reads them: they are none.

def forward(self, x, state=None):
    state = self.begin(x)

Nor are those that it refuses whatever they are: `if state is not None: raise NotImplementedError()`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    stored_names,
    without_arguments,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    names,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_overwritten_inputs(origin: Origin) -> None:
    """Write methods without them, in place, where nothing of the file calls them with such."""
    for node in origin.classes.values():
        forward = method_of(node, "forward")
        if forward is None or framework_of(origin, node) != "torch":
            continue
        gone: set[str] = set()
        for title, default in defaults_of(forward.args).items():
            if _is_given(origin, node, title):
                continue
            body = _without_refusal(forward, title) if is_none(default) else None
            if body is not None:
                forward.body = body
            if body is not None or _is_set_first(forward, title):
                gone.add(title)
        without_arguments(forward.args, gone)
    located(origin.tree)


def _is_set_first(forward: ast.FunctionDef, title: str) -> bool:
    """Whether the first statement that has a name binds it, of other things."""
    for part in without_docstring(forward.body):
        if title not in names(part):
            continue
        match part:
            case ast.Assign(value=value):
                return title not in names(value) and title in {*stored_names(part)}
        return False
    return False


def _without_refusal(forward: ast.FunctionDef, title: str) -> list[ast.stmt] | None:
    """The body without the branch that refuses an input; None where it does more with it."""
    for at, part in enumerate(forward.body):
        match part:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=asked), ops=[ast.IsNot()], comparators=[none]
                ),
                body=[ast.Raise()],
                orelse=rest,
            ) if asked == title and is_none(none):
                body = [*forward.body[:at], *rest, *forward.body[at + 1 :]]
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=asked), ops=[ast.Is()], comparators=[none]
                ),
                body=rest,
                orelse=[ast.Raise()],
            ) if asked == title and is_none(none):
                body = [*forward.body[:at], *rest, *forward.body[at + 1 :]]
            case _:
                continue
        made = cloned(forward)
        made.body = body
        unread = not any(title in names(part) for part in body)
        return body if unread or _is_set_first(made, title) else None
    return None


def _is_given(origin: Origin, node: ast.ClassDef, title: str) -> bool:
    """Whether a class may be called with such an input, as a part of another one, or by itself."""
    others = [c for c in origin.classes.values() if c is not node]
    if any(is_name(part, node.name) for c in others for part in walk(c)):
        return True
    calls = [part for part in walk(node) if isinstance(part, ast.Call)]
    again = [
        c
        for c in calls
        if self_attribute(c.func) == "forward" or is_name(c.func, "self")
    ]
    return any(
        len(c.args) > 1 or any(k.arg == title for k in c.keywords) for c in again
    )
