"""What optax runs another optimizer by, under conditions that hold for none of the defaults: it is left out.

def make(lr=1e-3, accumulate=1):                                   becomes        def make(lr=1e-3):
    tx = optax.adam(lr)                                                               tx = optax.adam(lr)
    if accumulate > 1:                                                                return tx
        tx = optax.MultiSteps(tx, accumulate).gradient_transformation()
    return tx
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.optimizers.library_rules import AROUND
from mlax_scaffold.conversion.source.arguments_of import defaults_of, without_arguments
from mlax_scaffold.conversion.source.config_classes import (
    settings_class,
    settings_of,
)
from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import name, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


def without_absent_wrappers(origin: Origin, thing: str, notes: Notes) -> None:
    """Leave them out of the function that is converted, in place; each is told."""
    function = origin.functions.get(thing)
    if function is None or not origin.uses("optax"):
        return
    defaults = defaults_of(function.args) | _of_configuration(origin, function)
    for node in list(function.body):
        full = _wrapped(origin, node)
        if not full or not isinstance(node, ast.If):
            continue
        test = _Dotted(defaults).visit(cloned(node.test))
        if truth(Known(dict(defaults), {}).value(test)) is not False:
            continue
        function.body.remove(node)
        asked = sorted(names(test) & defaults.keys())
        told = ", ".join(
            f"`{a}` is always its default, `{ast.unparse(defaults[a])}`" for a in asked
        )
        notes.remark(
            node,
            told,
            f"give the optimizer to `{AROUND[full]}` of the library for another one",
        )
        rest = {n for part in function.body for n in names(part)}
        without_arguments(function.args, {a for a in asked if a not in rest})


def _of_configuration(origin: Origin, function: ast.FunctionDef) -> dict[str, ast.expr]:
    """The defaults of the settings that it is given in an object, as the code reads them: `cfg.steps`."""
    return {
        f"{argument.arg}.{title}": setting.default
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if (kind := settings_class(origin, argument.annotation))
        for title, setting in settings_of(origin, kind).items()
        if setting.default is not None
    }


class _Dotted(NodeTransformer):
    """Reads settings by one name each."""

    def __init__(self, known: Mapping[str, ast.expr]):
        self.known = known

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        text = ast.unparse(node)
        return name(text) if text in self.known else node


def _wrapped(origin: Origin, node: ast.stmt) -> str:
    """What the one statement of a branch runs another optimizer by; "" for anything else."""
    match node:
        case ast.If(
            body=[ast.Assign(value=value) | ast.Return(value=value)], orelse=[]
        ):
            pass
        case _:
            return ""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner), args=[]):
            # The transformation that the object of `MultiSteps` is.
            value = inner
    full = origin.qualified(value.func) if isinstance(value, ast.Call) else ""
    return full if full in AROUND else ""
