"""The call of `init` by which hyperparameters say what weights and state `fwd` expects."""

from __future__ import annotations

import re

from mlax_scaffold.model.definition import Declaration, Definition, Hyperparameter


def outline(definition: Definition, takes_key: bool) -> str:
    """The expression that makes shapes in the place of arrays, from `self`."""
    given = ["outlines.SHAPES"] if takes_key else []
    given += [f"{h.name}={_argument(h)}" for h in definition.hyperparameters]
    made = f"init({', '.join(given)})"
    names = [repr(d.name) for d in definition.declarations if _open(definition, d)]
    return f"outlines.undecided({made}, {', '.join(names)})" if names else made


def _argument(h: Hyperparameter) -> str:
    match h.type.word.name:
        case "SubLayers":
            return f"[outlines.layer(part) for part in self.{h.name}]"
        case "Stacked":
            return f"outlines.layer(self.{h.name}, self.depth)"
    structural = h.type.word.structural
    return f"outlines.layer(self.{h.name})" if structural else f"self.{h.name}"


def _open(definition: Definition, d: Declaration) -> bool:
    """Whether an initializer decides if it is there. Hyperparameters do not hold it."""
    names = "|".join(h.name for h in definition.initializers)
    return bool(names and re.search(rf"\bself\.({names})\b", d.condition or ""))
