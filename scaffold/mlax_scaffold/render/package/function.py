"""What the template of functions places."""

from __future__ import annotations

from collections.abc import Mapping

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.arrays import result_doc
from mlax_scaffold.render.package.input_checks import (
    InputChecks,
    complex_check,
    counted_axes,
)
from mlax_scaffold.render.package.layer import FunctionView
from mlax_scaffold.render.parameters import check
from mlax_scaffold.render.signatures import function_call
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
    definition: Definition, library: Library, methods: Mapping[str, Rewritten]
) -> FunctionView:
    """The view of a function."""
    method = definition.entry
    signature = function_call(definition)
    axes = counted_axes(definition, method)
    # A text or another number that has the name of an axis says no size.
    sizes = {
        h.name: h.name
        for h in definition.hyperparameters
        if h.type.word.names or h.name in axes
    }
    checks = InputChecks(
        definition.name, sizes, counted=axes, absent=definition.absent_sizes
    )
    lines = [
        *(check(definition.name, h) for h in definition.hyperparameters),
        *checks.statements(method.inputs),
        *(
            complex_check(definition, method)
            if library.refuses_half(definition)
            else ()
        ),
    ]
    returned = result_doc(method.returns)
    doc = paragraphs(
        opening(definition.summary, 4),
        definition.description,
        section("Args", signature.docs),
        "Returns:\n" + indented(wrapped(f"{returned[0].upper()}{returned[1:]}.", 8)),
        section(
            "Raises", [("ValueError, TypeError", "where an argument does not fit.")]
        )
        if lines
        else "",
    )
    body = "\n\n".join(["\n".join(lines), methods[definition.name].body]).lstrip("\n")
    return FunctionView(signature, docstring(doc, 4), body)
