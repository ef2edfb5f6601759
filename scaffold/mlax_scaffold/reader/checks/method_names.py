"""Checks what the methods of a spec are called."""

from __future__ import annotations

import ast

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
) -> None:
    """Report methods whose names mean something else."""
    seen = {h.name for h in hyperparameters}
    for method in methods:
        special = method.name in SPECIAL[kind]
        if method.name in seen:
            source.report(method, f"`{method.name}` is declared twice")
        elif not special and method.name in RESERVED | OF_HYPERPARAMS:
            declares = method.name == "init" and not any(
                m.name == "setup" for m in methods
            )
            source.report(
                method,
                f"`{method.name}` is a name of the generated module",
                "What declares weights and states is `setup`."
                if declares
                else "Choose another name.",
                fix=method_named(source, method, "setup") if declares else None,
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


def _free(name: str) -> str:
    return name.rstrip("_") if name[0] == "_" else f"{name}_"
