"""Base classes of recurrences of one's own: a step is written, and a sequence runs."""

from __future__ import annotations

import abc
from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from ._given import checked_params
from ._graph import Graph, Path, shown_path
from ._module import Module
from ._params import Params
from ._scan import dynamic_scan, static_scan


class SequenceBase(Module, abc.ABC):
    """A module that runs one step of a sequence, or all of them."""

    @abc.abstractmethod
    def initial_state(self, params: Params, inputs: Any) -> tuple[Any, Params]:
        """`(state, params)`: the state before the first step, for the inputs of one step."""

    @abc.abstractmethod
    def __call__(
        self,
        params: Params,
        inputs: Any,
        prev_state: Any,
        is_reset: Any = None,
        is_training: bool = True,
    ) -> tuple[tuple[Any, Any], Params]:
        """One step: `((y, state), params)` of inputs (batch, ...)."""

    @abc.abstractmethod
    def apply(
        self,
        params: Params,
        inputs: Any,
        prev_state: Any = None,
        is_reset: Any = None,
        is_training: bool = True,
    ) -> tuple[tuple[Any, Any], Params]:
        """All steps: `((ys, state), params)` of inputs (batch, time, ...)."""


class RecurrenceBase(SequenceBase):
    """A recurrent cell of one's own: `initial_state` and `__call__` are to be written.

    >>> class Sum(RecurrenceBase):
    ...     def initial_state(self, params, inputs):
    ...         return jnp.zeros_like(inputs), params
    ...
    ...     def __call__(self, params, inputs, prev_state, is_reset=None, is_training=True):
    ...         prev_state = self.maybe_reset_state(params, prev_state, inputs, is_reset)
    ...         state = prev_state + inputs
    ...         return (state, state), params

    Args:
        graph: a node of its own.
        is_static: whether `apply` is a Python loop.
    """

    def __init__(self, graph: Graph, is_static: bool = False) -> None:
        super().__init__(graph)
        self.is_static = checks.boolean(type(self).__name__, is_static=is_static)

    def maybe_reset_state(
        self, params: Params, prev_state: Any, inputs: Any, is_reset: Any = None
    ) -> Any:
        """The initial state where a sequence begins, else the state.

        Args:
            params: the parameters.
            prev_state: the state before the step.
            inputs: those of the step.
            is_reset: boolean (batch,), or a tree of such like the state; None: nowhere.
        """
        if is_reset is None:
            return prev_state
        start, _ = self.initial_state(params, inputs)
        if jax.tree.structure(is_reset) != jax.tree.structure(start):
            is_reset = jax.tree.map(lambda _: is_reset, start)
        return jax.tree.map(_begun, is_reset, start, prev_state)

    def apply(
        self,
        params: Params,
        inputs: Any,
        prev_state: Any = None,
        is_reset: Any = None,
        is_training: bool = True,
    ) -> tuple[tuple[Any, Any], Params]:
        """All steps of a sequence, along axis 1.

        What is trainable is the same in all steps; the rest is handed from step to step.

        Args:
            params: the parameters. Where they are not locked, those that are missing are made.
            inputs: a tree of arrays (batch, time, ...).
            prev_state: the state before the first step; None: the initial one.
            is_reset: a tree of booleans (batch, time): where a sequence begins anew.
            is_training: static; handed on to each step.

        Returns:
            `((ys, state), params)`: ys are (batch, time, ...), the state that after the last step.

        Raises:
            ValueError: where inputs have no axis of time, or of no length, or where a step
                changes a weight.
        """
        owner = type(self).__name__
        checks.static_flag(owner, is_training=is_training)
        checked_params(self, params)
        given = jax.tree.map(jnp.asarray, (inputs, is_reset))
        for leaf in jax.tree.leaves(given):
            if leaf.ndim < 2 or not leaf.shape[1]:
                raise ValueError(
                    f"{owner}: inputs must have shape (batch, time, ...) with a step at "
                    f"least, got {leaf.shape}"
                )
        steps = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), given)
        first, begins = jax.tree.map(lambda leaf: leaf[0], steps)
        if prev_state is None:
            prev_state, params = self.initial_state(params, first)
        if not params.is_locked:
            params = self._created(params, first, prev_state, begins, is_training)
        fixed, changing = params.split()

        def step(carry: Any, xs: Any) -> tuple[Any, Any]:
            state, changing = carry
            (y, state), after = self(
                fixed.merge(changing), xs[0], state, xs[1], is_training
            )
            self._require_kept(fixed, after)
            return (state, changing.update({p: after.value(p) for p in changing})), y

        scan = static_scan if self.is_static else dynamic_scan
        (state, changing), ys = scan(step, (prev_state, changing), steps)
        params = params.update({path: changing.value(path) for path in changing})
        ys = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), ys)
        return (ys, state), params

    def _created(self, params: Params, *step: Any) -> Params:
        """The params with those that a step makes; of others only counters of keys change."""
        before = params.layout.changing
        if before is None:
            params = params.changing(self.graph.root.key_paths())
        _, made = self(params, *step)
        return made.changing(before)

    def _require_kept(self, fixed: Params, after: Params) -> None:
        changed: list[Path] = [
            path for path in fixed if after.value(path) is not fixed.value(path)
        ]
        if changed:
            raise ValueError(
                f"{type(self).__name__}: a step changes the weight {shown_path(changed[0])}, "
                "which all steps share; make it with trainable=False"
            )


def _begun(begins: jax.Array, start: Any, state: Any) -> Any:
    """The first state where a sequence begins, else the state."""
    begins = jax.lax.expand_dims(begins, range(begins.ndim, state.ndim))
    return jnp.where(begins, start, state)
