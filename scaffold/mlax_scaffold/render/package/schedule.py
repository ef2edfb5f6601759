"""What the template of schedules places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.render.package.methods import hyper_methods
from mlax_scaffold.render.parameters import canonical
from mlax_scaffold.render.signatures import schedule_init
from mlax_scaffold.render.text import (
    docstring,
    opening,
    paragraphs,
    sentence,
    wrapped,
)
from mlax_scaffold.rewrite import Rewritten


@dataclass(frozen=True)
class ScheduleView:
    """A generated schedule."""

    name: str
    doc: str
    fields: tuple[str, ...]
    checks: str
    methods: str
    """Source of its own methods and properties, not indented."""
    call_doc: str
    steps: str
    """How the step arrives in the body."""
    body: str


_CALL_DOC = """\
The value at a step.

Args:
    step: a number, or an array of them.

Returns:
    The value, in the shape and the dtype of the step; of integers it has the
    default float dtype."""


def schedule_view(
    definition: Definition, methods: Mapping[str, Rewritten]
) -> ScheduleView:
    """The view of a schedule."""
    fields = []
    lines = []
    parameters = schedule_init(definition).parameters
    for h, p in zip(definition.hyperparameters, parameters, strict=True):
        doc = docstring(wrapped(sentence(p.doc), 4 + 3))
        fields.append(f"{p.text}\n{doc}")
        made = canonical(definition.name, h, f"self.{h.name}")
        lines.append(f"object.__setattr__(self, {h.name!r}, {made})")
    steps = ["step = arrays.floating(step)"]
    value = definition.method("value")
    if value is not None and "step_number" in value.names:
        steps.insert(0, "step_number = arrays.exact(step)")
    if "setup" in methods:
        lines.append(methods["setup"].body.rstrip("\n"))
    return ScheduleView(
        definition.name,
        docstring(
            paragraphs(opening(definition.summary, 4), definition.description), 4
        ),
        tuple(fields),
        "\n".join(lines),
        hyper_methods(definition, methods),
        docstring(_CALL_DOC, 8),
        "\n".join(steps),
        methods["value"].body,
    )
