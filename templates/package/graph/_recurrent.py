"""What the modules of recurrent cells have beside a call for one step."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.arrays import cast
from .._core.loops import shared
from ._given import checked_params
from ._layer import LayerModule
from ._params import Params
from ._scan import dynamic_scan, in_turn


class RecurrentModule(LayerModule):
    """A module of a recurrent cell: it runs one step, or all of a sequence.

    >>> state, params = lstm.initial_state(params, x[:, 0])
    >>> (y, state), params = lstm(params, x[:, 0], state)
    >>> (ys, state), params = lstm.apply(params, x, prev_state=state)
    """

    is_static: bool = False
    """Whether `apply` is a Python loop."""

    def initial_carry(self, input_shape: Any, dtype: Any) -> Any:
        """The state before the first step, for inputs of one step of that shape."""
        x = jax.ShapeDtypeStruct(tuple(input_shape), dtype)
        return self.outline((x, None)).hyperparams.initial_carry(input_shape, dtype)

    def initial_state(self, params: Params, x: Any) -> tuple[Any, Params]:
        """The state before the first step, for an input of one step of this shape."""
        x = jnp.asarray(x)
        return self.initial_carry(x.shape, x.dtype), params

    def apply(
        self,
        params: Params,
        x: jax.Array,
        prev_state: Any = None,
        *,
        reset: jax.Array | None = None,
        is_training: bool = True,
        **inputs: Any,
    ) -> tuple[tuple[Any, Any], Params]:
        """All steps of a sequence, along axis 1.

        The weights are cast once, before the loop. In 16 bits the error of their gradients
        does not grow with the number of steps.

        Args:
            params: the parameters.
            x: (batch, time, ...).
            prev_state: the state before the first step; None: the initial one.
            reset: boolean (batch, time): where the state is the initial one before the step.
            is_training: static; whether state changes and something may be random.
            **inputs: keyword inputs, the same in each step.

        Returns:
            `((y, state), params)`: y is (batch, time, ...), the state that after the last step.

        Raises:
            ValueError, TypeError: where x has no axis of time, or a reset does not fit.
        """
        checks.static_flag(type(self).__name__, is_training=is_training)
        x = jnp.asarray(x)
        if x.ndim < 3:
            raise ValueError(
                f"{type(self).__name__}: x must have shape (batch, time, ...), got {x.shape}"
            )
        steps, resets = jnp.moveaxis(x, 1, 0), None
        if reset is not None:
            owner = type(self).__name__
            reset = checks.logical(owner, reset=reset)
            checks.shapes(
                owner, {}, x=(x, "batch time ..."), reset=(reset, "batch time")
            )
            resets = jnp.moveaxis(reset, 1, 0)
        first = jax.ShapeDtypeStruct(steps.shape[1:], steps.dtype)
        sizes = self.inferred_sizes((first, prev_state))
        params = self._made(checked_params(self, params), sizes)
        outline = self._outline(sizes)
        start = None
        if prev_state is None or resets is not None:
            start = self.initial_carry(first.shape, x.dtype)
        prev_state = start if prev_state is None else prev_state
        weights = {path: params.value(path) for path in outline.trainables.paths}
        moving = {*outline.non_trainables.paths, *(self.rng.paths if self.rng else ())}
        changing, fixed = params.update(cast(weights, x.dtype)).split(
            lambda path, _: path in moving
        )

        cell: Any = self

        def step(carry: Any, xs: Any, fixed: Params = fixed) -> tuple[Any, Any]:
            (state, changing), (x, begins) = carry, xs
            if begins is not None:
                state = jax.tree.map(functools.partial(_begun, begins), start, state)
            params = fixed.merge(changing)
            (y, state), after = cell(
                params, x, state, is_training=is_training, **inputs
            )
            kept = changing.update({path: after.value(path) for path in changing})
            return (state, kept), y

        init = (prev_state, changing)
        if self.is_static and len(steps) > 0:
            # One of the weights for each step: their gradient is added in pairs.
            each_reset = [None] * len(steps) if resets is None else list(resets)
            xs = zip(steps, each_reset, strict=True)
            slices = zip(xs, shared(fixed, len(steps)), strict=True)
            (state, changing), each = in_turn(
                lambda c, s: step(c, *s), init, list(slices)
            )
            ys = jnp.stack(each)
        else:
            (state, changing), ys = dynamic_scan(step, init, (steps, resets))
        params = params.update({path: changing.value(path) for path in changing})
        return (jnp.moveaxis(ys, 0, 1), state), params


def _begun(begins: jax.Array, start: Any, state: Any) -> Any:
    """The first state where a sequence begins, else the state."""
    return jnp.where(jax.lax.expand_dims(begins, range(1, state.ndim)), start, state)
