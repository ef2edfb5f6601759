"""Compares generated code with the spec that it follows from, which runs eagerly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.reader.files import installed_place
from mlax_scaffold.spec.declared import takes_key
from mlax_scaffold.spec.layer import Layer
from mlax_scaffold.spec.loading import load
from mlax_scaffold.spec.optimizer import Optimizer
from mlax_scaffold.testing.case import Arguments, Case, with_layers
from mlax_scaffold.testing.optimizer import OptimizerCase
from mlax_scaffold.testing.picks import REFUSALS, Unfit
from mlax_scaffold.testing.toys import Toy, ToyOptimizer


@dataclass(frozen=True)
class Spec:
    """Where a spec is, and the folder that imports of specs of its project start from."""

    path: Path
    root: Path
    name: str = ""
    """Which definition it is, where the file has several."""

    def load(self) -> Any:
        """The definition. This executes the spec."""
        return load(self.path, self.root, self.name)


def find_spec(path: str, near: str, name: str = "") -> Spec:
    """The spec of that path, relative to the project that the file `near` belongs to.

    `name` is that of the definition, where the file has several.

    Where the project has none, it is one of the specs that come with the generator, or with a plugin.

    Raises:
        FileNotFoundError: where no folder above `near` has it.
    """
    for folder in Path(near).resolve().parents:
        if (folder / path).is_file():
            return Spec(folder / path, folder, name)
    place = installed_place(path)
    if place is not None:
        return Spec(place, place.parents[path.count("/")], name)
    raise FileNotFoundError(
        f"no folder above {near} has the spec {path}: run `mlax-scaffold generate`"
    )


def run_spec(
    case: Case, spec: Spec, arguments: Arguments, training: bool, key: Any
) -> tuple[Any, Any]:
    """What the spec returns for these arguments: y, and the state by name."""
    definition = spec.load()
    if not isinstance(definition, type):
        given = case.hyperparameters or {}
        return case.on_devices(lambda: definition(*arguments.x, **given)), None
    return case.on_devices(
        lambda: _run_layer(definition, case, arguments, training, key)
    )


def _run_layer(
    definition: Any, case: Case, arguments: Arguments, training: bool, key: Any
) -> tuple[Any, Any]:
    given = _hyperparameters(definition, arguments) | case.plain_hyperparameters()
    layer = definition(**given)
    # What the class itself may call so is a state of its.
    Layer.load(layer, arguments.trainables, arguments.non_trainables)
    run = layer if case.entry == "forward" else getattr(layer, case.entry)
    y = run(arguments.x, training=training, key=key, **arguments.inputs)
    return y, layer.non_trainables


def first_carry(
    case: Case, spec: Spec, arguments: Arguments, shape: tuple[int, ...], dtype: Any
) -> Any:
    """The carry of a cell before its first step, as the spec makes it."""
    definition = spec.load()
    given = _hyperparameters(definition, arguments) | case.plain_hyperparameters()
    layer = definition(**given)
    return layer.initial_carry(shape, dtype)


def assert_spec_refuses(
    spec: Spec, hyperparameters: Mapping[str, Any], told: object, weights: Any = None
) -> None:
    """Raise AssertionError where the spec takes hyperparameters that its generated code refuses.

    Of what holds layers or optimizers of others, these decide too, and nothing is said.
    """
    toys = Toy, ToyOptimizer
    if any(isinstance(v, toys) for v in hyperparameters.values()):
        return
    try:
        assert_spec_creates(spec, hyperparameters, weights)
    except Unfit:
        return
    given = ", ".join(f"{name}={value!r}" for name, value in hyperparameters.items())
    raise AssertionError(f"the spec takes {given}, which is refused: {told}")


def assert_spec_creates(
    spec: Spec, hyperparameters: Mapping[str, Any], weights: Any = None
) -> None:
    """Raise Unfit where the spec takes these hyperparameters for no layer. Compiles nothing.

    A function is not made of hyperparameters alone. `weights` are those of which an optimizer, which
    requires something of each leaf, perhaps, makes a state.
    """
    definition = spec.load()
    if not isinstance(definition, type):
        return

    def initialize(key: Any, weights: Any) -> None:
        made = definition(**hyperparameters)
        if isinstance(made, Layer):
            Layer.initialize(made, key, jnp.float32)
        elif isinstance(made, Optimizer) and weights is not None:
            Optimizer.initialize(made, weights)

    try:
        key = jax.eval_shape(lambda: jax.random.key(0))
        jax.eval_shape(initialize, key, weights)
    except REFUSALS as error:
        raise Unfit from error


def run_initialization(
    spec: Spec,
    hyperparameters: Mapping[str, Any],
    initializers: Mapping[str, Any],
    key: Any,
    dtype: DTypeLike | None,
) -> tuple[Any, Any]:
    """The weights and the states that the spec makes of a key, by name."""
    definition = spec.load()
    given, key = with_layers(hyperparameters, key, dtype, takes_key(definition))
    layer = definition(**given, **initializers)
    Layer.initialize(layer, key, dtype)
    return layer.trainables, layer.non_trainables


def _hyperparameters(definition: Any, arguments: Arguments) -> dict[str, Any]:
    """Arguments of the spec, from the generated trees and hyperparameters."""
    fields = definition._fields_
    several = fields.holding("layers")
    given: dict[str, Any] = {}
    for name in fields.annotations:
        if name in fields.initializers:
            continue
        value = getattr(arguments.hyperparams, name)
        if name in (*fields.layers, *several):
            weights = getattr(arguments.trainables, name)
            state = getattr(arguments.non_trainables, name)
            if name in several:
                states = (None,) * len(value) if state is None else state
                value = list(zip(weights, states, value, strict=True))
            else:
                value = weights, state, value
        given[name] = value
    return given


def run_optimizer(
    case: OptimizerCase,
    spec: Spec,
    hyperparams: Any,
    gradients: Any,
    state: Any,
    params: Any,
    inputs: Mapping[str, Any],
) -> tuple[Any, Any]:
    """The updates and the state after a step of the spec."""
    optimizer = _optimizer(case, spec, state, hyperparams)
    optimizer.load(state)
    updates = optimizer.step(gradients, params, **inputs)
    return updates, _as_state(optimizer.state, state)


def run_optimizer_initialization(
    case: OptimizerCase, spec: Spec, state: Any, hyperparams: Any, params: Any
) -> Any:
    """The state that the spec makes for weights."""
    optimizer = _optimizer(case, spec, case.init(params)[0], hyperparams)
    optimizer.initialize(params)
    return _as_state(optimizer.state, state)


def _as_state(actual: Any, like: Any) -> Any:
    """A state of the spec with the NamedTuples of `like` in the place of dicts."""
    if isinstance(actual, Mapping) and hasattr(like, "_fields"):
        parts = {n: _as_state(actual[n], getattr(like, n)) for n in like._fields}
        return type(like)(**parts)
    if type(actual) is tuple and type(like) is tuple:
        pairs = zip(actual, like, strict=True)
        return tuple(_as_state(one, other) for one, other in pairs)
    return actual


def _optimizer(case: OptimizerCase, spec: Spec, state: Any, hyperparams: Any) -> Any:
    definition = spec.load()
    given = _optimizer_hyperparameters(definition, state, hyperparams)
    return definition(**given | case.plain_hyperparameters())


def _optimizer_hyperparameters(
    definition: Any, state: Any, hyperparams: Any
) -> dict[str, Any]:
    given = {n: getattr(hyperparams, n) for n in definition._fields_.annotations}
    for name in definition._fields_.holding("optimizers"):
        given[name] = list(zip(getattr(state, name), given[name], strict=True))
    for name in definition._fields_.holding("optimizer"):
        given[name] = (getattr(state, name), given[name])
    return given
