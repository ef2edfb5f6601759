"""Layers, run eagerly as the stateful objects that they look like."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from mlax_scaffold.model.reserved import ENTRY_POINT
from mlax_scaffold.spec import containers
from mlax_scaffold.spec.arrays import cast
from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.declared import Several, Tree, declarations, is_method
from mlax_scaffold.spec.draws import Draws, split
from mlax_scaffold.spec.entries import (
    as_annotated,
    as_array,
    entry,
    first_floating,
    has_floating,
    is_entry,
)
from mlax_scaffold.spec.fields import Fields
from mlax_scaffold.spec.holder import Holder
from mlax_scaffold.spec.inputs import arranged, keyword, positional
from mlax_scaffold.spec.occurrences import method
from mlax_scaffold.spec.pure import EagerHyperparams
from mlax_scaffold.spec.running import OFFERED, Run, called_in
from mlax_scaffold.spec.runtime import runtime
from mlax_scaffold.spec.threads import Threads


class Layer(Holder, Threads):
    """Base class of layers. See docs/spec-language.md for what a spec may say.

    >>> layer = BatchNorm(3, momentum=0.9)
    >>> layer.initialize(jax.random.key(0))
    >>> y = layer(x, training=True)
    >>> layer.trainables, layer.non_trainables
    """

    _spec_fields: Fields
    _spec_entries: Mapping[str, Callable[..., Any]]
    _spec_methods: Mapping[str, Callable[..., Any]]
    """The entry points, and the methods that these may call."""

    def __init_subclass__(
        cls,
        abstract: bool = False,
        module: str = "",
        aliases: Mapping[str, str] | None = None,
        surrogate_gradient: bool = False,
        smooth_at: Mapping[str, tuple[float, float]] | None = None,
        invariances: Sequence[str] = (),
    ) -> None:
        # `module` and `aliases` name the module class; the others are for tests and pages.
        super().__init_subclass__()
        if abstract:
            return
        own = dict(vars(cls))
        fields = inspect.get_annotations(cls)
        for name, value in own.items():
            # What a class calls by a name of its own is no method.
            plain = name not in fields and not name.startswith("__")
            if plain and callable(value) and not is_method(cls, value):
                setattr(cls, name, staticmethod(value))
        cls._spec_fields = Fields.of(cls)
        entries = {
            name: value
            for name, value in own.items()
            if is_method(cls, value) and is_entry(cls, name, value)
        }
        methods = {
            name: getattr(value, "__func__", value)
            for name, value in own.items()
            if is_method(cls, value) and name != "setup"
        }
        cls._spec_entries = {**getattr(cls, "_spec_entries", {}), **entries}
        cls._spec_methods = {**getattr(cls, "_spec_methods", {}), **methods}
        for name in entries:
            if name != "forward":
                setattr(cls, name, entry(name))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = {
            f"{n}_initializer"
            for n, d in declarations(type(self)).items()
            if d == "trainable"
        }
        self._spec_initializers = {n: kwargs.pop(n) for n in own & set(kwargs)}
        self._spec_hyperparameters = self._spec_fields.bind(args, kwargs)
        self._spec_derived: dict[str, Any] = {}
        self._spec_declared: dict[str, Declaration] = {}
        self._spec_layers: dict[str, Layer] = {}
        self._spec_lists: dict[str, list[Layer]] = {}
        self._spec_trees: dict[str, Any] = {}
        self._spec_arrays: dict[str, jax.Array] = {}
        self._spec_arrays_of: dict[str, Any] = {}
        """The arrays of each container, in its form."""
        self._spec_run: Run | None = None
        self._spec_in_setup = True
        self.setup()
        known = declarations(type(self))
        for name, value in [*self._spec_derived.items(), *self._spec_layers.items()]:
            if isinstance(known.get(name), Tree):
                self._spec_trees[name] = containers.mapped(value, lambda leaf: leaf)
        for name in self._spec_trees:
            self._spec_derived.pop(name, None)
            self._spec_layers.pop(name, None)
        self._spec_derived = runtime("_core.static").frozen(self._spec_derived)
        self._spec_in_setup = False

    _spec_outer: jnp.dtype | None = None
    """The dtype of the computation that calls the layer, while it does."""
    _spec_given: Mapping[str, Any] = MappingProxyType({})
    """Layers that a block is given which `setup` of another layer makes."""

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
        self._spec_initialize(key, dtype, **initializers)

    def _spec_initialize(
        self,
        key: jax.Array | None = None,
        dtype: DTypeLike | None = None,
        **initializers: Any,
    ) -> None:
        names = list(declarations(type(self)))
        if not names:
            return
        if key is None:
            raise ValueError(
                f"{type(self).__name__} makes arrays: initialize needs a key"
            )
        keys = [key] if len(names) == 1 else split(key, len(names))
        for name, own_key in zip(names, keys, strict=True):
            if name in self._spec_layers:
                self._spec_layers[name]._spec_initialize(own_key, dtype)
            if name in self._spec_trees:
                self._spec_initialize_tree(self._spec_trees[name], own_key, dtype, name)
            layers = self._spec_lists.get(name, [])
            for layer, key in zip(layers, split(own_key, len(layers)), strict=True):
                layer._spec_initialize(key, dtype)
            given = f"{name}_initializer"
            given = initializers.pop(given, None) or self._spec_initializers.get(given)
            declared = self._spec_declared.get(name)
            if declared is not None:
                self._spec_arrays[name] = declared.made(own_key, dtype, given)
        if initializers:
            raise TypeError(
                f"{type(self).__name__}: no weights for {list(initializers)}"
            )

    @property
    def initialized(self) -> tuple[Any, Any, EagerHyperparams]:
        """What a generated `init` returns; blocks take it."""
        return self._spec_triple()

    def _spec_triple(self) -> tuple[Any, Any, EagerHyperparams]:
        return self.trainables, self.non_trainables, EagerHyperparams(self)

    def _spec_clone(self) -> Layer:
        return type(self)(**self._spec_hyperparameters, **self._spec_initializers)

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
        return self._spec_enter("forward", x, training, key, inputs)

    def _spec_enter(
        self,
        name: str,
        x: Any,
        training: bool,
        key: jax.Array | None,
        inputs: Mapping[str, Any],
    ) -> Any:
        parameters = inspect.signature(self._spec_entries[name]).parameters.values()
        several = len(positional(self._spec_entries[name])) > 1
        given = as_annotated(self._spec_entries[name], tuple(x) if several else (x,))
        if name == "forward" and (
            unknown := set(inputs) - set(self._spec_keyword_inputs())
        ):
            raise TypeError(
                f"{type(self).__name__} takes no keyword inputs {sorted(unknown)}"
            )
        given, inputs = jax.tree.map(as_array, (given, dict(inputs)))
        compiled = method(type(self), name)
        outer = self._spec_run
        ordered = [inputs[p.name] for p in parameters if p.name in inputs]
        dtype = first_floating((given, ordered))
        if outer is not None and compiled.apart:
            dtype = dtype or self._spec_outer
        draws = Draws(key, compiled.places)
        self._spec_run = Run(training, dtype, draws, dtype or self._spec_outer)
        weights = self._spec_cast_weights(
            compiled.casts and has_floating(self._spec_entries[name])
        )
        try:
            return compiled.run(self, *given, **inputs)
        finally:
            self._spec_put_back(weights)
            self._spec_run = outer

    def _spec_method(
        self, name: str, number: int | None, *args: Any, **inputs: Any
    ) -> Any:
        """Another method, called with the key of the place."""
        if name in self._spec_entries:
            key = self._spec_drawn(number)
            x, inputs = arranged(self._spec_entries[name], args, inputs)
            with called_in(self, self._spec_current().weights_dtype):
                return self._spec_enter(name, x, self.training, key, inputs)
        compiled = method(type(self), name)
        given = (
            args if isinstance(vars(type(self))[name], staticmethod) else (self, *args)
        )
        run = self._spec_run
        if run is None:
            return compiled.run(*given, **inputs)
        outer, run.draws = run.draws, Draws(self._spec_drawn(number), compiled.places)
        weights = self._spec_cast_weights(compiled.casts)
        try:
            return compiled.run(*given, **inputs)
        finally:
            self._spec_put_back(weights)
            run.draws = outer

    def _spec_keyword_inputs(self) -> tuple[str, ...]:
        """The names of the keyword inputs of `forward`."""
        return keyword(self._spec_entries["forward"])

    def _spec_taken(self, layer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        return inputs

    def _spec_current(self) -> Run:
        if self._spec_run is None:
            raise RuntimeError(f"{type(self).__name__} is not running")
        return self._spec_run

    @property
    def training(self) -> bool:
        """Whether the layer is training: `not inference_mode`."""
        return self._spec_current().training

    @property
    def stored(self) -> Any:
        """The states in the dtypes that they are stored in, by name."""
        return SimpleNamespace(
            **self._spec_arrays_of,
            **{
                name: self._spec_arrays[name]
                for name in self._spec_arrays
                if self._spec_is_state(name)
            },
        )

    def key(self) -> jax.Array:
        """A fresh key, in a loop one for each pass. Calls are numbered before they run."""
        raise RuntimeError("self.key() stands in forward, and nowhere else")

    def keys(self, count: int) -> Any:
        """As many keys as asked for. Calls are numbered before they run."""
        raise RuntimeError("self.keys(n) stands in forward, and nowhere else")

    def _spec_key(self, number: int) -> jax.Array:
        key = self._spec_current().draws[number]
        if key is None:
            raise ValueError(
                f"{type(self).__name__} draws random numbers: "
                "pass key=jax.random.key(...) to fwd, or rng=... to its module"
            )
        return key

    def _spec_keys(self, number: int, count: int) -> Any:
        return jax.random.split(self._spec_key(number), count)

    def _spec_passes(
        self, number: int, places: int, items: Any, most: int | None
    ) -> Any:
        return self._spec_current().draws.passes(number, places, items, most)

    def _spec_drawn(self, number: int | None) -> jax.Array | None:
        return None if number is None else self._spec_current().draws[number]

    def _spec_sub_layer(
        self, name: str, number: int | None, *x: Any, **inputs: Any
    ) -> Any:
        return self._spec_of_loop(self._spec_layers[name], number, *x, **inputs)

    def _spec_of_loop(
        self, layer: Any, number: int | None, *x: Any, **inputs: Any
    ) -> Any:
        """A layer of a list, called with the key of the place."""
        if not isinstance(layer, Layer):
            return layer(*x, **inputs)
        name = inputs.pop(ENTRY_POINT, "forward")
        given, inputs = arranged(layer._spec_entries[name], x, inputs)
        run = self._spec_current()
        with called_in(layer, run.weights_dtype):
            return layer._spec_enter(
                name, given, run.training, self._spec_drawn(number), inputs
            )

    # Attributes: hyperparameters, derived values, arrays

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            if name in self._spec_arrays:
                return self._spec_read(name)
            if name in self._spec_trees:
                return self._spec_view(name)
            for known in (
                self._spec_hyperparameters,
                self._spec_derived,
                self._spec_layers,
                self._spec_lists,
            ):
                if name in known:
                    return known[name]
            if name in declarations(type(self)) and name not in self._spec_declared:
                return None
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        elif self._spec_in_setup:
            if name in OFFERED:
                self._spec_hide(name)
            known = declarations(type(self)).get(name)
            if isinstance(value, Declaration):
                self._spec_declared[name] = value
            elif isinstance(known, Several):
                self._spec_lists[name] = value
            elif isinstance(value, Layer) and known is not None:
                self._spec_layers[name] = value
            elif not isinstance(known, str | type):
                self._spec_derived[name] = value
        elif self._spec_run is not None and name in self._spec_trees:
            self._spec_replace_state(name, (), value)
        elif self._spec_run is not None and self._spec_is_state(name):
            self._spec_arrays[name] = jnp.asarray(value).astype(
                self._spec_arrays[name].dtype
            )
            self._spec_run.cast.pop(name, None)
        else:
            raise AttributeError(f"{type(self).__name__}.{name} is no state")

    def _spec_hide(self, name: str) -> None:
        """What a class declares by a name that all layers have, that name stands for."""
        setattr(type(self), name, property(lambda layer: layer.__getattr__(name)))

    def _spec_array_of(self, layer: str, name: str) -> jax.Array | None:
        """A weight or a state of a sub-layer, in the compute dtype of this one."""
        return self._spec_part_of(self._spec_layers[layer], name)

    def _spec_is_state(self, name: str) -> bool:
        return name in self._spec_declared and self._spec_declared[name].kind == "state"

    def _spec_read(self, name: str) -> jax.Array:
        array, run = self._spec_arrays[name], self._spec_run
        inexact = array is not None and jnp.issubdtype(array.dtype, jnp.inexact)
        if run is None or not inexact:
            return array
        dtype = run.dtype if self._spec_is_state(name) else run.weights_dtype
        if dtype is None:
            return array
        if name not in run.cast:
            run.cast[name] = cast(array, dtype)
        return run.cast[name]
