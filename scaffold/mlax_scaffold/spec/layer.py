"""Layers, run eagerly as the stateful objects that they look like."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.draws import Draws, split
from mlax_scaffold.spec.fields import Fields
from mlax_scaffold.spec.occurrences import Several, declarations, holds, method
from mlax_scaffold.spec.pure import EagerHyperparams
from mlax_scaffold.spec.words import is_array


@dataclass
class _Run:
    """What one call of a layer knows."""

    training: bool
    dtype: jnp.dtype | None
    draws: Draws
    # Weights and states in the compute dtype. Each is cast once, so that where it is
    # read twice its gradients are added in the compute dtype.
    cast: dict[str, jax.Array] = field(default_factory=dict)


class Layer:
    """Base class of layers. See docs/spec-language.md for what a spec may say.

    >>> layer = BatchNorm(3, momentum=0.9)
    >>> layer.initialize(jax.random.key(0))
    >>> y = layer(x, training=True)
    >>> layer.trainables, layer.non_trainables
    """

    _fields: Fields
    _entries: Mapping[str, Callable[..., Any]]

    def __init_subclass__(
        cls,
        abstract: bool = False,
        module: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        # `module` and `aliases` name the module class, which the generator writes.
        super().__init_subclass__()
        if abstract:
            return
        cls._fields = Fields.of(cls)
        cls._entries = {
            name: value for name, value in vars(cls).items() if _is_entry(name, value)
        }
        for name in cls._entries:
            if name != "forward":
                setattr(cls, name, _entry(name))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = {
            f"{n}_initializer"
            for n, d in declarations(type(self)).items()
            if d == "trainable"
        }
        self._initializers = {n: kwargs.pop(n) for n in own & set(kwargs)}
        self._hyperparameters = self._fields.bind(args, kwargs)
        self._derived: dict[str, Any] = {}
        self._declared: dict[str, Declaration] = {}
        self._layers: dict[str, Layer] = {}
        self._lists: dict[str, list[Layer]] = {}
        self._arrays: dict[str, jax.Array] = {}
        self._run: _Run | None = None
        self._in_setup = True
        self.setup()
        self._in_setup = False

    def setup(self) -> None:
        """Declares weights, states and sub-layers. A layer with none needs no setup."""

    # Weights and states

    def initialize(
        self,
        key: jax.Array | None = None,
        dtype: DTypeLike | None = None,
        **initializers: Any,
    ) -> None:
        """Makes the weights and states.

        Args:
            key: split into one key for each declaration, in order; used as it is where
                there is one declaration.
            dtype: of the weights; None: the default float dtype.
            **initializers: `name_initializer` replaces that of the weight `name`.
        """
        names = list(declarations(type(self)))
        if not names:
            return
        if key is None:
            raise ValueError(
                f"{type(self).__name__} makes arrays: initialize needs a key"
            )
        keys = [key] if len(names) == 1 else jax.random.split(key, len(names))
        for name, own_key in zip(names, keys, strict=True):
            if name in self._layers:
                self._layers[name].initialize(own_key, dtype)
            layers = self._lists.get(name, [])
            for layer, key in zip(layers, split(own_key, len(layers)), strict=True):
                layer.initialize(key, dtype)
            given = f"{name}_initializer"
            given = initializers.pop(given, None) or self._initializers.get(given)
            declared = self._declared.get(name)
            if declared is not None:
                own_dtype = jnp.dtype(declared.dtype or dtype or jnp.result_type(float))
                if declared.at_least is not None:
                    own_dtype = jnp.promote_types(own_dtype, declared.at_least)
                self._arrays[name] = (given or declared.initializer)(
                    own_key, declared.shape, own_dtype
                )
        if initializers:
            raise TypeError(
                f"{type(self).__name__}: no weights for {list(initializers)}"
            )

    def load(self, trainables: Any, non_trainables: Any = None) -> None:
        """Installs arrays by the names of fields.

        Args:
            trainables: an object with the fields as attributes, or a mapping; nested
                for sub-layers; None where there is nothing.
            non_trainables: likewise.
        """
        trees = {"trainable": trainables, "state": non_trainables}
        for name, declared in self._declared.items():
            self._arrays[name] = _get(trees[declared.kind], name)
        for name, layer in self._layers.items():
            layer.load(_get(trainables, name), _get(non_trainables, name))
        for name, layers in self._lists.items():
            nothing = [None] * len(layers)
            weights = _get(trainables, name) or nothing
            states = _get(non_trainables, name) or nothing
            for layer, weight, state in zip(layers, weights, states, strict=True):
                layer.load(weight, state)

    @property
    def trainables(self) -> dict[str, Any] | None:
        """The weights by name, nested for sub-layers; None where there are none."""
        return self._collect("trainable", "trainables")

    @property
    def non_trainables(self) -> dict[str, Any] | None:
        """The states by name, nested for sub-layers; None where there are none."""
        return self._collect("state", "non_trainables")

    def _collect(self, kind: str, nested: str) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        for name, declared in declarations(type(self)).items():
            if declared == kind:
                found[name] = self._arrays.get(name)
            elif isinstance(declared, Several):
                if holds(declared.layer, kind):
                    layers = self._lists[name]
                    found[name] = tuple(getattr(layer, nested) for layer in layers)
            elif not isinstance(declared, str) and holds(declared, kind):
                layer = self._layers.get(name)
                found[name] = None if layer is None else getattr(layer, nested)
        return found or None

    @property
    def initialized(self) -> tuple[Any, Any, EagerHyperparams]:
        """What a generated `init` returns; blocks take it."""
        return self.trainables, self.non_trainables, EagerHyperparams(self)

    def _clone(self) -> Layer:
        return type(self)(**self._hyperparameters, **self._initializers)

    # Running

    def __call__(
        self,
        x: Any,
        training: bool = True,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> Any:
        """Runs `forward`, and keeps the new state.

        Args:
            x: the input; a tuple where `forward` takes several.
            training: `not inference_mode`.
            key: for the layers that draw random numbers in training.
            **inputs: the keyword inputs.
        """
        return self._enter("forward", x, training, key, inputs)

    def _enter(
        self,
        name: str,
        x: Any,
        training: bool,
        key: jax.Array | None,
        inputs: Mapping[str, Any],
    ) -> Any:
        parameters = inspect.signature(self._entries[name]).parameters.values()
        several = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        positional = tuple(x) if len(several) > 1 else (x,)
        if name == "forward" and (unknown := set(inputs) - set(self._keyword_inputs())):
            raise TypeError(
                f"{type(self).__name__} takes no keyword inputs {sorted(unknown)}"
            )
        positional, inputs = jax.tree.map(_as_array, (positional, dict(inputs)))
        compiled = method(type(self), name)
        outer = self._run
        ordered = [inputs[p.name] for p in parameters if p.name in inputs]
        dtype = _first_floating((positional, ordered))
        self._run = _Run(training, dtype, Draws(key, compiled.places))
        try:
            return compiled.run(self, *positional, **inputs)
        finally:
            self._run = outer

    def _keyword_inputs(self) -> tuple[str, ...]:
        """The names of the keyword inputs of `forward`."""
        parameters = inspect.signature(self._entries["forward"]).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def _taken(self, layer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        return inputs

    def _current(self) -> _Run:
        if self._run is None:
            raise RuntimeError(f"{type(self).__name__} is not running")
        return self._run

    @property
    def training(self) -> bool:
        """Whether the layer is training: `not inference_mode`."""
        return self._current().training

    @property
    def stored(self) -> Any:
        """The states in the dtypes that they are stored in, by name."""
        return SimpleNamespace(
            **{
                name: self._arrays[name]
                for name in self._arrays
                if self._is_state(name)
            }
        )

    def key(self) -> jax.Array:
        """A fresh key, in a loop one for each pass. Calls are numbered before they run."""
        raise RuntimeError("self.key() stands in forward, and nowhere else")

    def keys(self, count: int) -> Any:
        """As many keys as asked for. Calls are numbered before they run."""
        raise RuntimeError("self.keys(n) stands in forward, and nowhere else")

    def _key(self, number: int) -> jax.Array:
        key = self._current().draws[number]
        if key is None:
            raise ValueError(
                f"{type(self).__name__} draws random numbers in training: "
                "pass key=jax.random.key(...) to fwd, or rng=... to its module"
            )
        return key

    def _keys(self, number: int, count: int) -> Any:
        return jax.random.split(self._key(number), count)

    def _passes(self, number: int, places: int, items: Any, most: int | None) -> Any:
        return self._current().draws.passes(number, places, items, most)

    def _drawn(self, number: int | None) -> jax.Array | None:
        return None if number is None else self._current().draws[number]

    def _sub_layer(self, name: str, number: int | None, *x: Any, **inputs: Any) -> Any:
        return self._of_loop(self._layers[name], number, *x, **inputs)

    def _of_loop(self, layer: Any, number: int | None, *x: Any, **inputs: Any) -> Any:
        """A layer of a list, called with the key of the place."""
        return layer(packed(x), self._current().training, self._drawn(number), **inputs)

    # Attributes: hyperparameters, derived values, arrays

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            if name in self._arrays:
                return self._read(name)
            for known in (
                self._hyperparameters,
                self._derived,
                self._layers,
                self._lists,
            ):
                if name in known:
                    return known[name]
            if name in declarations(type(self)) and name not in self._declared:
                return None
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        elif self._in_setup:
            if isinstance(value, Declaration):
                self._declared[name] = value
            elif isinstance(value, Layer):
                self._layers[name] = value
            elif isinstance(declarations(type(self)).get(name), Several):
                self._lists[name] = value
            elif name not in declarations(type(self)):
                self._derived[name] = value
        elif self._run is not None and self._is_state(name):
            self._arrays[name] = jnp.asarray(value).astype(self._arrays[name].dtype)
            self._run.cast.pop(name, None)
        else:
            raise AttributeError(f"{type(self).__name__}.{name} is no state")

    def _is_state(self, name: str) -> bool:
        return name in self._declared and self._declared[name].kind == "state"

    def _read(self, name: str) -> jax.Array:
        array, run = self._arrays[name], self._run
        floating = array is not None and jnp.issubdtype(array.dtype, jnp.floating)
        if run is None or run.dtype is None or not floating:
            return array
        if name not in run.cast:
            run.cast[name] = array.astype(run.dtype)
        return run.cast[name]


def _is_entry(name: str, value: Any) -> bool:
    if not inspect.isfunction(value) or name == "setup":
        return False
    annotations = inspect.get_annotations(value, eval_str=True)
    annotations.pop("return", None)
    return name == "forward" or any(map(is_array, annotations.values()))


def _entry(name: str) -> Callable[..., Any]:
    def call(
        self: Layer,
        x: Any,
        training: bool = True,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> Any:
        return self._enter(name, x, training, key, inputs)

    return call


def packed(x: tuple[Any, ...]) -> Any:
    """The one input of a layer: several are a tuple."""
    return x[0] if len(x) == 1 else x


def _as_array(leaf: Any) -> Any:
    return leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)


def _first_floating(inputs: Any) -> jnp.dtype | None:
    for leaf in jax.tree.leaves(inputs):
        if jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf.dtype
    return None


def _get(tree: Any, name: str) -> Any:
    if isinstance(tree, Mapping):
        return tree.get(name)
    return getattr(tree, name, None)
