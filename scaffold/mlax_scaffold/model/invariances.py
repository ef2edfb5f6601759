"""What a layer says of an axis, in a line: `causal time if not reverse`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KINDS = {
    "causal": "results at a position depend on no later position",
    "independent": "results at a position depend on no other position",
    "permutable": "the order of positions changes nothing but that of results",
}
"""What may be said, and what it means."""

INFERENCE = "inference"
"""What a line may depend on beside a hyperparameter."""

FORM = '"causal time", or "causal time if field", or "... if not field"'
"""How a line is written."""


@dataclass(frozen=True)
class Invariance:
    """That results do not depend on something along an axis.

    Args:
        kind: one of `KINDS`.
        axis: its name in the shapes of inputs and results.
        field: the hyperparameter that decides whether it holds, or `inference`; "": it always does.
        negated: whether it holds where that is false.
    """

    kind: str
    axis: str
    field: str = ""
    negated: bool = False

    def __str__(self) -> str:
        condition = f" if {'not ' * self.negated}{self.field}" if self.field else ""
        return f"{self.kind} {self.axis}{condition}"

    @classmethod
    def parse(cls, text: str) -> Invariance:
        """The invariance that a line says. Raises ValueError where it is none."""
        field, negated = "", False
        match text.split(" "):
            case [kind, axis]:
                pass
            case [kind, axis, "if", field]:
                pass
            case [kind, axis, "if", "not", field]:
                negated = True
            case _:
                raise ValueError(f'"{text}" says nothing of an axis')
        if kind not in KINDS:
            raise ValueError(f'"{kind}" is none of {", ".join(KINDS)}')
        return cls(kind, axis, field, negated)

    def holds(self, fields: Mapping[str, object]) -> bool:
        """Whether it is claimed for these hyperparameters, with `inference` among them."""
        return not self.field or bool(fields[self.field]) is not self.negated
