"""The plots of reference pages: pictures that the build of the documentation draws from the examples."""

from __future__ import annotations

from collections.abc import Iterator

from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.render.docs_markdown import prose

FOLDER = "_plots"
"""Where the pictures are, in the folder of the reference; they are not checked in."""


def plot(definition: Definition) -> Iterator[str]:
    """What a picture shows, and the picture; nothing where there is none to draw."""
    match definition.kind:
        case Kind.SCHEDULE:
            yield "The schedule of the example."
        case Kind.OPTIMIZER if _descends(definition):
            yield (
                "200 steps on the functions of Rosenbrock and of Beale, whose minima are "
                "marked. The learning rate is, for each of the two, that of six which "
                "ends lowest; the other hyperparameters are those of the example."
            )
        case _:
            return
    section, name = definition.section, definition.module
    yield f"![{prose(definition.name)}](../{FOLDER}/{section}/{name}.svg)"


def _descends(definition: Definition) -> bool:
    """Whether an optimizer goes somewhere by itself, at a rate that can be chosen."""
    names = {h.name for h in definition.hyperparameters}
    return "learning_rate" in names and not definition.structural()
