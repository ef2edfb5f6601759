"""The call of `init` by which hyperparameters say what weights and state `fwd` expects."""

from __future__ import annotations

from mlax_scaffold.model.definition import Declaration, Definition, Hyperparameter
from mlax_scaffold.model.expressions import Origin


def outline(definition: Definition, takes_key: bool) -> str:
    """The expression that makes shapes in the place of arrays, from `self`.

    Empty where that is the call of `init` with the hyperparameters as they are.
    """
    given = ["outlines.SHAPES"] if takes_key else []
    given += [f"{h.name}={_argument(h)}" for h in definition.hyperparameters]
    made = f"init({', '.join(given)})"
    names = [repr(d.name) for d in definition.declarations if _open(d)]
    if not names and not definition.structural():
        return ""
    return f"outlines.undecided({made}, {', '.join(names)})" if names else made


def _argument(h: Hyperparameter) -> str:
    word = h.type.word
    if word.many:
        return f"[outlines.layer(part) for part in self.{h.name}]"
    depth = ", self.depth" if word.stacked else ""
    return (
        f"outlines.layer(self.{h.name}{depth})" if word.structural else f"self.{h.name}"
    )


def _open(d: Declaration) -> bool:
    """Whether an initializer decides if it is there. Hyperparameters do not hold it."""
    return bool(d.condition and d.condition.reads(Origin.INITIALIZER))
