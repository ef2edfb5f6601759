"""Names of weights of linen that functions are given, as what all calls of the file give: `"pos_embedding"`.

def positions(self, size, name):                          def positions(self, size):
    return self.param(name, normal(), (size,))   becomes      return self.param("pos", normal(), (size,))

x = x + positions(self, 8, "pos")
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    with_values,
    without_arguments,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk


def with_titled_weights(origin: Origin) -> None:
    """Write such functions and methods, and what calls them, in place."""
    if not origin.uses("flax"):
        return
    functions = [p for p in walk(origin.tree) if isinstance(p, ast.FunctionDef)]
    for function in functions:
        given = [a.arg for a in function.args.args]
        for title in {_title(p) for p in walk(function)} & {*given}:
            if title not in defaults_of(function.args):
                _write(origin, function, title)
    located(origin.tree)


def _title(node: ast.AST) -> str:
    """The name that a weight is declared by."""
    match node:
        case ast.Call(func=func, args=[ast.Name(id=title), *_]):
            return title if self_attribute(func) == "param" else ""
    return ""


def _write(origin: Origin, function: ast.FunctionDef, title: str) -> None:
    places = [a.arg for a in function.args.args]
    calls: list[tuple[ast.Call, int]] = []
    for part in walk(origin.tree):
        if isinstance(part, ast.Call):
            if is_name(part.func, function.name):
                calls.append((part, places.index(title)))
            elif self_attribute(part.func) == function.name:
                calls.append((part, places.index(title) - 1))
    texts = [_given(call, place, title) for call, place in calls]
    first = texts[0] if texts else None
    if first is None or any(t is None or t.value != first.value for t in texts):
        return
    for call, place in calls:
        call.keywords = [k for k in call.keywords if k.arg != title]
        del call.args[place : place + 1]
    without_arguments(function.args, {title})
    function.body = [with_values(s, {title: first}) for s in function.body]


def _given(call: ast.Call, place: int, title: str) -> ast.Constant | None:
    found = [k.value for k in call.keywords if k.arg == title]
    found += call.args[place : place + 1]
    text = found[0] if len(found) == 1 else None
    spread = any(isinstance(a, ast.Starred) for a in call.args)
    told = isinstance(text, ast.Constant) and isinstance(text.value, str)
    return text if told and not spread else None  # type: ignore[return-value]
