"""Hypothesis profiles: how thoroughly property tests look.

`ci` draws the same few examples in every run; `thorough` draws many new ones. Neither has
a deadline: the first example of a shape compiles, the others do not.
"""

from __future__ import annotations

import os
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings

CI = "ci"
THOROUGH = "thorough"
PROFILES = (CI, THOROUGH)
ENVIRONMENT_VARIABLE = "MLAX_SCAFFOLD_PROFILE"
_PREFIX = "mlax-"
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""No shrinking: contracts look for the smallest case, and for a limited time."""
T = TypeVar("T")


def register() -> None:
    """Make the profiles known to Hypothesis, as "mlax-ci" and "mlax-thorough"."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile(
        _PREFIX + CI,
        max_examples=5,
        phases=_PHASES,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
        suppress_health_check=slow,
    )
    settings.register_profile(
        _PREFIX + THOROUGH,
        max_examples=200,
        phases=_PHASES,
        deadline=None,
        print_blob=True,
        suppress_health_check=slow,
    )


def chosen(option: str | None = None) -> str | None:
    """The profile that the option names, else the environment variable, else None.

    Raises ValueError where it names none.
    """
    name = option or os.environ.get(ENVIRONMENT_VARIABLE) or None
    if name is not None and name not in PROFILES:
        raise ValueError(
            f'"{name}" is no profile of mlax-scaffold: expected {" or ".join(PROFILES)}, '
            f"in --mlax-profile or in {ENVIRONMENT_VARIABLE}"
        )
    return name


def each_dtype(test: T) -> T:
    """Settings of the property that every dtype is kept: an example is traced in milliseconds."""
    return _examples(test, {CI: 3, THOROUGH: 200})


def seeds() -> int:
    """How many cases are tried for each pair of options."""
    return {CI: 1, THOROUGH: 8}[chosen() or CI]


def _examples(test: T, examples: dict[str, int]) -> T:
    name = chosen() or CI
    register()
    profile = settings.get_profile(_PREFIX + name)
    return settings(profile, max_examples=examples[name])(test)


def load(name: str) -> None:
    """Register the profiles and make the one of this name the default."""
    register()
    settings.load_profile(_PREFIX + name)
