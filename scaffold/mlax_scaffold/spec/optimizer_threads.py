"""The states of an optimizer that runs eagerly, which functions inside of its methods hand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mlax_scaffold.spec.sub_optimizers import SubOptimizer
from mlax_scaffold.spec.threads import Threads


class OptimizerThreads(Threads):
    """What an optimizer does for them: its states are its own, and those of its optimizers."""

    _state_: dict[str, Any]
    _nested_: Callable[[Mapping[str, Any]], list[tuple[SubOptimizer, Any]]]
    state: Any

    @property
    def non_trainables(self) -> Any:
        """All that a step may change."""
        return self.state

    def _install_(self, kind: str, tree: Any) -> None:
        for optimizer, own in self._nested_(tree):
            optimizer.state = own
        self._state_ = {name: tree[name] for name in self._state_}
