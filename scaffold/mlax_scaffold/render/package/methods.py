"""Source of the methods of a layer that are no entry points: of the hyperparameters, and of its own."""

from __future__ import annotations

from collections.abc import Mapping

from mlax_scaffold.model.definition import Definition, MethodRole
from mlax_scaffold.render.package import keyword_inputs
from mlax_scaffold.render.text import docstring, indented
from mlax_scaffold.rewrite import Rewritten


def hyper_methods(definition: Definition, methods: Mapping[str, Rewritten]) -> str:
    """Source of the methods of the hyperparameters, and of what they say of keyword inputs."""
    constants = "\n".join(f"{name} = {value}" for name, value in definition.constants)
    parts = list(filter(None, [constants, keyword_inputs.source(definition)]))
    for method in definition.methods:
        if method.role not in (MethodRole.HYPER, MethodRole.PROPERTY):
            continue
        rewritten = methods[method.name]
        lines = ["@property"] if method.role is MethodRole.PROPERTY else []
        lines.append(f"def {method.name}{rewritten.signature}:")
        doc = f"{docstring(method.doc, 4)}\n" if method.doc else ""
        lines.append(indented(doc + rewritten.body))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def own_functions(definition: Definition, methods: Mapping[str, Rewritten]) -> str:
    """Source of the methods that take what they use, as functions of the module."""
    parts = []
    for method in definition.methods:
        if method.role is MethodRole.OWN:
            rewritten = methods[method.name]
            body = rewritten.body
            if method.doc:
                body = f"{docstring(method.doc, 4)}\n{body}"
            signature = f"def {method.name}{rewritten.signature}:"
            parts.append(f"{signature}\n{indented(body)}")
    return "\n\n\n".join(parts)
