"""Where a spec says that it is smooth: the values that tests draw."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlax_scaffold.errors import Location


@dataclass(frozen=True)
class SmoothAt:
    """Values of an input or a weight at which a definition is smooth, and well conditioned."""

    name: str
    low: float
    high: float
    location: Location = field(compare=False, repr=False)
