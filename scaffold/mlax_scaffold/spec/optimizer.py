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
from mlax_scaffold.spec.optimizer_threads import OptimizerThreads
from mlax_scaffold.spec.running import Run
from mlax_scaffold.spec.step_numbers import dither, incremented
from mlax_scaffold.spec.steps import at_step, scalar
from mlax_scaffold.spec.sub_optimizers import (
    EagerOptimizerHyperparams,
    Given,
    SubOptimizer,
    made_optimizers,
)
from mlax_scaffold.spec.trees import of_any, path_name

_INPUTS = ("value", "value_and_gradients", "key")


class Optimizer(OptimizerThreads):
    """Base class of optimizers. See docs/spec-language.md for what a spec may say.

    >>> optimizer = Adam(learning_rate=1e-3)
    >>> optimizer.initialize(params)
    >>> updates = optimizer.step(grads, params)
    """

    _fields_: Fields
    _whole_: Callable[..., Any] | None
    _keeps_weights_: bool | None

    def __init_subclass__(cls, per_example=False, keeps_weights=None) -> None:
        # What gradients are, and what a state is of, the generator knows.
        super().__init_subclass__()
        cls._keeps_weights_ = keeps_weights
        cls._fields_ = Fields.of(cls)
        # The spec's own `step` is its mathematics; callers call the one below.
        cls._whole_ = cls.__dict__.get("step")
        if cls._whole_ is not None:
            del cls.step

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._hyperparameters_ = self._fields_.bind(args, kwargs)
        self._inner_: dict[str, SubOptimizer] = {}
        """The optimizers that `setup_tree` makes."""
        # What `self.name` is during a step: scalars, moments, the number of the step.
        self._values_: dict[str, Any] = {}
        self._state_: dict[str, Any] = {}
        self._moments_: tuple[str, ...] = ()
        self._held_: tuple[str, ...] = ()
        self._run_ = Run(True, None, Draws(None, 0))
        self._inputs_: dict[str, Any] = {}
        # Whether assigning to a name of the state is one: not in `update`.
        self._stepping_ = False
        for name in self._fields_.holding("optimizers"):
            self._hyperparameters_[name] = tuple(
                SubOptimizer.of(given) for given in self._hyperparameters_[name]
            )
        for name in self._fields_.holding("optimizer"):
            self._hyperparameters_[name] = SubOptimizer.of(self._hyperparameters_[name])

    def initialize(self, params: Any) -> None:
        """Makes what is kept for every leaf and for all, and sets the number of steps to zero."""
        structure = jax.tree.structure(params)
        masks = self._masks_(params)
        self._values_ = {n: structure.unflatten(c) for n, c in masks.items()}
        for optimizer, _ in self._nested_(self.state):
            optimizer.initialize(params)
        self.setup_tree(params)
        declared = {n: v for n, v in self._values_.items() if n not in masks}
        self._values_ = {}
        for name in made_optimizers(type(self)):
            self._inner_[name] = SubOptimizer.of(declared.pop(name))
            self._inner_[name].initialize(params)
        wide = jnp.result_type(float)
        self._state_ = {name: created(d, wide) for name, d in declared.items()}
        leaves, structure = jax.tree.flatten(params)
        made = [
            self._declare_(leaf, {n: column[i] for n, column in masks.items()})
            for i, leaf in enumerate(leaves)
        ]
        names = self._names_of_moments_(made, masks)
        self._moments_ = tuple(names)
        for name in names:
            column = [moments[name] for moments in made]
            self._state_[name] = joined(structure, column, names[name])
        self._state_["step"] = jnp.zeros((), jnp.int32)

    def load(self, state: Any) -> None:
        """Installs a state by the names of its fields: a named tuple, or a mapping."""
        fields = state if isinstance(state, Mapping) else state._asdict()
        for name in made_optimizers(type(self)):
            self._inner_.setdefault(name, SubOptimizer(None, None))
        for optimizer, own in self._nested_(fields):
            optimizer.state = own
        inner = {*self._hyperparameters_, *self._inner_}
        self._state_ = {n: value for n, value in fields.items() if n not in inner}
        # Which of them are moments, a leaf of any shape tells.
        self._moments_ = tuple(self._names_of_moments_([], self._masks_({})))
        self._values_ = {}

    def _nested_(self, fields: Mapping[str, Any]) -> list[tuple[SubOptimizer, Any]]:
        pairs = []
        for name in self._fields_.holding("optimizers"):
            pairs += zip(self._hyperparameters_[name], fields[name], strict=True)
        for name in self._fields_.holding("optimizer"):
            pairs.append((self._hyperparameters_[name], fields[name]))
        return pairs + [(made, fields[name]) for name, made in self._inner_.items()]

    @property
    def state(self) -> dict[str, Any]:
        """The moments by name, each of the structure of the weights, and `step`."""
        many = {
            name: tuple(optimizer.state for optimizer in self._hyperparameters_[name])
            for name in self._fields_.holding("optimizers")
        }
        one = {
            name: self._hyperparameters_[name].state
            for name in self._fields_.holding("optimizer")
        }
        made = {name: optimizer.state for name, optimizer in self._inner_.items()}
        return {**many, **one, **made, **self._state_}

    def _clone_(self) -> Optimizer:
        values = dict(self._hyperparameters_)
        for name in self._fields_.holding("optimizers"):
            values[name] = tuple((o.state, o.hyperparams) for o in values[name])
        for name in self._fields_.holding("optimizer"):
            values[name] = (values[name].state, values[name].hyperparams)
        return type(self)(**values)

    @property
    def initialized(self) -> tuple[Any, EagerOptimizerHyperparams]:
        """What a generated `init` returns; optimizers of optimizers take it."""
        return self.state, EagerOptimizerHyperparams(self)

    def _make_(self, params: Any) -> None:
        """Makes the optimizers of `setup_tree` whose state was loaded."""
        missing = [n for n, made in self._inner_.items() if made.hyperparams is None]
        if missing:
            self.setup_tree(params)
        for name in missing:
            made = SubOptimizer.of(self._values_[name])
            self._inner_[name].hyperparams = made.hyperparams

    def _begin_(self, params: Any, inputs: dict[str, Any]) -> None:
        """Sets what `self.name` is in the methods that are called once a step."""
        self._make_(params)
        dtype = jnp.result_type(float)
        self._inputs_ = {name: inputs[name] for name in _INPUTS[:2]}
        self._stepping_ = self._whole_ is not None
        number = self._state_.get("step", jnp.zeros((), jnp.int32))
        following = incremented(number)
        self._values_ = {
            "step": following.astype(dtype),
            "step_number": following,
            "dither": dither(number),
        }
        self._values_ |= self._inputs_
        if inputs["value"] is not None:
            self._values_["value"] = jnp.asarray(inputs["value"], dtype)
        for name in self._fields_.holding("scheduled"):
            value = self._hyperparameters_[name]
            if callable(value):
                value = at_step(value, number)
            self._values_[name] = None if value is None else jnp.asarray(value, dtype)
        structure = jax.tree.structure(params)
        for name, column in self._masks_(params).items():
            self._values_[name] = structure.unflatten(column)

    def _over_leaves_(self, grads: Any, params: Any, key: Any) -> Any:
        """The update of each leaf, between what happens once before and once after."""
        masks = self._masks_(params)
        self._stepping_ = True
        before = key
        if self._draws_in_("prepare") and self._draws_in_("update"):
            before, key = split(key, 2)
        self._numbered_("prepare", before)(grads, params)
        self._stepping_ = False
        once = self._values_
        scalars = self._scalars_()
        leaves, structure = jax.tree.flatten(params)
        moments = {
            name: rows(self._state_[name], structure, name in self._held_)
            for name in self._moments_
        }
        keys = split(key, len(leaves))
        updates: list[Any] = []
        for index, (grad, param) in enumerate(
            zip(structure.flatten_up_to(grads), leaves, strict=True)
        ):
            own = {name: column[index] for name, column in moments.items()}
            static = {name: column[index] for name, column in masks.items()}
            update, new = self._update_(grad, param, own, scalars, static, keys[index])
            updates.append(update)
            for name in self._moments_:
                moments[name][index] = new[name]
        self._state_ |= {
            name: together(column, structure, self._state_[name])
            for name, column in moments.items()
        }
        self._count_()
        self._values_ = once
        made = structure.unflatten(updates)
        self._stepping_ = True
        self._numbered_("finish", None)(made, params)
        self._stepping_ = False
        return made

    def _scalars_(self) -> dict[str, Any]:
        """What is one number for all leaves: coefficients, states, the number of the step."""
        other = {*_INPUTS, "step_number", *self._fields_.holding("mask")}
        found = {
            n: v if v is None else scalar(v)
            for n, v in self._values_.items()
            if n not in other
        }
        found |= {n: v for n, v in self._state_.items() if n not in self._moments_}
        return found | {n: self._values_[n] for n in ("step", "step_number")}

    def _count_(self) -> None:
        if "step" in self._state_:
            self._state_["step"] = incremented(self._state_["step"])

    def _names_of_moments_(
        self, made: list[dict[str, Any]], masks: Mapping[str, Any]
    ) -> dict[str, Any]:
        chosen = dict.fromkeys(masks, True)
        found = made[0] if made else of_any(lambda leaf: self._declare_(leaf, chosen))
        self._held_ = held_names(found)
        return found

    def _declare_(self, leaf: jax.Array, masks: dict[str, Any]) -> dict[str, Any]:
        self._values_ = dict(masks)
        self.setup(leaf)
        declarations, self._values_ = self._values_, {}
        return {
            name: created(declared, leaf.dtype)
            for name, declared in declarations.items()
            if name not in masks
        }

    def _masks_(self, params: Any) -> dict[str, list[Any]]:
        """Whether each weight is selected, for each mask, or what else a field tells of it."""
        paths = [
            (path_name(path), leaf)
            for path, leaf in jax.tree_util.tree_leaves_with_path(params)
        ]
        found = {}
        for name in self._fields_.holding("mask"):
            mask = self._hyperparameters_[name]
            absent = True if self._fields_.word(name).of_one == "bool" else None
            found[name] = [absent if mask is None else mask(*item) for item in paths]
        return found

    def _update_(
        self,
        grad: jax.Array,
        param: jax.Array,
        moments: Any,
        scalars: Any,
        static: Any,
        key: Any,
    ) -> tuple[jax.Array, dict[str, Any]]:
        dtype = self._hyperparameters_.get("moment_dtype") or param.dtype
        arrive = scalars | moments
        self._values_ = {name: cast(value, dtype) for name, value in arrive.items()}
        self._values_ |= static
        update = self._numbered_("update", key)(grad.astype(dtype), param.astype(dtype))
        new = {
            name: stored(self._values_[name], value) for name, value in moments.items()
        }
        return jnp.asarray(update).astype(param.dtype), new

    def _draws_in_(self, name: str) -> bool:
        function = type(self).__dict__.get(name)
        return function is not None and numbered(type(self), function).places > 0

    def _numbered_(self, name: str, key: Any) -> Callable[..., Any]:
        """A method whose places that take a key are numbered, with their keys set."""
        function = self._whole_ if name == "step" else type(self).__dict__.get(name)
        if function is None:
            return getattr(self, name)
        method = numbered(type(self), function)
        self._run_ = Run(True, None, Draws(key, method.places))
        return functools.partial(method.run, self)

    def _current_(self) -> Run:
        return self._run_

    def _key_(self, number: int) -> jax.Array:
        key = self._drawn_(number)
        if key is None:
            raise ValueError(f"{type(self).__name__}: step needs key, which is None")
        return key

    def _given_(self, number: int, optimizer: SubOptimizer) -> Given:
        """An inner optimizer, with the inputs of the step and the key of its place."""
        return Given(optimizer, self._inputs_ | {"key": self._drawn_(number)})

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
            self._begin_(params, inputs)
            try:
                if self._whole_ is None:
                    return self._over_leaves_(grads, params, key)
                updates = self._numbered_("step", key)(grads, params)
                self._count_()
                return updates
            finally:
                self._values_, self._stepping_ = {}, False

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
            if name == "step" and "step" in object.__getattribute__(self, "_values_"):
                return object.__getattribute__(self, "_values_")["step"]
            return object.__getattribute__(self, name)

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            for known in (
                self._values_,
                self._state_,
                self._inner_,
                self._hyperparameters_,
            ):
                if name in known:
                    return known[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

        def __setattr__(self, name, value):
            if name.startswith("_"):
                object.__setattr__(self, name, value)
            elif self._stepping_ and name in self._state_:
                self._state_[name] = jax.tree.map(_as, value, self._state_[name])
            else:
                self._values_[name] = value


def _as(new: Any, old: Any) -> jax.Array:
    return jnp.asarray(new, old.dtype)
