"""The signatures of generated functions, read from their text."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.model.project import Project

_SHOWN = {
    Kind.LAYER: ("init", "fwd"),
    Kind.BLOCK: ("init", "fwd"),
    Kind.OPTIMIZER: ("init", "step"),
}


def signatures(
    definition: Definition, project: Project, texts: Mapping[str, str]
) -> list[str]:
    """One line for each function that a definition offers, as one would call it.

    Args:
        definition: the definition.
        project: whose package it is.
        texts: the generated files of the definition, by path.
    """
    prefix = f"{project.package}.{definition.section}"
    if definition.kind is Kind.SCHEDULE:
        fields = ", ".join(
            h.name if h.default is None else f"{h.name}={h.default}"
            for h in definition.hyperparameters
        )
        return [f"{prefix}.{definition.name}({fields})(step)"]
    found: dict[str, str] = {}
    for path, text in texts.items():
        if path.startswith(f"{project.output}/{definition.section}/"):
            for node in ast.parse(text).body:
                if isinstance(node, ast.FunctionDef):
                    found.setdefault(node.name, _call(node))
    if definition.kind is Kind.FUNCTION:
        call = found.get(definition.name)
        return [f"{prefix}.{definition.name}{call}"] if call else []
    first = _SHOWN[definition.kind]
    methods = [m.name for m in definition.methods]
    names = [*first, *(n for n in found if n not in first and n in methods)]
    return [
        f"{prefix}.{definition.name}.{name}{found[name]}"
        for name in names
        if name in found
    ]


def _call(node: ast.FunctionDef) -> str:
    """The parameters, without their types."""
    arguments = node.args
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        *(a for a in (arguments.vararg, arguments.kwarg) if a),
    ]
    for argument in every:
        argument.annotation = None
    return f"({ast.unparse(arguments)})"
