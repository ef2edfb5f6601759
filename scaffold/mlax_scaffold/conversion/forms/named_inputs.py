"""Methods of PyTorch's classes that take their inputs by name alone: `def forward(self, *, query, key)`.

They take them by their places, too, so that a `key` is read as the input that it is.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin


def with_placed_inputs(origin: Origin) -> None:
    """Give such inputs places, in place: those that have to be given come first."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            given = method.args
            if given.defaults or given.vararg is not None or not given.kwonlyargs:
                continue
            pairs = list(zip(given.kwonlyargs, given.kw_defaults, strict=True))
            given.args += [a for a, default in pairs if default is None]
            late = [(a, default) for a, default in pairs if default is not None]
            given.args += [a for a, _ in late]
            given.defaults = [default for _, default in late]
            given.kwonlyargs, given.kw_defaults = [], []
