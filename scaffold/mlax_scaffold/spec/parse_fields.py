"""Reads hyperparameters: the fields of a class, or the keyword-only parameters of a function."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterable, Mapping

from mlax_scaffold.model.definition import Hyperparameter, Import, Kind
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.spec.check_defaults import check_default
from mlax_scaffold.spec.check_names import OF_HYPERPARAMS
from mlax_scaffold.spec.parse_source import Source
from mlax_scaffold.spec.parse_types import read_hyper_type

_A = {"Block": "a block", "Optimizer": "an optimizer"}
_HOMES = {"SubOptimizer": Kind.OPTIMIZER, "SubOptimizers": Kind.OPTIMIZER}
"""Kinds of definition that a structural word is for; the others are for blocks."""


def read_hyperparameter(
    source: Source,
    node: ast.AnnAssign | ast.arg,
    name: str,
    annotation: ast.expr,
    default: ast.expr | None,
    kind: Kind,
    imports: Mapping[str, Import],
    reserved: frozenset[str] = RESERVED,
) -> Hyperparameter | None:
    """One hyperparameter; None, with a finding, where its type is no word."""
    found = read_hyper_type(source, annotation)
    if (
        name in reserved
        or name in _UNUSABLE
        or keyword.issoftkeyword(name)
        or name.startswith("_")
    ):
        source.report(
            node, f"`{name}` cannot name a hyperparameter", "Choose another name."
        )
    last = default if isinstance(node, ast.arg) and default is not None else node
    doc = source.doc_comment(node, last)
    if default is not None:
        check_default(source, default, found, imports)
    if found is None:
        return None
    if found.word.structural and _HOMES.get(found.word.name, Kind.BLOCK) is not kind:
        home = _HOMES.get(found.word.name, Kind.BLOCK).name.capitalize()
        source.report(
            annotation,
            f"{found.word.name} is a word for the class of {_A[home]}",
            f"Derive the class from {home}.",
        )
        return None
    if found.word.name == "Initializer":
        _check_initializer(source, node, name, default, kind)
    text = None if default is None else source.segment(default)
    return Hyperparameter(name, found, text, doc, source.location(node))


def _check_initializer(
    source: Source,
    node: ast.AnnAssign | ast.arg,
    name: str,
    default: ast.expr | None,
    kind: Kind,
) -> None:
    """Report an initializer that is none of a layer's, or that has no fitting name or default."""
    if kind is not Kind.LAYER:
        source.report(
            node, "Initializer is a word for layers", "Derive the class from Layer."
        )
    if not name.endswith("_initializer"):
        source.report(
            node,
            f"`{name}` holds an initializer",
            f"Call it `{name}_initializer`, like those of weights.",
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
    defaulted = ""
    for h in hyperparameters:
        line = h.location.line
        if h.name in seen:
            source.report(line, f"`{h.name}` is declared twice")
        if h.default is None and defaulted:
            source.report(
                line,
                f"`{h.name}` has no default but follows `{defaulted}`, which has one",
                "Required hyperparameters come first.",
            )
        if h.default is not None:
            defaulted = h.name
        per_axis = h.type.per_dim or h.type.word.name == "Padding"
        if per_axis and "spatial_dims" not in seen:
            source.report(
                line,
                f"`{h.name}` is per axis, but no `spatial_dims` stands before it",
                "Add `spatial_dims: Size  #: number of spatial axes` above.",
            )
        seen[h.name] = h
