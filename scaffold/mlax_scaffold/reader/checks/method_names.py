"""Checks what the methods of a spec are called."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.model.definition import Hyperparameter, Kind, MethodRole
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.spec_names import runs_specs
from mlax_scaffold.reader.checks.names import OF_HYPERPARAMS
from mlax_scaffold.reader.kinds import SPECIAL
from mlax_scaffold.reader.remedies.names import method_named
from mlax_scaffold.reader.roles import role_of
from mlax_scaffold.reader.source import Source


def check_method_names(
    source: Source,
    kind: Kind,
    methods: list[ast.FunctionDef],
    hyperparameters: list[Hyperparameter],
) -> list[ast.FunctionDef]:
    """Report methods whose names mean something else.

    Returns:
        The methods: what is `setup` by another name as that, so that what is right in it is no finding.
    """
    seen = {h.name for h in hyperparameters}
    read = list(methods)
    for at, method in enumerate(methods):
        special = method.name in SPECIAL[kind]
        if method.name in seen:
            source.report(method, f"`{method.name}` is declared twice")
        elif not special and method.name in RESERVED | OF_HYPERPARAMS:
            message = f"`{method.name}` is a name of the generated module"
            if method.name == "init" and all(m.name != "setup" for m in methods):
                hint = "What declares weights and states is `setup`."
                fix = method_named(source, method, "setup")
                source.report(method, message, hint, fix=fix)
                read[at] = copy.copy(method)
                read[at].name = "setup"
            else:
                source.report(
                    method,
                    message,
                    "Choose another name.",
                    fix=method_named(source, method, _free(method.name)),
                )
        elif not special and runs_specs(kind, method.name):
            source.report(
                method,
                f"`{method.name}` is a name that every spec of its kind has",
                "Choose another name.",
                fix=method_named(source, method, _free(method.name)),
            )
        elif (
            kind in (Kind.OPTIMIZER, Kind.SCHEDULE)
            and role_of(method, SPECIAL[kind]) is MethodRole.ENTRY
        ):
            source.report(
                method,
                f"{method.name} takes arrays, which only functions of layers do",
                "Its parameters have no array types; it may use hyperparameters.",
            )
        seen.add(method.name)
    return read


def _free(name: str) -> str:
    return name.rstrip("_") if name[0] == "_" else f"{name}_"
