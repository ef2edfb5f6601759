"""What is claimed of hyperparameters: they hold what `init` was given.

A program that is compared with the spec's cannot tell, since the spec runs with what they hold.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from mlax_scaffold.testing.optimizer_situation import OptimizerSituation
from mlax_scaffold.testing.situation import Situation


def hold_what_it_is_given(situation: Situation | OptimizerSituation) -> None:
    """Numbers, texts, dtypes and None, as they are."""
    case = situation.case
    if isinstance(situation, OptimizerSituation):
        hyperparams = situation.initialized[1]
    else:
        hyperparams = situation.arguments.hyperparams
    assert_held(case.name, case.hyperparameters or {}, hyperparams)


def assert_held(owner: str, given: Mapping[str, Any], hyperparams: Any) -> None:
    """Raise AssertionError, naming it, where a hyperparameter is another than what was given."""
    for name, value in given.items():
        held = getattr(hyperparams, name, value)
        if not _is_plain(value) or _is_of_another_form(held, value):
            continue
        if held != value:
            raise AssertionError(
                f"{owner}: {name}={value!r} was given, and hyperparams hold {held!r}"
            )


def _is_plain(value: Any) -> bool:
    """Whether it is no layer, function or schedule, which are held otherwise."""
    return not callable(value) and (
        value is None
        or isinstance(value, int | float | str)
        or hasattr(value, "itemsize")
    )


def _is_of_another_form(held: Any, value: Any) -> bool:
    """Whether it is one for each axis, or a member of what the text names."""
    return isinstance(held, tuple | enum.Enum) and value is not None
