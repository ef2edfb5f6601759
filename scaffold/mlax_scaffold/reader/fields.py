"""Reads hyperparameters: the fields of a class, or the keyword-only parameters of a function."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping

from mlax_scaffold.model.definition import Hyperparameter, Import, Kind
from mlax_scaffold.model.hyper_types import AXES
from mlax_scaffold.model.reserved import OF_FUNCTIONS, OF_SCHEDULES, RESERVED
from mlax_scaffold.reader.checks.defaults import check_default, check_none
from mlax_scaffold.reader.checks.names import OF_HYPERPARAMS
from mlax_scaffold.reader.remedies.classes import based_on, moved_up
from mlax_scaffold.reader.remedies.names import field_named
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.reader.source import Source
from mlax_scaffold.reader.types import read_hyper_type

_A = {Kind.BLOCK: "a block", Kind.OPTIMIZER: "an optimizer"}


def read_hyperparameter(
    source: Source,
    node: ast.AnnAssign | ast.arg,
    name: str,
    annotation: ast.expr,
    default: ast.expr | None,
    kind: Kind,
    imports: Mapping[str, Import],
    reserved: frozenset[str] | None = None,
) -> Hyperparameter | None:
    """One hyperparameter; None, with a finding, where its type is no word."""
    found = read_hyper_type(source, annotation, imports)
    if reserved is None:
        reserved = OF_SCHEDULES if kind is Kind.SCHEDULE else RESERVED - OF_FUNCTIONS
    if (
        name in reserved
        or name in _UNUSABLE
        or keyword.issoftkeyword(name)
        or name.startswith("_")
    ):
        free = name.strip("_") and not name.startswith("_")
        source.report(
            node,
            f"`{name}` cannot name a hyperparameter",
            "Choose another name.",
            fix=field_named(source, node, name, f"{name}_") if free else None,
        )
    last = default if isinstance(node, ast.arg) and default is not None else node
    doc = source.doc_comment(node, last)
    taken = found is None or found.optional or found.word.structural
    if default is not None and not check_none(source, annotation, default, taken=taken):
        check_default(source, annotation, default, found, imports)
    if found is None:
        return None
    if found.word.structural and Kind(found.word.home) is not kind:
        home = Kind(found.word.home)
        source.report(
            annotation,
            f"{found.word.name} is a word for the class of {_A[home]}",
            f"Derive the class from {home.name.capitalize()}.",
            fix=based_on(source, node, kind.name, home.name),
        )
        return None
    if found.word.initializes:
        _check_initializer(source, node, name, default, kind)
    value = Scope(source, imports).optional(default)
    return Hyperparameter(name, found, value, doc, source.location(node))


def _check_initializer(
    source: Source,
    node: ast.AnnAssign | ast.arg,
    name: str,
    default: ast.expr | None,
    kind: Kind,
) -> None:
    """Report an initializer that is none of a layer's, or that has no fitting name or default."""
    if not kind.is_layer:
        source.report(
            node, "Initializer is a word for layers", "Derive the class from Layer."
        )
    stem = re.sub("_?(init(ializer)?(_fn)?)?$", "", name, count=1)
    named = f"{stem or 'weights'}_initializer"
    if not name.endswith("_initializer"):
        source.report(
            node,
            f"`{name}` holds an initializer",
            f"Call it `{named}`, like those of weights.",
            fix=field_named(source, node, name, named),
        )
    if default is None:
        source.report(
            node,
            f"the initializer `{name}` needs a default",
            "For example `= lecun_normal()`, `= zeros`.",
        )


_UNUSABLE = OF_HYPERPARAMS
"""Methods that hyperparameters have."""


def check_fields(source: Source, hyperparameters: Iterable[Hyperparameter]) -> None:
    """Report hyperparameters that do not go together, or stand in the wrong order."""
    seen: dict[str, Hyperparameter] = {}
    first = defaulted = ""
    for h in hyperparameters:
        line = h.location.line
        if h.name in seen:
            source.report(line, f"`{h.name}` is declared twice")
        if h.default is None and defaulted:
            source.report(
                line,
                f"`{h.name}` has no default but follows `{defaulted}`, which has one",
                "Required hyperparameters come first.",
                fix=moved_up(source, h.name, first),
            )
        if h.default is not None:
            defaulted = h.name
            first = first or h.name
        if h.type.per_axis and AXES not in seen:
            source.report(
                line,
                f"`{h.name}` is per axis, but no `spatial_dims` stands before it",
                "Add `spatial_dims: Size  #: number of spatial axes` above.",
            )
        seen[h.name] = h
