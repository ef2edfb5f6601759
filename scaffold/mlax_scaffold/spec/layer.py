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
from mlax_scaffold.spec.bases import called_of_base
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
    with_inputs_of_base,
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

    _fields_: Fields
    _entries_: Mapping[str, Callable[..., Any]]
    _methods_: Mapping[str, Callable[..., Any]]
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
        cls._fields_ = Fields.of(cls)
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
        for name, function in entries.items():
            with_inputs_of_base(cls, name, function)
        cls._entries_ = {**getattr(cls, "_entries_", {}), **entries}
        of_base = called_of_base(cls, methods)
        cls._methods_ = {**getattr(cls, "_methods_", {}), **methods, **of_base}
        for name, function in of_base.items():
            setattr(cls, name, function)
        for name in entries:
            if name != "forward":
                setattr(cls, name, entry(name))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        known = declarations(type(self))
        own = {f"{n}_initializer" for n, d in known.items() if d == "trainable"}
        self._initializers_ = {n: kwargs.pop(n) for n in own & set(kwargs)}
        self._hyperparameters_ = self._fields_.bind(args, kwargs)
        self._derived_: dict[str, Any] = {}
        self._declared_: dict[str, Declaration] = {}
        self._layers_: dict[str, Layer] = {}
        self._lists_: dict[str, list[Layer]] = {}
        self._trees_: dict[str, Any] = {}
        self._arrays_: dict[str, jax.Array] = {}
        self._arrays_of_: dict[str, Any] = {}
        """The arrays of each container, in its form."""
        self._run_: Run | None = None
        self._in_setup_ = True
        self.setup()
        for name, value in [*self._derived_.items(), *self._layers_.items()]:
            if isinstance(known.get(name), Tree):
                self._trees_[name] = containers.mapped(value, lambda leaf: leaf)
        for name in self._trees_:
            self._derived_.pop(name, None)
            self._layers_.pop(name, None)
        self._derived_ = runtime("_core.static").frozen(self._derived_)
        self._in_setup_ = False

    _outer_: jnp.dtype | None = None
    """The dtype of the computation that calls the layer, while it does."""
    _given_: Mapping[str, Any] = MappingProxyType({})
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
        self._initialize_(key, dtype, **initializers)

    def _initialize_(
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
            if name in self._layers_:
                self._layers_[name]._initialize_(own_key, dtype)
            if name in self._trees_:
                self._initialize_tree_(self._trees_[name], own_key, dtype, name)
            layers = self._lists_.get(name, [])
            for layer, key in zip(layers, split(own_key, len(layers)), strict=True):
                layer._initialize_(key, dtype)
            given = f"{name}_initializer"
            given = initializers.pop(given, None) or self._initializers_.get(given)
            declared = self._declared_.get(name)
            if declared is not None:
                self._arrays_[name] = declared.made(own_key, dtype, given)
        if initializers:
            raise TypeError(
                f"{type(self).__name__}: no weights for {list(initializers)}"
            )

    @property
    def initialized(self) -> tuple[Any, Any, EagerHyperparams]:
        """What a generated `init` returns; blocks take it."""
        return self._triple_()

    def _triple_(self) -> tuple[Any, Any, EagerHyperparams]:
        return self.trainables, self.non_trainables, EagerHyperparams(self)

    def _clone_(self) -> Layer:
        return type(self)(**self._hyperparameters_, **self._initializers_)

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
        return self._enter_("forward", x, training, key, inputs)

    def _enter_(
        self,
        name: str,
        x: Any,
        training: bool,
        key: jax.Array | None,
        inputs: Mapping[str, Any],
    ) -> Any:
        parameters = inspect.signature(self._entries_[name]).parameters.values()
        several = len(positional(self._entries_[name])) > 1
        given = tuple(x) if several else (x,)
        given, named = as_annotated(self._entries_[name], given, inputs)
        if name == "forward" and (
            unknown := set(inputs) - set(self._keyword_inputs_())
        ):
            raise TypeError(
                f"{type(self).__name__} takes no keyword inputs {sorted(unknown)}"
            )
        given, inputs = jax.tree.map(as_array, (given, named))
        compiled = method(type(self), name)
        outer = self._run_
        ordered = [inputs[p.name] for p in parameters if p.name in inputs]
        dtype = first_floating((given, ordered))
        if outer is not None and compiled.apart:
            dtype = dtype or self._outer_
        draws = Draws(key, compiled.places)
        self._run_ = Run(training, dtype, draws, dtype or self._outer_)
        weights = self._cast_weights_(
            compiled.casts and has_floating(self._entries_[name])
        )
        for array in self._arrays_:
            self._arrive_(array)
        try:
            return compiled.run(self, *given, **inputs)
        finally:
            self._put_back_(weights)
            self._run_ = outer

    def _method_(self, name: str, number: int | None, *args: Any, **inputs: Any) -> Any:
        """Another method, called with the key of the place."""
        if name in self._entries_:
            key = self._drawn_(number)
            x, inputs = arranged(self._entries_[name], args, inputs)
            with called_in(self, self._current_().weights_dtype):
                return self._enter_(name, x, self.training, key, inputs)
        compiled = method(type(self), name)
        given = (
            args
            if isinstance(inspect.getattr_static(self, name), staticmethod)
            else (self, *args)
        )
        run = self._run_
        if run is None:
            return compiled.run(*given, **inputs)
        outer, run.draws = run.draws, Draws(self._drawn_(number), compiled.places)
        weights = self._cast_weights_(compiled.casts)
        try:
            return compiled.run(*given, **inputs)
        finally:
            self._put_back_(weights)
            run.draws = outer

    def _keyword_inputs_(self) -> tuple[str, ...]:
        """The names of the keyword inputs of `forward`."""
        return keyword(self._entries_["forward"])

    def _taken_(self, layer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        return inputs

    def _current_(self) -> Run:
        if self._run_ is None:
            raise RuntimeError(f"{type(self).__name__} is not running")
        return self._run_

    @property
    def training(self) -> bool:
        """Whether the layer is training: `not inference_mode`."""
        return self._current_().training

    @property
    def stored(self) -> Any:
        """The states in the dtypes that they are stored in, by name."""
        return SimpleNamespace(
            **self._arrays_of_,
            **{
                name: self._arrays_[name]
                for name in self._arrays_
                if self._is_state_(name)
            },
        )

    def key(self) -> jax.Array:
        """A fresh key, in a loop one for each pass. Calls are numbered before they run."""
        raise RuntimeError("self.key() stands in forward, and nowhere else")

    def keys(self, count: int) -> Any:
        """As many keys as asked for. Calls are numbered before they run."""
        raise RuntimeError("self.keys(n) stands in forward, and nowhere else")

    def _key_(self, number: int) -> jax.Array:
        key = self._current_().draws[number]
        if key is None:
            raise ValueError(
                f"{type(self).__name__} draws random numbers: "
                "pass key=jax.random.key(...) to fwd, or rng=... to its module"
            )
        return key

    def _keys_(self, number: int, count: int) -> Any:
        return jax.random.split(self._key_(number), count)

    def _sub_layer_(self, name: str, number: int | None, *x: Any, **inputs: Any) -> Any:
        return self._of_loop_(self._layers_[name], number, *x, **inputs)

    def _of_loop_(self, layer: Any, number: int | None, *x: Any, **inputs: Any) -> Any:
        """A layer of a list, called with the key of the place."""
        if not isinstance(layer, Layer):
            return layer(*x, **inputs)
        name = inputs.pop(ENTRY_POINT, "forward")
        given, inputs = arranged(layer._entries_[name], x, inputs)
        run = self._current_()
        with called_in(layer, run.weights_dtype):
            return layer._enter_(
                name, given, run.training, self._drawn_(number), inputs
            )

    # Attributes: hyperparameters, derived values, arrays

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            if name in self._arrays_:
                return self._read_(name)
            if name in self._trees_:
                return self._view_(name)
            if name in self._declared_:
                # `setup` of what it is part of asks for the shape.
                return self._declared_[name]
            for known in (
                self._hyperparameters_,
                self._derived_,
                self._layers_,
                self._lists_,
            ):
                if name in known:
                    return known[name]
            if name in declarations(type(self)) and name not in self._declared_:
                return None
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        elif self._in_setup_:
            if name in OFFERED:
                self._hide_(name)
            known = declarations(type(self)).get(name)
            if isinstance(known, Several):
                self._lists_[name] = value
            elif isinstance(value, Declaration) and not isinstance(known, Tree):
                self._declared_[name] = value
                self._derived_.pop(name, None)
            elif isinstance(value, Layer) and known is not None:
                self._layers_[name] = value
            elif value is not None or not isinstance(known, str | type):
                self._declared_.pop(name, None)
                self._derived_[name] = value
        elif self._run_ is not None and name in self._trees_:
            self._replace_state_(name, (), value)
        elif self._run_ is not None and self._is_state_(name):
            self._arrays_[name] = jnp.asarray(value).astype(self._arrays_[name].dtype)
            self._arrive_(name)
        else:
            raise AttributeError(f"{type(self).__name__}.{name} is no state")

    def _hide_(self, name: str) -> None:
        """What a class declares by a name that all layers have, that name stands for."""
        setattr(type(self), name, property(lambda layer: layer.__getattr__(name)))

    def _is_state_(self, name: str) -> bool:
        return name in self._declared_ and self._declared_[name].kind == "state"

    def _read_(self, name: str) -> jax.Array:
        return self._arrays_[name] if self._run_ is None else self._run_.cast[name]
