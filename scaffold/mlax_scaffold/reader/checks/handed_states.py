"""Finds optimizers that hand their state on, as those of optax do."""

from __future__ import annotations

import ast

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.handed_states import with_moments
from mlax_scaffold.reader.source import Source


def check_handed_states(source: Source, node: ast.ClassDef) -> bool:
    """Report `init` that returns a state, and `update` that returns the next: whether it is such a class."""
    if [unparsed(base) for base in node.bases] != ["Optimizer"]:
        return False
    fix = with_moments(source, node)
    if fix is not None:
        source.report(
            node,
            f"{node.name} hands its state on, which a spec keeps in moments",
            "Declare `self.m = moment(zeros, param.shape)` in `setup`, set it in `update`, "
            "and return the update alone.",
            fix=fix,
        )
    return fix is not None
