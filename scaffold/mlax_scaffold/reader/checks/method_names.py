"""Checks what the methods of a spec are called."""

from __future__ import annotations

import ast
import copy

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Hyperparameter, Kind, MethodRole
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.spec_names import runs_specs
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.names import OF_HYPERPARAMS
from mlax_scaffold.reader.kinds import SPECIAL
from mlax_scaffold.reader.remedies.names import (
    field_named,
    method_named,
    uses_of_self,
)
from mlax_scaffold.reader.remedies.of_leaves import (
    as_step,
    as_update,
    computed_with,
    mapped_over,
)
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
        The methods: what is `setup` or `update` by another name as that, so that what is right in it
        is no finding.
    """
    fields = {h.name for h in hyperparameters}
    seen = {*fields}
    read = list(methods)
    names = {m.name for m in methods}
    for at, method in enumerate(methods):
        special, own = method.name in SPECIAL[kind], method.name in fields
        if method.name in seen:
            source.report(
                method,
                f"`{method.name}` is declared twice",
                "Give the field another name." if special and own else "",
                fix=_field_renamed(source, method) if special and own else None,
            )
        elif (
            (kind, method.name) == (Kind.OPTIMIZER, "step")
            and "update" not in names
            and (leaf := computed_with(method)) is not None
        ):
            source.report(
                method,
                f"step is called once for all weights, and computes with `{leaf}` as with one array",
                "The method that is called for each leaf is `update(self, grad, param)`.",
                fix=as_update(source, method),
            )
            read[at] = _called(method, "update")
        elif (
            (kind, method.name) == (Kind.OPTIMIZER, "update")
            and not names & {"finish", "prepare", "step"}
            and (tree := mapped_over(method, source.tree)) is not None
        ):
            source.report(
                method,
                f"update is called for each leaf, and takes `{tree}` as the tree of all",
                "The method that is called once for all weights is `step(self, grads, params)`.",
                fix=as_step(source, method),
            )
            read[at] = _called(method, "step")
        elif not special and method.name in RESERVED | OF_HYPERPARAMS:
            message = f"`{method.name}` is a name of the generated module"
            if method.name == "init" and all(m.name != "setup" for m in methods):
                hint = "What declares weights and states is `setup`."
                fix = method_named(source, method, "setup")
                source.report(method, message, hint, fix=fix)
                read[at] = _called(method, "setup")
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


def _called(method: ast.FunctionDef, name: str) -> ast.FunctionDef:
    method = copy.copy(method)
    method.name = name
    return method


def _free(name: str) -> str:
    return name.rstrip("_") if name[0] == "_" else f"{name}_"


def _field_renamed(source: Source, method: ast.FunctionDef) -> Fix | None:
    """The field that is called like a method, with another name; None where what is read may be either."""
    name = method.name
    called = {id(n.func) for n in ast.walk(source.tree) if isinstance(n, ast.Call)}
    for owner in source.tree.body:
        fields = [
            s
            for s in getattr(owner, "body", [])
            if isinstance(s, ast.AnnAssign) and unparsed(s.target) == name
        ]
        if method not in getattr(owner, "body", []) or len(fields) != 1:
            continue
        if any(id(use) in called for use in uses_of_self(owner, name)):
            return None
        return field_named(source, fields[0], name, f"{name}_")
    return None
