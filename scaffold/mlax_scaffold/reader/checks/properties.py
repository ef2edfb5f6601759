"""Finds properties that read what hyperparameters do not hold, such as weights."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.kinds import STATIC
from mlax_scaffold.reader.remedies.properties import as_method
from mlax_scaffold.reader.source import Source, self_attribute

_READ = {
    "key": "draws",
    "keys": "draws",
    "layer": "calls a layer",
    "own": "calls a method that uses weights, states or layers",
    "entry": "calls an entry point",
    "state": "reads a state",
    "stored": "reads a state",
    "sub-layer": "calls a layer",
    "trainable": "reads a weight",
    "training": "reads `self.training`",
}


def static_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    """What a method of the hyperparameters may use, and what it is there."""
    said = {**STATIC, "unknown": "unknown"}
    return {n: said[what] for n, what in attributes.items() if what in said}


def check_property(
    source: Source,
    method: ast.FunctionDef,
    attributes: dict[str, str],
    known: dict[str, str],
) -> dict[str, str]:
    """Report a property that is none of the hyperparameters. Returns what it may read.

    Args:
        source: the text of a layer.
        method: the property.
        attributes: what each attribute of self is.
        known: those that a method of the hyperparameters has.
    """
    for node in walk(method):
        name = self_attribute(node) or ""
        does = _READ.get(attributes.get(name, ""))
        if name not in known and does:
            source.report(
                node,
                f"`{method.name}` is a property, and {does}",
                "Properties are those of `hyperparams`, which hold no arrays. A method "
                f"may: `def {method.name}(self)`, and `self.{method.name}()` where it is read.",
                fix=as_method(source, method),
            )
            # One finding is enough of what a method may read.
            return attributes
    return known
