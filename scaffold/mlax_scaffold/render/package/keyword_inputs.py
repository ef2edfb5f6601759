"""Keyword inputs of layers, and those that blocks hand to their layers."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.render.text import docstring


def source(definition: Definition) -> str:
    """What hyperparameters say of the keyword inputs of `fwd`; empty where it takes none."""
    method = definition.method("forward")
    if method is None:
        return ""
    names = tuple(i.name for i in method.keyword)
    if not method.passes:
        if not names:
            return ""
        doc = docstring("Keyword inputs of `fwd`.")
        return f"keyword_inputs: ClassVar[tuple[str, ...]] = {names!r}\n{doc}"
    layers = [
        f"*self.{h.name}" if h.type.word.many else f"self.{h.name}"
        for h in definition.structural()
    ]
    of_layers = f"arrays.keyword_inputs({', '.join(layers)})"
    doc = docstring("Keyword inputs of `fwd`: those of its layers.", 4)
    lines = [
        "@property",
        "def keyword_inputs(self) -> tuple[str, ...]:",
        f"    {doc}",
        f"    return {f'(*{names!r}, *{of_layers})' if names else of_layers}",
    ]
    return "\n".join(lines)
