"""Where generated code computes in another dtype than that of its inputs, in a case of its tests."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Container, Iterator
from typing import Any

import jax

from mlax_scaffold.testing import covering
from mlax_scaffold.testing.contract import Claim, Contract
from mlax_scaffold.testing.optimizer_situation import OptimizerSituation
from mlax_scaffold.testing.picks import Pick
from mlax_scaffold.testing.programs import Program
from mlax_scaffold.testing.schedule import ScheduleSituation
from mlax_scaffold.testing.situation import Situation
from mlax_scaffold.testing.widening import Widening, widenings

_SECONDS = 3.0
"""Of the processor's time: so long it is looked for."""


def first_widening(
    contract: Contract[Any], paths: Container[str], *, meant: bool
) -> Widening | None:
    """The first expression of some files that computes in another dtype.

    Args:
        contract: that of the generated tests.
        paths: the files.
        meant: whether a layer may compute in wider dtypes, too: what it returns has to be cast back, or
            what numbers of its input meet.
    """
    claims = [c for c in contract.claims if c.check.__name__ == "keep_the_dtype"]
    for situation in _soon(contract) if claims else ():
        if any(_keeps(claim, situation) for claim in claims) or _grows(situation):
            continue
        program, dtype, wide = _computed(situation, meant)
        for found in widenings(program.jaxpr.jaxpr, paths, dtype, meant=wide):
            return found
    return None


def _soon(contract: Contract[Any]) -> Iterator[Any]:
    """The first situations of a contract: one at least, and those that are found in a few seconds."""
    end = time.process_time() + _SECONDS
    some = False

    def make(pick: Pick) -> Any:
        if some and time.process_time() > end:
            raise _OutOfTime
        return contract.make(pick)

    with contextlib.suppress(_OutOfTime):
        for situation, _ in covering.covering(make):
            some = True
            yield situation


class _OutOfTime(Exception):
    """No others are looked for."""


def _grows(situation: Any) -> bool:
    """Whether a new state has another shape: what is wrong there is no dtype."""
    if not isinstance(situation, Situation):
        return False
    _, state = situation.forward.out
    shapes = [
        [leaf.shape for leaf in jax.tree.leaves(tree)]
        for tree in (situation.arguments.non_trainables, state)
    ]
    return shapes[0] != shapes[1]


def _computed(situation: Any, meant: bool) -> tuple[Program, Any, bool]:
    """What is computed there, in which dtype, and whether it may be in wider ones."""
    match situation:
        case OptimizerSituation():
            # Numbers of the step are of the default dtype.
            return situation.step, situation.dtype, True
        case ScheduleSituation():
            return situation.program, situation.dtype, False
    return situation.forward, situation.compute_dtype, meant


def _keeps(claim: Claim[Any], situation: Any) -> bool:
    try:
        claim.check(situation)
    except AssertionError:
        return False
    return True
