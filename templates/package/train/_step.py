"""A training step from a loss: gradients, update, average."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.static import InitializedOptimizer, StepHyperparams
from .._core.trees import apply_updates, loss_scales
from ._parts import Measure, each_example, in_parts, number_of_examples
from ._state import State, moved_average

Loss = Callable[[Any, Any, Any, jax.Array], tuple[Any, ...]]
"""(trainables, non_trainables, batch, key) to (value, non_trainables), or these and metrics."""


def step(
    loss: Loss,
    optimizer: InitializedOptimizer | StepHyperparams,
    *,
    micro_batches: int = 1,
    per_example: bool = False,
    average_decay: float | None = None,
) -> Callable[[State, Any], tuple[State, dict[str, Any]]]:
    """A function that takes a state and a batch to the next state, and to what was measured.

    It is pure: compile it with `jax.jit(..., donate_argnums=0)`. The optimizer gets the value
    of the loss, the loss as a function, and a key, whether it needs them or not. Where
    `optim.DynamicLossScaling` is in it, the loss is multiplied by its scale.

    Args:
        loss: a function of (trainables, non_trainables, batch, key) that returns
            (value, non_trainables), or (value, non_trainables, metrics): a scalar, the
            new state of the model, and arrays by name.
        optimizer: what `init` of an optimizer returned, or the hyperparameters in it: its
            state is in the `State`.
        micro_batches: in how many parts a batch is taken, one after the other, with the mean
            of their gradients, values and metrics. Each array of the batch has the examples
            along its first axis; part i of n has the examples i, i + n, i + 2n, so that the
            parts of a batch that is spread over devices are spread, too.
        per_example: whether the optimizer gets the gradients of each example, which
            `optim.ClipExamples`, `optim.DifferentiallyPrivate` and `optim.AverageExamples`
            take: those of the loss of a batch of this example alone, with a key of its own;
            so have the keys that are in the state. Values and metrics are means over the
            examples. The rest of the state must be the same after each, no optimizer can
            evaluate the loss, and of those three only AverageExamples may hold
            `optim.DynamicLossScaling`. With micro_batches, the gradients of all examples are
            in memory, but what they are computed from is that of one part.
        average_decay: of the average of the weights, where the state has one.

    Returns:
        The step. It returns the new state, and a dict of "loss" and the metrics.

    Raises:
        ValueError, TypeError: where an argument is not what it may be; and by the step, where
            the loss returns something else, a batch does not divide, or there is
            something that gradients of each example do not go with.
    """
    hyperparams = _hyperparams(optimizer)
    micro_batches = checks.size("train.step", micro_batches=micro_batches)
    decay = checks.optional(checks.decay, "train.step", average_decay=average_decay)
    per_example = checks.boolean("train.step", per_example=per_example)

    def measuring(scale: Any = None) -> Measure:
        measure: Measure = functools.partial(_gradients, loss, scale)
        if per_example:
            measure = each_example(measure)
        if micro_batches == 1:
            return measure
        return in_parts(measure, micro_batches, per_example)

    def train_step(state: State, batch: Any) -> tuple[State, dict[str, Any]]:
        if (state.average is None) != (decay is None):
            raise ValueError(
                "train.step: an average of the weights needs both "
                "train.init(..., average=True) and train.step(..., average_decay=...); got "
                f"{'no average' if state.average is None else 'an average'} and "
                f"average_decay={decay}"
            )
        # Of the key and the number of the step, so that a resumed run draws the same.
        key = jax.random.fold_in(state.key, state.step)
        loss_key, optimizer_key = jax.random.split(key)
        scale = _loss_scale(state.optimizer, per_example)
        given = (state.non_trainables, batch, loss_key)
        if per_example:
            number_of_examples(batch)

        def value_and_gradients(trainables: Any) -> tuple[Any, Any]:
            if per_example:
                raise ValueError(
                    "train.step: the optimizer evaluates the loss itself, which would have "
                    "the gradient of the batch where per_example=True gives it those of "
                    "each example; take an optimizer that only uses the gradients it is given"
                )
            (value, _, _), gradients = measuring()(trainables, *given)
            return value, gradients

        (value, non_trainables, metrics), gradients = measuring(scale)(
            state.trainables, *given
        )
        updates, optimizer_state = hyperparams.apply(
            gradients,
            state.optimizer,
            state.trainables,
            value=value,
            value_and_gradients=value_and_gradients,
            key=optimizer_key,
        )
        trainables = apply_updates(state.trainables, updates)
        average = state.average
        if decay is not None:
            average = moved_average(average, trainables, decay)
        after = State(
            trainables,
            non_trainables,
            optimizer_state,
            state.key,
            state.step + 1,
            average,
        )
        return after, {"loss": value, **metrics}

    return train_step


def loss_of_params(loss: Callable[[Any, Any, jax.Array], tuple[Any, ...]]) -> Loss:
    """The loss of a module as one that `step` takes.

    What is trained is what the state has as trainables: one half of `params.split()`, or of
    `params.split(predicate)`, which freezes the rest.

    Args:
        loss: a function of (params, batch, key) that returns (value, params), or
            (value, params, metrics).
    """

    @functools.wraps(loss)
    def of_halves(
        trainables: Any, non_trainables: Any, batch: Any, key: jax.Array
    ) -> tuple[Any, ...]:
        result = loss(trainables.merge(non_trainables), batch, key)
        value, params, *metrics = _checked_result(result, "params")
        _, after = params.split(lambda path, _: path in trainables)
        return value, after, *metrics

    return of_halves


def _hyperparams(optimizer: Any) -> StepHyperparams:
    if hasattr(optimizer, "apply") and not isinstance(optimizer, tuple):
        return optimizer
    return checks.sub_optimizer("train.step", optimizer=optimizer)[1]


def _gradients(
    loss: Loss, scale: Any, trainables: Any, non_trainables: Any, batch: Any, key: Any
) -> Any:
    """`((value, non_trainables, metrics), gradients)`; these are of the loss times a scale."""

    def scaled(trainables: Any) -> tuple[Any, Any]:
        result = loss(trainables, non_trainables, batch, key)
        value, after, *rest = _checked_result(result, "non_trainables")
        metrics = jax.tree.map(jnp.asarray, dict(rest[0]) if rest else {})
        # The scale is too large for a loss of float16.
        objective = value if scale is None else value.astype(jnp.float32) * scale
        return objective, (value, after, metrics)

    gradients, measured = jax.grad(scaled, has_aux=True)(trainables)
    return measured, gradients


def _checked_result(result: Any, state: str) -> tuple[Any, ...]:
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise TypeError(
            f"train.step: the loss must return (value, {state}) or "
            f"(value, {state}, metrics), got {_described(result)}"
        )
    value = result[0]
    if jnp.shape(value) or not jnp.issubdtype(jnp.result_type(value), jnp.floating):
        raise ValueError(
            "train.step: the loss must be a floating scalar, such as the mean of what each "
            f"example has; got {jnp.result_type(value)}{list(jnp.shape(value))}"
        )
    if len(result) == 3:
        metrics = result[2]
        if not isinstance(metrics, Mapping) or "loss" in metrics:
            raise TypeError(
                "train.step: metrics must be a dict of arrays by name, without 'loss', "
                f"got {_described(metrics)}"
            )
    return jnp.asarray(value), *result[1:]


def _described(result: Any) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}"
    if isinstance(result, Mapping):
        return f"a dict of {', '.join(map(repr, result)) or 'nothing'}"
    return f"{type(result).__name__}"


def _loss_scale(optimizer: Any, per_example: bool) -> Any:
    """The scale that an optimizer expects of the loss, or None."""
    found = loss_scales(optimizer)
    if len(found) > 1:
        raise ValueError(
            "train.step: the optimizer has two DynamicLossScaling, and a loss has one scale"
        )
    if found and per_example and type(optimizer).__name__ != "AverageExamplesState":
        raise ValueError(
            "train.step: with per_example=True, DynamicLossScaling would scale the norms "
            "that gradients of each example are clipped by; leave it out (bfloat16 needs "
            "none), or write AverageExamples.init(DynamicLossScaling.init(...))"
        )
    return found[0].scale if found else None
