"""Optimizers as gradient transformations of optax, and the other way round."""

import contextlib
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from . import placement
from .dependence import depends
from .static import InitializedOptimizer, static


def to_optax(init: Callable[[Any], InitializedOptimizer]) -> Any:
    """A gradient transformation of optax that takes the steps of an optimizer.

        transformation = to_optax(functools.partial(Adam.init, learning_rate=1e-3))

    Its state is `(state, hyperparams)`. Its update needs params; of the extra arguments it
    takes `value`, `value_and_gradients`, `key`, and `value_fn`, the loss as a function of
    the weights, and leaves the others to other transformations.

    Args:
        init: makes an initialized optimizer for weights.

    Returns:
        An `optax.GradientTransformationExtraArgs`.

    Raises:
        ImportError: where optax is not installed.
    """

    def update(
        updates: Any,
        state: Any,
        params: Any = None,
        *,
        value: Any = None,
        value_and_gradients: Any = None,
        value_fn: Any = None,
        key: Any = None,
        **others: Any,
    ) -> tuple[Any, Any]:
        if params is None:
            raise ValueError("to_optax: update needs params, which is None")
        if value_and_gradients is None and value_fn is not None:
            value_and_gradients = jax.value_and_grad(value_fn)
        own, hyperparams = state
        updates, own = hyperparams.apply(
            updates,
            own,
            params,
            value=value,
            value_and_gradients=value_and_gradients,
            key=key,
        )
        return updates, (own, hyperparams)

    return _optax("to_optax").GradientTransformationExtraArgs(init, update)


class OptaxState(NamedTuple):
    """State of a gradient transformation of optax."""

    state: Any
    """What the transformation keeps."""


@static
class OptaxHyperparams:
    """A gradient transformation of optax, which is a pair of functions: hashable, static."""

    transformation: Any
    """With support for extra arguments."""
    takes_extra: bool
    """Whether it looks at them."""

    def apply(
        self,
        gradients: Any,
        state: OptaxState,
        trainables: Any,
        *,
        value: jax.Array | None = None,
        value_and_gradients: Callable[[Any], tuple[jax.Array, Any]] | None = None,
        key: jax.Array | None = None,
    ) -> tuple[Any, OptaxState]:
        """One step: updates in the dtypes of the weights, and the new state."""
        extra: dict[str, Any] = {"grad": gradients, "value": value, "key": key}
        if value_and_gradients is not None and self.takes_extra:
            function = value_and_gradients
            # In a Chain, `gradients` are what the optimizer before made of them. Where the
            # loss cannot be evaluated (in Accumulate), what calls `value_fn` is told so.
            with contextlib.suppress(ValueError):
                loss, extra["grad"] = function(trainables)
                extra["value"] = loss if value is None else value

            # Line searches hand it the arguments that they do not know, by their names.
            def value_fn(weights: Any, key: Any = None, grad_fn: Any = None) -> Any:
                return function(weights)[0]

            extra["value_fn"] = value_fn
            extra["grad_fn"] = lambda weights, *_: function(weights)[1]
        given = {name: item for name, item in extra.items() if item is not None}
        updates, new = self.transformation.update(
            gradients, state.state, trainables, **given
        )
        cast = jax.tree.map(lambda u, w: jnp.asarray(u, w.dtype), updates, trainables)
        return cast, OptaxState(jax.tree.map(placement.in_place, new, state.state))

    def initial_state(self, trainables: Any) -> OptaxState:
        """The state before the first step, for these weights."""
        state = self.transformation.init(trainables)
        return OptaxState(placement.adopted(state, trainables))

    def keeps_weights(self, trainables: Any) -> bool:
        """Whether the first state is of these weights: depends on their values."""
        return depends(self.transformation.init, trainables)


def from_optax(
    transformation: Any, trainables: Any
) -> tuple[OptaxState, OptaxHyperparams]:
    """An initialized optimizer that takes the steps of a gradient transformation of optax.

        state, hyperparams = from_optax(optax.adam(1e-3), trainables)
        updates, state = hyperparams.apply(gradients, state, trainables)

    It may stand in a Chain. Of the inputs of a step, `value` and `key` become extra
    arguments of these names, and `value_and_gradients` becomes `value_fn` and `grad_fn`;
    `grad` is what it returns at the weights.

    Args:
        transformation: an `optax.GradientTransformation`.
        trainables: the weights.

    Returns:
        `(state, hyperparams)`.

    Raises:
        ImportError: where optax is not installed.
        TypeError: where `transformation` is none.
    """
    optax = _optax("from_optax")
    if not isinstance(transformation, optax.GradientTransformation):
        raise TypeError(
            "from_optax: transformation must be an optax.GradientTransformation, got "
            f"{transformation!r}"
        )
    extended = optax.with_extra_args_support(transformation)
    hyperparams = OptaxHyperparams(
        transformation=extended,
        takes_extra=isinstance(transformation, optax.GradientTransformationExtraArgs),
    )
    return hyperparams.initial_state(trainables), hyperparams


def _optax(owner: str) -> Any:
    try:
        return importlib.import_module("optax")
    except ImportError as error:
        raise ImportError(f"{owner} needs optax: pip install optax") from error
