"""The specs of the library, as the definitions that run eagerly."""

from pathlib import Path
from typing import Any

import mlax_scaffold
from mlax_scaffold.spec.loading import load

SPECS = Path(mlax_scaffold.__file__).parent / "specs"


def spec(place: str) -> Any:
    """The definition of a spec of the library, such as "nn/linear"."""
    return load(SPECS / f"{place}.py")
