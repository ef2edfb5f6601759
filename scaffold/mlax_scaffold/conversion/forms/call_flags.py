"""Flags that calls of layers of JAX take, as fields where nothing gives them, or as what all calls give.

y = layer(x, reverse=True)          y = layer(x)
def __call__(self, x, reverse=False):          becomes          def __call__(self, x):
    return x - t if reverse else x + t                              return x - t
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.forms.number_inputs import hyperparameter, without
from mlax_scaffold.conversion.source.arguments_of import method_of, with_defaults
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.held_layers import calls_of, given_at
from mlax_scaffold.conversion.source.kinds import framework_of, is_layer_class
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.made_of import used_by
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, names
from mlax_scaffold.conversion.source.vocabulary import flags
from mlax_scaffold.conversion.source.walking import located, walk

_FRAMEWORKS = ("flax", "nnx", "equinox", "haiku")


def without_call_flags(origin: Origin, thing: str, notes: Notes) -> None:
    """Write them so in place; what becomes of those of the class that is asked for is told."""
    used = {*used_by(origin, thing), thing}
    for node in [c for t, c in origin.classes.items() if t in used]:
        if framework_of(origin, node) not in _FRAMEWORKS:
            continue
        call = method_of(node, "__call__")
        if call is None or not is_layer_class(origin, node):
            continue
        for argument, default in _flags_of(call):
            bound = [t for part in call.body for t in _bound(part)]
            if argument.arg in bound:
                continue
            if node.name == thing:
                if not _is_handed_on(call, argument.arg):
                    hyperparameter(node, call, argument, default, notes)
                continue
            calls = [c for _, c in calls_of(origin, node.name, used)]
            told = [given_at(c, call, argument.arg) for c in calls]
            given = {literal(v if v is not None else default) for v in told}
            if given not in ({True}, {False}):
                continue
            _decide(call, argument, value=True in given)
            for part in calls:
                _leave_out(part, call, argument.arg)
            without(call, argument.arg)
    located(origin.tree)


def _flags_of(call: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr]]:
    """Parameters that are True or False by default, and tell no mode."""
    return [
        (a, d)
        for a, d in with_defaults(call.args)
        if isinstance(literal(d), bool) and not flags([a.arg]) and a.arg in names(call)
    ]


def _is_handed_on(call: ast.FunctionDef, parameter: str) -> bool:
    """Whether a call gives it to another one, which decides it by what it is by default."""
    return any(
        is_name(given, parameter)
        for part in walk(call)
        if isinstance(part, ast.Call)
        for given in (*part.args, *(k.value for k in part.keywords))
    )


def _bound(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _decide(call: ast.FunctionDef, argument: ast.arg, *, value: bool) -> None:
    """Write the value in the call, without what is not reached then."""
    decided = Decided(Known({argument.arg: ast.Constant(value)}, {}))
    call.body = decided.statements(call.body)


def _leave_out(part: ast.Call, call: ast.FunctionDef, parameter: str) -> None:
    places = [a.arg for a in call.args.args[1:]]
    part.keywords = [k for k in part.keywords if k.arg != parameter]
    if parameter in places and places.index(parameter) < len(part.args):
        at = places.index(parameter)
        part.keywords += [
            ast.keyword(p, a)
            for p, a in zip(places[at + 1 :], part.args[at + 1 :], strict=False)
        ]
        del part.args[at:]
