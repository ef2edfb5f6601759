"""Optimizers, run eagerly over a tree of weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.fields import Fields


class Optimizer:
    """Base class of optimizers. See docs/spec-language.md for what a spec may say.

    >>> optimizer = Adam(learning_rate=1e-3)
    >>> optimizer.initialize(params)
    >>> updates = optimizer.step(grads, params)
    """

    _fields: Fields
    _whole: Callable[..., Any] | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._fields = Fields.of(cls)
        # The spec's own `step` is its mathematics; callers call the one below.
        cls._whole = cls.__dict__.get("step")
        if cls._whole is not None:
            del cls.step

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._hyperparameters = self._fields.bind(args, kwargs)
        # What `self.name` is during a step: scalars, moments, the number of the step.
        self._values: dict[str, Any] = {}
        self._state: dict[str, Any] = {}
        for name in self._fields.named("SubOptimizers"):
            self._hyperparameters[name] = tuple(
                _SubOptimizer(*pair) for pair in self._hyperparameters[name]
            )

    def initialize(self, params: Any) -> None:
        """Makes the moments of every leaf, and sets the number of steps to zero."""
        leaves, structure = jax.tree.flatten(params)
        made = [self._declare(leaf) for leaf in leaves]
        names = made[0] if made else {}
        self._state = {
            name: structure.unflatten([moments[name] for moments in made])
            for name in names
        }
        if self._whole is None:
            self._state["step"] = jnp.zeros((), jnp.int32)

    def load(self, state: Any) -> None:
        """Installs a state by the names of its fields: a named tuple, or a mapping."""
        fields = state if isinstance(state, Mapping) else state._asdict()
        for name in self._fields.named("SubOptimizers"):
            states = fields[name]
            pairs = zip(self._hyperparameters[name], states, strict=True)
            for optimizer, own in pairs:
                optimizer.state = own
        self._state = {
            name: value
            for name, value in fields.items()
            if name not in self._hyperparameters
        }

    @property
    def state(self) -> dict[str, Any]:
        """The moments by name, each of the structure of the weights, and `step`."""
        nested = {
            name: tuple(optimizer.state for optimizer in self._hyperparameters[name])
            for name in self._fields.named("SubOptimizers")
        }
        return {**nested, **self._state}

    def _clone(self) -> Optimizer:
        values = dict(self._hyperparameters)
        for name in self._fields.named("SubOptimizers"):
            values[name] = tuple((o.state, o.hyperparams) for o in values[name])
        return type(self)(**values)

    @property
    def initialized(self) -> tuple[Any, EagerOptimizerHyperparams]:
        """What a generated `init` returns; optimizers of optimizers take it."""
        return self.state, EagerOptimizerHyperparams(self)

    def _over_leaves(self, grads: Any, params: Any) -> Any:
        number = self._state["step"] + 1
        scalars = self._prepare(number, grads, params)
        leaves, structure = jax.tree.flatten(params)
        names = [name for name in self._state if name != "step"]
        moments = {name: structure.flatten_up_to(self._state[name]) for name in names}
        updates: list[Any] = []
        for index, (grad, param) in enumerate(
            zip(structure.flatten_up_to(grads), leaves, strict=True)
        ):
            own = {name: moments[name][index] for name in names}
            update, new = self._update(grad, param, own, scalars)
            updates.append(update)
            for name in names:
                moments[name][index] = new[name]
        self._state = {n: structure.unflatten(moments[n]) for n in names}
        self._state["step"] = number
        return structure.unflatten(updates)

    def _declare(self, leaf: jax.Array) -> dict[str, jax.Array]:
        self.setup(leaf)
        declarations, self._values = self._values, {}
        return {
            name: declared.initializer(
                jax.random.key(0),
                declared.shape,
                jnp.dtype(declared.dtype or leaf.dtype),
            )
            for name, declared in declarations.items()
            if isinstance(declared, Declaration)
        }

    def _prepare(self, number: jax.Array, grads: Any, params: Any) -> dict[str, Any]:
        """The scalars of a step, in the default float dtype."""
        dtype = jnp.result_type(float)
        self._values = {"step": number.astype(dtype)}
        for name in self._fields.named("Scheduled"):
            value = self._hyperparameters[name]
            if callable(value):
                value = value((number - 1).astype(dtype))
            self._values[name] = jnp.asarray(value, dtype)
        self.prepare(grads, params)
        return {name: jnp.asarray(v, dtype) for name, v in self._values.items()}

    def _update(
        self, grad: jax.Array, param: jax.Array, moments: Any, scalars: Any
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        dtype = self._hyperparameters.get("moment_dtype") or param.dtype
        arrive = {name: value.astype(dtype) for name, value in scalars.items()}
        arrive |= {name: value.astype(dtype) for name, value in moments.items()}
        self._values = arrive
        update = self.update(grad.astype(dtype), param.astype(dtype))
        new = {n: self._values[n].astype(value.dtype) for n, value in moments.items()}
        return jnp.asarray(update).astype(param.dtype), new

    if TYPE_CHECKING:
        # Both the method below and, in the methods of a spec, the number of the step.
        step: Any

        def __getattr__(self, name: str) -> Any: ...

    else:

        def step(self, grads, params):
            """One step: what is to be added to the weights; keeps the new state."""
            if self._whole is not None:
                return self._whole(grads, params)
            try:
                return self._over_leaves(grads, params)
            finally:
                self._values = {}

        def setup(self, param):
            """Declares the moments of a leaf. An optimizer with none needs no setup."""

        def prepare(self, grads, params):
            """Sets the scalars of a step, from the whole trees."""

        def __getattribute__(self, name):
            # `self.step` in the methods of a spec is a number, else the method above.
            if name == "step" and "step" in object.__getattribute__(self, "_values"):
                return object.__getattribute__(self, "_values")["step"]
            return object.__getattribute__(self, name)

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            for known in (self._values, self._hyperparameters):
                if name in known:
                    return known[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

        def __setattr__(self, name, value):
            if name.startswith("_"):
                object.__setattr__(self, name, value)
            else:
                self._values[name] = value


class EagerOptimizerHyperparams:
    """The hyperparameters of an optimizer, with the interface of generated ones."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._make = optimizer._clone

    def apply(self, grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
        """`step`, as a pure function."""
        optimizer = self._make()
        optimizer.load(state)
        return optimizer.step(grads, params), optimizer.state


class _SubOptimizer:
    """An initialized optimizer in another one: its state, and the way to run it."""

    def __init__(self, state: Any, hyperparams: Any) -> None:
        self.state, self.hyperparams = state, hyperparams

    def __call__(self, grads: Any, params: Any) -> Any:
        updates, self.state = self.hyperparams.apply(grads, self.state, params)
        return updates
