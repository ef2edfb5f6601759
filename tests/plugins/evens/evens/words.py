"""Words for the hyperparameters of specs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Even = int
else:
    from mlax_scaffold.plugin import word

    Even = word(
        "Even",
        takes="an even integer of at least 2",
        check="evens.checks.even",
        types="int",
        strategy="evens.strategies.evens()",
        example="6",
        invalid=(3, 0, 2.0, "2"),
        spellings=("EvenInt",),
        measured=True,
        names="axis",
        per_dim=True,
    )
