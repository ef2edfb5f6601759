"""What the template of functions places."""

from __future__ import annotations

from collections.abc import Mapping

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.render.input_checks import InputChecks, counted_axes
from mlax_scaffold.render.layer import FunctionView
from mlax_scaffold.render.parameters import (
    Parameter,
    array_doc,
    check,
    hyperparameter,
)
from mlax_scaffold.render.text import (
    docstring,
    indented,
    opening,
    paragraphs,
    section,
    wrapped,
)
from mlax_scaffold.rewrite import Rewritten


def function_view(
    definition: Definition, methods: Mapping[str, Rewritten]
) -> FunctionView:
    """The view of a function."""
    method = definition.methods[0]
    arrays = [
        Parameter(
            i.name,
            i.type.annotation,
            i.default,
            f"{i.doc.rstrip('.')}: {array_doc(i.type)}."
            if i.doc
            else f"{array_doc(i.type)}.",
        )
        for i in method.inputs
    ]
    named = [hyperparameter(h) for h in definition.hyperparameters]
    signature = [p.text for p in arrays]
    if named:
        signature += ["*", *(p.text for p in named)]
    sizes = {h.name: h.name for h in definition.hyperparameters}
    axes = counted_axes(definition, method)
    checks = InputChecks(definition.name, sizes, counted=axes)
    lines = [
        *(check(definition.name, h) for h in definition.hyperparameters),
        *checks.statements(method.inputs),
    ]
    result = "Any" if method.returns is None else method.returns.annotation
    returned = "anything" if method.returns is None else array_doc(method.returns)
    doc = paragraphs(
        opening(definition.summary, 4),
        definition.description,
        section("Args", [(p.name, p.doc) for p in (*arrays, *named)]),
        "Returns:\n" + indented(wrapped(f"{returned[0].upper()}{returned[1:]}.", 8)),
        section(
            "Raises", [("ValueError, TypeError", "where an argument does not fit.")]
        )
        if lines
        else "",
    )
    return FunctionView(
        definition.name,
        ", ".join(signature),
        result,
        docstring(doc, 4),
        "\n".join([*lines, methods[definition.name].body]),
    )
