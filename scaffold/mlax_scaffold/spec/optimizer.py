"""Optimizers, run eagerly over a tree of weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from mlax_scaffold.spec.arrays import cast
from mlax_scaffold.spec.draws import Draws, split
from mlax_scaffold.spec.fields import Fields
from mlax_scaffold.spec.optimizer_keys import numbered
from mlax_scaffold.spec.optimizer_moments import (
    created,
    held_names,
    joined,
    rows,
    stored,
    together,
)
from mlax_scaffold.spec.running import Run
from mlax_scaffold.spec.step_numbers import dither, incremented
from mlax_scaffold.spec.steps import at_step
from mlax_scaffold.spec.sub_optimizers import (
    EagerOptimizerHyperparams,
    Given,
    SubOptimizer,
    made_optimizers,
)
from mlax_scaffold.spec.threads import Threads
from mlax_scaffold.spec.trees import path_name

_INPUTS = ("value", "value_and_gradients", "key")


class Optimizer(Threads):
    """Base class of optimizers. See docs/spec-language.md for what a spec may say.

    >>> optimizer = Adam(learning_rate=1e-3)
    >>> optimizer.initialize(params)
    >>> updates = optimizer.step(grads, params)
    """

    _spec_fields: Fields
    _spec_whole: Callable[..., Any] | None

    def __init_subclass__(cls, per_example: bool = False) -> None:
        # What gradients are, the generator checks.
        super().__init_subclass__()
        cls._spec_fields = Fields.of(cls)
        # The spec's own `step` is its mathematics; callers call the one below.
        cls._spec_whole = cls.__dict__.get("step")
        if cls._spec_whole is not None:
            del cls.step

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._spec_hyperparameters = self._spec_fields.bind(args, kwargs)
        self._spec_inner: dict[str, SubOptimizer] = {}
        """The optimizers that `setup_tree` makes."""
        # What `self.name` is during a step: scalars, moments, the number of the step.
        self._spec_values: dict[str, Any] = {}
        self._spec_state: dict[str, Any] = {}
        self._spec_moments: tuple[str, ...] = ()
        self._spec_held: tuple[str, ...] = ()
        self._spec_run = Run(True, None, Draws(None, 0))
        self._spec_inputs: dict[str, Any] = {}
        # Whether assigning to a name of the state is one: not in `update`.
        self._spec_stepping = False
        for name in self._spec_fields.holding("optimizers"):
            self._spec_hyperparameters[name] = tuple(
                SubOptimizer.of(given) for given in self._spec_hyperparameters[name]
            )
        for name in self._spec_fields.holding("optimizer"):
            self._spec_hyperparameters[name] = SubOptimizer.of(
                self._spec_hyperparameters[name]
            )

    def initialize(self, params: Any) -> None:
        """Makes what is kept for every leaf and for all, and sets the number of steps to zero."""
        structure = jax.tree.structure(params)
        masks = self._spec_masks(params)
        self._spec_values = {n: structure.unflatten(c) for n, c in masks.items()}
        for optimizer, _ in self._spec_nested(self.state):
            optimizer.initialize(params)
        self.setup_tree(params)
        declared = {n: v for n, v in self._spec_values.items() if n not in masks}
        self._spec_values = {}
        for name in made_optimizers(type(self)):
            self._spec_inner[name] = SubOptimizer.of(declared.pop(name))
            self._spec_inner[name].initialize(params)
        wide = jnp.result_type(float)
        self._spec_state = {name: created(d, wide) for name, d in declared.items()}
        leaves, structure = jax.tree.flatten(params)
        made = [
            self._spec_declare(leaf, {n: column[i] for n, column in masks.items()})
            for i, leaf in enumerate(leaves)
        ]
        names = self._spec_names_of_moments(made, masks)
        self._spec_moments = tuple(names)
        for name in names:
            column = [moments[name] for moments in made]
            self._spec_state[name] = joined(structure, column, names[name])
        self._spec_state["step"] = jnp.zeros((), jnp.int32)

    def load(self, state: Any) -> None:
        """Installs a state by the names of its fields: a named tuple, or a mapping."""
        fields = state if isinstance(state, Mapping) else state._asdict()
        for name in made_optimizers(type(self)):
            self._spec_inner.setdefault(name, SubOptimizer(None, None))
        for optimizer, own in self._spec_nested(fields):
            optimizer.state = own
        inner = {*self._spec_hyperparameters, *self._spec_inner}
        self._spec_state = {n: value for n, value in fields.items() if n not in inner}
        # Which of them are moments, a leaf of any shape tells.
        self._spec_moments = tuple(
            self._spec_names_of_moments([], self._spec_masks({}))
        )
        self._spec_values = {}

    def _spec_nested(self, fields: Mapping[str, Any]) -> list[tuple[SubOptimizer, Any]]:
        pairs = []
        for name in self._spec_fields.holding("optimizers"):
            pairs += zip(self._spec_hyperparameters[name], fields[name], strict=True)
        for name in self._spec_fields.holding("optimizer"):
            pairs.append((self._spec_hyperparameters[name], fields[name]))
        return pairs + [(made, fields[name]) for name, made in self._spec_inner.items()]

    @property
    def state(self) -> dict[str, Any]:
        """The moments by name, each of the structure of the weights, and `step`."""
        many = {
            name: tuple(
                optimizer.state for optimizer in self._spec_hyperparameters[name]
            )
            for name in self._spec_fields.holding("optimizers")
        }
        one = {
            name: self._spec_hyperparameters[name].state
            for name in self._spec_fields.holding("optimizer")
        }
        made = {name: optimizer.state for name, optimizer in self._spec_inner.items()}
        return {**many, **one, **made, **self._spec_state}

    def _spec_clone(self) -> Optimizer:
        values = dict(self._spec_hyperparameters)
        for name in self._spec_fields.holding("optimizers"):
            values[name] = tuple((o.state, o.hyperparams) for o in values[name])
        for name in self._spec_fields.holding("optimizer"):
            values[name] = (values[name].state, values[name].hyperparams)
        return type(self)(**values)

    @property
    def initialized(self) -> tuple[Any, EagerOptimizerHyperparams]:
        """What a generated `init` returns; optimizers of optimizers take it."""
        return self.state, EagerOptimizerHyperparams(self)

    def _spec_make(self, params: Any) -> None:
        """Makes the optimizers of `setup_tree` whose state was loaded."""
        missing = [
            n for n, made in self._spec_inner.items() if made.hyperparams is None
        ]
        if missing:
            self.setup_tree(params)
        for name in missing:
            made = SubOptimizer.of(self._spec_values[name])
            self._spec_inner[name].hyperparams = made.hyperparams

    def _spec_begin(self, params: Any, inputs: dict[str, Any]) -> None:
        """Sets what `self.name` is in the methods that are called once a step."""
        self._spec_make(params)
        dtype = jnp.result_type(float)
        self._spec_inputs = {name: inputs[name] for name in _INPUTS[:2]}
        self._spec_stepping = self._spec_whole is not None
        number = self._spec_state.get("step", jnp.zeros((), jnp.int32))
        following = incremented(number)
        self._spec_values = {
            "step": following.astype(dtype),
            "step_number": following,
            "dither": dither(number),
        }
        self._spec_values |= self._spec_inputs
        if inputs["value"] is not None:
            self._spec_values["value"] = jnp.asarray(inputs["value"], dtype)
        for name in self._spec_fields.holding("scheduled"):
            value = self._spec_hyperparameters[name]
            if callable(value):
                value = at_step(value, number)
            self._spec_values[name] = (
                None if value is None else jnp.asarray(value, dtype)
            )
        structure = jax.tree.structure(params)
        for name, column in self._spec_masks(params).items():
            self._spec_values[name] = structure.unflatten(column)

    def _spec_over_leaves(self, grads: Any, params: Any, key: Any) -> Any:
        """The update of each leaf, between what happens once before and once after."""
        masks = self._spec_masks(params)
        self._spec_stepping = True
        before = key
        if self._spec_draws_in("prepare") and self._spec_draws_in("update"):
            before, key = split(key, 2)
        self._spec_numbered("prepare", before)(grads, params)
        self._spec_stepping = False
        once = self._spec_values
        scalars = self._spec_scalars()
        leaves, structure = jax.tree.flatten(params)
        moments = {
            name: rows(self._spec_state[name], structure, name in self._spec_held)
            for name in self._spec_moments
        }
        keys = split(key, len(leaves))
        updates: list[Any] = []
        for index, (grad, param) in enumerate(
            zip(structure.flatten_up_to(grads), leaves, strict=True)
        ):
            own = {name: column[index] for name, column in moments.items()}
            static = {name: column[index] for name, column in masks.items()}
            update, new = self._spec_update(
                grad, param, own, scalars, static, keys[index]
            )
            updates.append(update)
            for name in self._spec_moments:
                moments[name][index] = new[name]
        self._spec_state |= {
            name: together(column, structure, self._spec_state[name])
            for name, column in moments.items()
        }
        self._spec_count()
        self._spec_values = once
        made = structure.unflatten(updates)
        self._spec_stepping = True
        self.finish(made, params)
        self._spec_stepping = False
        return made

    def _spec_scalars(self) -> dict[str, jax.Array]:
        """What is one number for all leaves: coefficients, states, the number of the step."""
        dtype = jnp.result_type(float)
        other = {*_INPUTS, "step_number", *self._spec_fields.holding("mask")}
        found = {
            n: jnp.asarray(v, dtype)
            for n, v in self._spec_values.items()
            if n not in other and v is not None
        }
        found |= {
            n: v for n, v in self._spec_state.items() if n not in self._spec_moments
        }
        return found | {"step": self._spec_values["step"]}

    def _spec_count(self) -> None:
        if "step" in self._spec_state:
            self._spec_state["step"] = incremented(self._spec_state["step"])

    def _spec_names_of_moments(
        self, made: list[dict[str, Any]], masks: Mapping[str, Any]
    ) -> dict[str, Any]:
        chosen = dict.fromkeys(masks, True)
        found = made[0] if made else self._spec_declare(jnp.zeros(()), chosen)
        self._spec_held = held_names(found)
        return found

    def _spec_declare(self, leaf: jax.Array, masks: dict[str, Any]) -> dict[str, Any]:
        self._spec_values = dict(masks)
        self.setup(leaf)
        declarations, self._spec_values = self._spec_values, {}
        return {
            name: created(declared, leaf.dtype)
            for name, declared in declarations.items()
            if name not in masks
        }

    def _spec_masks(self, params: Any) -> dict[str, list[Any]]:
        """Whether each weight is selected, for each mask, or what else a field tells of it."""
        paths = [
            (path_name(path), leaf)
            for path, leaf in jax.tree_util.tree_leaves_with_path(params)
        ]
        found = {}
        for name in self._spec_fields.holding("mask"):
            mask = self._spec_hyperparameters[name]
            absent = True if self._spec_fields.word(name).of_one == "bool" else None
            found[name] = [absent if mask is None else mask(*item) for item in paths]
        return found

    def _spec_update(
        self,
        grad: jax.Array,
        param: jax.Array,
        moments: Any,
        scalars: Any,
        static: Any,
        key: Any,
    ) -> tuple[jax.Array, dict[str, Any]]:
        dtype = self._spec_hyperparameters.get("moment_dtype") or param.dtype
        arrive = scalars | moments
        self._spec_values = {name: cast(value, dtype) for name, value in arrive.items()}
        self._spec_values |= static
        update = self._spec_numbered("update", key)(
            grad.astype(dtype), param.astype(dtype)
        )
        new = {
            name: stored(self._spec_values[name], value)
            for name, value in moments.items()
        }
        return jnp.asarray(update).astype(param.dtype), new

    def _spec_draws_in(self, name: str) -> bool:
        function = type(self).__dict__.get(name)
        return function is not None and numbered(type(self), function).places > 0

    def _spec_numbered(self, name: str, key: Any) -> Callable[..., Any]:
        """A method whose places that take a key are numbered, with their keys set."""
        function = self._spec_whole if name == "step" else type(self).__dict__.get(name)
        if function is None:
            return getattr(self, name)
        method = numbered(type(self), function)
        self._spec_run = Run(True, None, Draws(key, method.places))
        return functools.partial(method.run, self)

    def _spec_current(self) -> Run:
        return self._spec_run

    def _spec_drawn(self, number: int | None) -> jax.Array | None:
        return None if number is None else self._spec_run.draws[number]

    def _spec_key(self, number: int) -> jax.Array:
        key = self._spec_drawn(number)
        if key is None:
            raise ValueError(f"{type(self).__name__}: step needs key, which is None")
        return key

    def _spec_passes(
        self, number: int, places: int, items: Any, most: int | None
    ) -> Any:
        return self._spec_run.draws.passes(number, places, items, most)

    def _spec_given(self, number: int, optimizer: SubOptimizer) -> Given:
        """An inner optimizer, with the inputs of the step and the key of its place."""
        return Given(optimizer, self._spec_inputs | {"key": self._spec_drawn(number)})

    if TYPE_CHECKING:
        # Both the method below and, in the methods of a spec, the number of the step.
        step: Any

        def __getattr__(self, name: str) -> Any: ...

    else:

        def step(
            self, grads, params, *, value=None, value_and_gradients=None, key=None
        ):
            """One step: what is to be added to the weights; keeps the new state."""
            inputs = {
                "value": value,
                "value_and_gradients": value_and_gradients,
                "key": key,
            }
            self._spec_begin(params, inputs)
            try:
                if self._spec_whole is None:
                    return self._spec_over_leaves(grads, params, key)
                updates = self._spec_numbered("step", key)(grads, params)
                self._spec_count()
                return updates
            finally:
                self._spec_values, self._spec_stepping = {}, False

        def key(self):
            """A fresh key. Calls are numbered before they run, see `numbering`."""
            raise RuntimeError("self.key() stands in the methods of a step")

        def setup(self, param):
            """Declares the moments of a leaf. An optimizer with none needs no setup."""

        def setup_tree(self, params):
            """Declares what is kept once for all leaves."""

        def prepare(self, grads, params):
            """Sets the scalars of a step, from the whole trees."""

        def finish(self, updates, params):
            """Sets states after the updates."""

        def __getattribute__(self, name):
            # `self.step` in the methods of a spec is a number, else the method above.
            if name == "step" and "step" in object.__getattribute__(
                self, "_spec_values"
            ):
                return object.__getattribute__(self, "_spec_values")["step"]
            return object.__getattribute__(self, name)

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            for known in (
                self._spec_values,
                self._spec_state,
                self._spec_inner,
                self._spec_hyperparameters,
            ):
                if name in known:
                    return known[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

        def __setattr__(self, name, value):
            if name.startswith("_"):
                object.__setattr__(self, name, value)
            elif self._spec_stepping and name in self._spec_state:
                self._spec_state[name] = jax.tree.map(
                    _as, value, self._spec_state[name]
                )
            else:
                self._spec_values[name] = value


def _as(new: Any, old: Any) -> jax.Array:
    return jnp.asarray(new, old.dtype)
