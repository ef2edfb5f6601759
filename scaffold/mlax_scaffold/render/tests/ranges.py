"""Values that tests draw: of indices, of what is positive, and where a spec is smooth."""

from __future__ import annotations

from mlax_scaffold.model.definition import Definition, Kind, Method
from mlax_scaffold.render.tests.names import local

_NOT_NEGATIVE = ("var", "positive")
"""Names of inputs that are drawn above zero."""


def ranges(definition: Definition, method: Method) -> str:
    """Half-open ranges of inputs that have one: indices, and variances."""
    several = len(method.positional) > 1 or definition.kind is Kind.FUNCTION
    labels = [
        f"x[{n}]" if several else "x"
        for n, i in enumerate(method.positional)
        if i.type.holds("Int")
    ]
    labels += [i.name for i in method.keyword if i.type.holds("Int")]
    sizes = ", ".join(
        local(h.name) for h in definition.hyperparameters if h.type.word.measured
    )
    found = [f'"{label}": (0, smallest({sizes}))' for label in labels]
    found += [
        f'"x[{n}]": (0.5, 1.5)'
        for n, i in enumerate(method.inputs)
        if i.name in _NOT_NEGATIVE
    ]
    places = {
        i.name: f"x[{n}]" if several else "x" for n, i in enumerate(method.positional)
    }
    places |= {d.name: f"trainables.{d.name}" for d in definition.weights}
    found += [
        f'"{places.get(given.name, given.name)}": ({given.low!r}, {given.high!r})'
        for given in definition.smooth_at
    ]
    return ", ".join(found)
