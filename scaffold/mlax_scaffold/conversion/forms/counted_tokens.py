"""Inputs of parts of which nothing but sizes is read, where they are tokens: they are integers, as those are.

class Positions(nn.Module):                         class Model(nn.Module):
    def forward(self, x):                               def forward(self, tokens):
        return self.table[:x.size(1)]                       return self.embed(tokens) + self.positions(tokens)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.held_layers import calls_of, given_at
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_CALLS = ("forward", "__call__")
_TABLES = ("Embedding", "Embed")
_SIZES = ("shape", "size", "ndim", "dim", "device")


def with_counted_tokens(origin: Origin, thing: str) -> None:
    """Give them a type that says so, in place."""
    used = {*used_by(origin, thing), thing}
    for title in sorted(used - {thing}):
        node = origin.classes.get(title)
        call = _call(node) if node is not None else None
        for argument in call.args.args[1:] if call is not None else ():
            assert call is not None
            if argument.annotation is not None or not _is_counted(call, argument.arg):
                continue
            given = [
                _is_token(origin, method, given_at(part, call, argument.arg))
                for method, part in calls_of(origin, title, used)
            ]
            if given and all(given):
                kind = ast.Name("LongTensor", ast.Load())
                argument.annotation = ast.copy_location(kind, argument)


def _call(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((m for c in _CALLS if (m := method_of(node, c)) is not None), None)


def _is_counted(call: ast.FunctionDef, title: str) -> bool:
    """Whether nothing but sizes of an input is read."""
    counted = {
        id(p.value)
        for p in walk(call)
        if isinstance(p, ast.Attribute) and p.attr in _SIZES
    }
    reads = [p for p in walk(call) if is_name(p, title)]
    return bool(reads) and all(id(p) in counted for p in reads)


def _is_token(
    origin: Origin, method: ast.FunctionDef, given: ast.expr | None, depth: int = 4
) -> bool:
    """Whether a method looks what it gives a part up in a table, itself or by another part."""
    if not isinstance(given, ast.Name) or not depth:
        return False
    owner = next(c for c in origin.classes.values() if method in c.body)
    for part in walk(method):
        if not isinstance(part, ast.Call) or not part.args:
            continue
        if not is_name(part.args[0], given.id):
            continue
        attribute = self_attribute(part.func)
        for made in _made(owner, attribute) if attribute else ():
            node = origin.classes.get(getattr(made.func, "id", ""))
            if node is None:
                if origin.qualified(made.func).endswith(_TABLES):
                    return True
                continue
            if any(origin.qualified(b).endswith(_TABLES) for b in node.bases):
                return True
            call = _call(node)
            if call is None or len(call.args.args) < 2:
                continue
            first = ast.Name(call.args.args[1].arg, ast.Load())
            if _is_token(origin, call, first, depth - 1):
                return True
    return False


def _made(owner: ast.ClassDef, attribute: str) -> list[ast.Call]:
    """The calls that an attribute is made by."""
    return [
        part.value
        for part in walk(owner)
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
        if self_attribute(part.targets[0]) == attribute
    ]
