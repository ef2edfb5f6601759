"""Small layers that blocks are tested with: they have weights, state and randomness."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.toy_optimizers import ToyOptimizerHyperparams

WIDTH = 4
"""Size of the last axis of the inputs that a toy maps as a whole, and of the carry of a cell."""

Initialized = tuple[Any, Any, Any]

_ALWAYS = ("shift",)
"""The keyword inputs of every toy."""


class ToyTrainables(NamedTuple):
    """Weights of a toy."""

    kernel: jax.Array
    """(WIDTH, WIDTH)."""


class ToyNonTrainables(NamedTuple):
    """State of a toy."""

    seen: jax.Array
    """Scalar: how many positive outputs training has seen."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToyHyperparams:
    """Hyperparameters of a layer that maps arrays of any shape to that shape."""

    scale: float = 0.5
    takes: tuple[str, ...] = ()
    """Keyword inputs besides `shift`."""
    steady: bool = False
    """Whether training leaves the state as it is."""
    features: ClassVar[int] = WIDTH
    in_features: ClassVar[int] = WIDTH
    out_features: ClassVar[int] = WIDTH

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The names of all keyword inputs."""
        return (*_ALWAYS, *self.takes)

    def apply(
        self,
        x: Any,
        trainables: ToyTrainables,
        non_trainables: ToyNonTrainables,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        shift: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[jax.Array, ToyNonTrainables]:
        """A product, shifted; in training, state that follows it, and signs drawn with the key.

        Each of other keyword inputs makes a difference of its own, and so does each array beside the
        first one of a tuple or a dictionary.
        """
        x, *others = jax.tree.leaves(x)
        y = self.scale * _mapped(x, trainables.kernel.astype(x.dtype))
        for number, leaf in enumerate(others, 2 + len(self.takes)):
            y = y + _aligned(leaf.astype(y.dtype), y.shape) / number
        if shift is not None:
            y = y + shift
        for name, tree in inputs.items():  # Names are not to be exchanged.
            weight = 1.0 / (2 + self.takes.index(name))
            for leaf in jax.tree.leaves(tree):
                y = y + weight * _aligned(leaf.astype(y.dtype), y.shape)
        if not inference_mode:
            if not self.steady:
                positive = jnp.sum(y > 0, dtype=jnp.int32)
                non_trainables = ToyNonTrainables(non_trainables.seen + positive)
            if key is not None:
                bits = jax.random.bits(key, y.shape, jnp.uint8)
                y = jnp.where(bits < 64, -y, y)
        return y, non_trainables

    def of(self, toy: Toy) -> ToyHyperparams:
        """The same as the toy says."""
        return dataclasses.replace(self, takes=toy.takes, steady=toy.steady)

    def outline(self) -> Initialized:
        """An initialized layer, with shapes in the place of arrays."""
        return jax.eval_shape(lambda: layer(jax.random.key(0), None))


def _aligned(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """An array that broadcasts to the shape: x, where its axes are some that the shape has before its last.

    Otherwise it holds the first element of x for each place along the first axes that both have.
    """
    if x.shape == shape:
        return x
    if x.shape == shape[1:-1]:
        return x.reshape(1, *x.shape, 1)
    sizes = list(zip(x.shape, shape, strict=False))
    common = next((i for i, (a, b) in enumerate(sizes) if a != b), len(sizes))
    lead = x.shape[:common]
    x = x.reshape(*lead, -1) if x.size else jnp.zeros((*lead, 1), x.dtype)
    return x[..., 0].reshape(lead + (1,) * (len(shape) - common))


def _mapped(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """The product of the last axis with the kernel.

    Where the axis is shorter, it is the product with a part of it; what is beyond the kernel
    stays as it is.
    """
    if x.ndim == 0:
        return x * kernel[0, 0]
    width = x.shape[-1]
    if width == WIDTH:
        return jnp.dot(x, kernel)
    y = jnp.dot(x[..., :WIDTH], kernel[:width, :width])
    return jnp.concatenate([y, x[..., WIDTH:]], axis=-1)


@jax.tree_util.register_static
@dataclass(frozen=True)
class ToyCellHyperparams:
    """Hyperparameters of a recurrent cell of that layer."""

    inner: ToyHyperparams = ToyHyperparams()
    features: ClassVar[int] = WIDTH
    in_features: ClassVar[int] = WIDTH
    out_features: ClassVar[int] = WIDTH

    def apply(
        self,
        x: tuple[jax.Array, jax.Array],
        trainables: ToyTrainables,
        non_trainables: ToyNonTrainables,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[tuple[jax.Array, jax.Array], ToyNonTrainables]:
        """Carry' = tanh(x + layer(carry)); the output is (carry', carry')."""
        given, carry = x
        y, non_trainables = self.inner.apply(
            carry, trainables, non_trainables, inference_mode, key, **inputs
        )
        carry = jnp.tanh(given + y)
        return (carry, carry), non_trainables

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The names of all keyword inputs."""
        return self.inner.keyword_inputs

    def initial_carry(self, input_shape: tuple[int, ...], dtype: Any) -> jax.Array:
        """The carry before the first step: zeros."""
        return jnp.zeros((*input_shape[:-1], WIDTH), dtype)

    def of(self, toy: Toy) -> ToyCellHyperparams:
        """The same as the toy says."""
        return dataclasses.replace(self, inner=self.inner.of(toy))

    def outline(self) -> Initialized:
        """An initialized cell, with shapes in the place of arrays."""
        return self.inner.outline()


def layer(key: jax.Array, dtype: Any) -> Initialized:
    """An initialized layer."""
    dtype = dtype or jnp.result_type(float)
    kernel = jax.random.normal(key, (WIDTH, WIDTH), dtype)
    state = ToyNonTrainables(jnp.zeros((), jnp.int32))
    return ToyTrainables(kernel), state, ToyHyperparams()


def cell(key: jax.Array, dtype: Any) -> Initialized:
    """An initialized recurrent cell."""
    trainables, state, hyperparams = layer(key, dtype)
    return trainables, state, ToyCellHyperparams(hyperparams)


class _Functions:
    """What the module of a layer is a class around."""

    @staticmethod
    def fwd(
        x: Any,
        trainables: Any,
        non_trainables: Any,
        hyperparams: Any,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        return hyperparams.apply(
            x, trainables, non_trainables, inference_mode, key, **inputs
        )


@dataclass(frozen=True)
class Toy:
    """What stands for a layer, or for layers, among hyperparameters."""

    create: Callable[[jax.Array, Any], Initialized]
    """Creates one from a key and a dtype."""
    count: int | None = None
    """How many there are, in a list; None: one, and no list."""
    depth: int | None = None
    """How many there are, their weights stacked along the first axis; None: one."""
    takes: tuple[str, ...] = ()
    """The keyword inputs that they take besides `shift`."""
    steady: bool = False
    """Whether they leave their states as they are, as layers under `jax.vmap` have to."""

    @classmethod
    def one(cls) -> Toy:
        """A layer."""
        return cls(layer)

    @classmethod
    def cell(cls) -> Toy:
        """A recurrent cell."""
        return cls(cell)

    @classmethod
    def stacked(cls, depth: int) -> Toy:
        """Layers with stacked weights, whose module is that of one."""
        return cls(layer, depth=depth)

    @classmethod
    def several(cls, count: int) -> Toy:
        """Several layers."""
        return cls(layer, count=count)

    def taking(self, *names: str) -> Toy:
        """The same, of layers that take keyword inputs of these names."""
        others = tuple(name for name in names if name not in _ALWAYS)
        return dataclasses.replace(self, takes=others)

    def with_steady_state(self) -> Toy:
        """The same, of layers that leave their states as they are."""
        return dataclasses.replace(self, steady=True)

    def make(self, key: jax.Array, dtype: Any) -> Any:
        """What `init` of a layer returns, several times where there are several."""
        if self.depth is not None:
            keys = jax.random.split(key, self.depth)
            return jax.vmap(lambda k: self._one(k, dtype))(keys)
        if self.count is None:
            return self._one(key, dtype)
        return [self._one(k, dtype) for k in jax.random.split(key, self.count)]

    def make_module(self, base: Any, node: Any, rng: Any, name: str) -> Any:
        """Its module, or modules, for the hyperparameter of a name; `base` is that of all layers' modules."""
        if self.count is None:
            return self._module(base, node.child(name), rng)
        children = [node.child(f"{name}_{i}") for i in range(self.count)]
        return [self._module(base, child, rng) for child in children]

    def _one(self, key: jax.Array, dtype: Any) -> Initialized:
        trainables, state, hyperparams = self.create(key, dtype)
        return trainables, state, hyperparams.of(self)

    def _module(self, base: Any, node: Any, rng: Any) -> Any:
        make = self._one

        class Module(base):
            functions = _Functions
            declarations: ClassVar[dict[str, None]] = {"kernel": None, "seen": None}
            draws_keys = True
            keyword_inputs = (*_ALWAYS, *self.takes)

            def init(self, key: Any, **sizes: int) -> Initialized:
                return make(key[0] if isinstance(key, list) else key, None)

        return Module(node, rng=rng)


def initialized(
    hyperparameters: Mapping[str, Any], key: jax.Array, dtype: Any
) -> dict[str, Any]:
    """The hyperparameters with initialized layers in the place of toys, each of its own key."""
    names = [name for name, v in hyperparameters.items() if isinstance(v, Toy)]

    def made(name: str, value: Any) -> Any:
        if name not in names:
            return value
        several = len(names) > 1
        own = jax.random.fold_in(key, names.index(name)) if several else key
        return value.make(own, dtype)

    return {name: made(name, value) for name, value in hyperparameters.items()}


def as_modules(
    owner: Any, hyperparameters: Mapping[str, Any], node: Any, rng: Any
) -> dict[str, Any]:
    """The hyperparameters with modules in the place of toys; `owner` is of the same package."""
    if not any(isinstance(v, Toy) for v in hyperparameters.values()):
        return dict(hyperparameters)
    package = owner.__module__.partition(".graph")[0]
    base = importlib.import_module(f"{package}.graph._layer").LayerModule
    return {
        name: value.make_module(base, node, rng, name)
        if isinstance(value, Toy)
        else value
        for name, value in hyperparameters.items()
    }


def optimizers(trainables: Any, count: int) -> list[tuple[Any, Any]]:
    """Several initialized optimizers."""
    made = [ToyOptimizerHyperparams(0.5 / (i + 1)) for i in range(count)]
    return [(toy.initial_state(trainables), toy) for toy in made]


def optimizer(trainables: Any, traced: bool = True) -> tuple[Any, Any]:
    """One initialized optimizer, with a trace or without."""
    hyperparams = ToyOptimizerHyperparams(traced=traced)
    return hyperparams.initial_state(trainables), hyperparams


@dataclass(frozen=True)
class ToyOptimizer:
    """What stands for an optimizer, or for optimizers, among hyperparameters."""

    make: Callable[[Any], Any]
    """Makes it for weights."""

    @classmethod
    def one(cls, traced: bool) -> ToyOptimizer:
        """An optimizer, with a trace or without."""
        return cls(lambda trainables: optimizer(trainables, traced))

    @classmethod
    def several(cls, count: int) -> ToyOptimizer:
        """Several optimizers."""
        return cls(lambda trainables: optimizers(trainables, count))


def with_optimizers(
    hyperparameters: Mapping[str, Any], trainables: Any
) -> dict[str, Any]:
    """The hyperparameters with initialized optimizers in the place of toys."""
    return {
        name: value.make(trainables) if isinstance(value, ToyOptimizer) else value
        for name, value in hyperparameters.items()
    }
