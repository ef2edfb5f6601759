"""What the template of schedules places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition
from mlax_scaffold.render.parameters import canonical, hyperparameter
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
    call_doc: str
    body: str


_CALL_DOC = """\
The value at a step.

Args:
    step: a number, or an array of them; integers are taken in the default float
        dtype.

Returns:
    The value, in the dtype and the shape of the step."""


def schedule_view(
    definition: Definition, methods: Mapping[str, Rewritten]
) -> ScheduleView:
    """The view of a schedule."""
    fields = []
    lines = []
    for h in definition.hyperparameters:
        p = hyperparameter(h)
        doc = docstring(wrapped(sentence(p.doc), 4 + 3))
        fields.append(f"{p.text}\n{doc}")
        made = canonical(definition.name, h, f"self.{h.name}")
        lines.append(f"object.__setattr__(self, {h.name!r}, {made})")
    if "setup" in methods:
        lines.append(methods["setup"].body.rstrip("\n"))
    return ScheduleView(
        definition.name,
        docstring(
            paragraphs(opening(definition.summary, 4), definition.description), 4
        ),
        tuple(fields),
        "\n".join(lines),
        docstring(_CALL_DOC, 8),
        methods["value"].body,
    )
