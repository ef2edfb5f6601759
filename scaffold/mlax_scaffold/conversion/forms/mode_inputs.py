"""Parameters of calls of jax's layers that are always given the mode, under the names of that.

x = Norm()(x, update=train)                        x = Norm()(x, train=train)
class Norm(nn.Module):                             class Norm(nn.Module):
    def __call__(self, x, update):       becomes       def __call__(self, x, train):
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.held_layers import calls_of, given_at
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names
from mlax_scaffold.conversion.source.vocabulary import INFERENCE, TRAINING, flags
from mlax_scaffold.conversion.source.walking import located, walk

_FRAMEWORKS = ("flax", "nnx", "equinox", "haiku")
_DEEP = 3
"""Owners of owners whose parameters are renamed before."""


def with_mode_inputs(origin: Origin, thing: str) -> None:
    """Write them so, in place, in the parts of what is converted."""
    used = {*used_by(origin, thing), thing}
    for _ in range(_DEEP):
        for node in [c for t, c in origin.classes.items() if t in used - {thing}]:
            call = method_of(node, "__call__")
            known = framework_of(origin, node) in _FRAMEWORKS
            if call is None or not known or not is_layer_class(origin, node):
                continue
            calls = [c for _, c in calls_of(origin, node.name, used)]
            for argument in (*call.args.args[1:], *call.args.kwonlyargs):
                _renamed(call, argument, calls)
    located(origin.tree)


def _renamed(call: ast.FunctionDef, argument: ast.arg, calls: list[ast.Call]) -> None:
    old = argument.arg
    told = [given_at(part, call, old) for part in calls]
    modes = {_mode(value) for value in told}
    if flags([old]) or len(modes) != 1 or "" in modes:
        return
    [title] = modes
    if title in names(call) or title in {
        a.arg for a in (*call.args.args, *call.args.kwonlyargs)
    }:
        return
    for part in calls:
        for keyword in part.keywords:
            if keyword.arg == old:
                keyword.arg = title
    argument.arg = title
    for part in walk(call):
        if isinstance(part, ast.Name) and part.id == old:
            part.id = title


def _mode(value: ast.expr | None) -> str:
    """The name of the mode that an expression is, "" for any other one."""
    match value:
        case ast.Name(id=title) if title in TRAINING:
            return "train"
        case ast.Name(id=title) if title in INFERENCE:
            return "deterministic"
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return {"train": "deterministic", "deterministic": "train"}.get(
                _mode(inner), ""
            )
    return ""
