"""What generated tests call the values that they draw, beside the names that they use themselves."""

from __future__ import annotations

from mlax_scaffold.render.tests.imports import IMPORTED

_LOCAL = frozenset(
    [
        *("SPEC", "cases", "claim", "count", "example", "functional", "graph"),
        *("hyperparameters", "hyperparams", "inputs", "loss", "pick", "rank"),
        "requirements",
        *("shapes", "traced"),
    ]
)


def local(name: str) -> str:
    """The variable that holds a drawn value of the hyperparameter of that name."""
    return f"{name}_" if name in IMPORTED | _LOCAL else name
