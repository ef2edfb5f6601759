"""Static hyperparameters: frozen, hashable, and a pytree without leaves."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    TypeVar,
    dataclass_transform,
)

import jax
import numpy as np

from .hashing import hashable
from .outlines import SHAPES
from .pickles import from_pickle, to_pickle

T = TypeVar("T")
Weights = TypeVar("Weights")
"""A tree of weights: updates are of the same type."""
LayerOutput = TypeVar("LayerOutput", covariant=True)
"""What a layer returns: that of a block may be that of the layer in it."""


class LayerHyperparams(Protocol[LayerOutput]):
    """Hyperparameters of any layer."""

    @property
    def apply(self) -> Callable[..., tuple[LayerOutput, Any]]:
        """`fwd` with these hyperparameters: (x, trainables, non_trainables, inference_mode, key)."""
        ...


class CellHyperparams(LayerHyperparams[LayerOutput], Protocol[LayerOutput]):
    """Hyperparameters of a recurrent cell."""

    @property
    def initial_carry(self) -> Callable[..., Any]:
        """The carry before the first step: (shape of a step's inputs, dtype)."""
        ...


class StepHyperparams(Protocol):
    """What takes the step of an optimizer, such as hyperparameters of one."""

    @property
    def apply(self) -> Callable[..., tuple[Any, Any]]:
        """`step` with these hyperparameters: (gradients, state, trainables)."""
        ...


class OptimizerHyperparams(StepHyperparams, Protocol):
    """Hyperparameters of any optimizer."""

    @property
    def initial_state(self) -> Callable[[Any], Any]:
        """The state before the first step, for weights."""
        ...

    @property
    def keeps_weights(self) -> Callable[[Any], bool]:
        """Whether the state is of these weights, and not of their gradients alone."""
        ...


class OfLayer(Generic[LayerOutput]):
    """What the hyperparameters of every layer can do."""

    _function: ClassVar[Callable[..., tuple[Any, Any]]]
    """The `fwd` of the layer."""
    _init: ClassVar[Callable[..., tuple[Any, Any, Any]]]
    """Its `init`."""
    _bare: ClassVar[tuple[Callable[..., tuple[Any, Any]] | None, str]]
    """`fwd` without what names its operations, and the name; see `scopes.apply_at`."""

    def __init_subclass__(cls) -> None:
        if "apply" in cls.__dict__:
            cls._bare = (None, "")

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[LayerOutput, Any]:
        """`fwd` with these hyperparameters: what a block calls."""
        return self._function(
            x, trainables, non_trainables, self, inference_mode, key, **inputs
        )

    if not TYPE_CHECKING:  # what there is none of, is an error of types

        def __getattr__(self, name):
            place = type(self).__module__
            missing = f"{type(self).__name__} has no attribute {name!r}"
            # What a class has is found before.
            module = None if name.startswith("_") else sys.modules.get(place)
            other = getattr(module, name, None)
            if inspect.isfunction(other) and other.__module__ == place:
                missing += (
                    f": {name} is a function of {place}, which a block does not reach in a layer "
                    "that it is given. Declare the layer in setup, where "
                    f"self.layer.{name}(x) calls it"
                )
            raise AttributeError(missing, name=name, obj=self)

    def outline(self) -> tuple[Any, Any, Any]:
        """`init` with these hyperparameters: shapes in the place of arrays."""
        return self._initialized(SHAPES)

    def _initialized(self, key: Any) -> tuple[Any, Any, Any]:
        """`init` with these hyperparameters, and initializers as they are by default."""
        taken = inspect.signature(self._init).parameters
        given = {name: getattr(self, name) for name in taken if hasattr(self, name)}
        return self._init(*([key] if "key" in taken else []), **given)


class OfOptimizer:
    """What the hyperparameters of every optimizer can do."""

    _function: ClassVar[Callable[..., tuple[Any, Any]]]
    """The `step` of the optimizer."""
    _init: ClassVar[Callable[..., tuple[Any, Any]]]
    """Its `init`."""
    _bare: ClassVar[tuple[Callable[..., tuple[Any, Any]] | None, str]]
    _keeps_weights: ClassVar[bool] = False
    """Whether its own state has a copy of the weights, or what they moved by."""

    def __init_subclass__(cls) -> None:
        if "apply" in cls.__dict__:
            cls._bare = (None, "")

    def apply(
        self, gradients: Any, state: Any, trainables: Any, **inputs: Any
    ) -> tuple[Any, Any]:
        """`step` with these hyperparameters: what an optimizer of optimizers calls."""
        return self._function(gradients, state, trainables, self, **inputs)

    def initial_state(self, trainables: Any) -> Any:
        """The state before the first step that `init` makes for weights.

        Args:
            trainables: those that the optimizer is for, or others, of which masks know
                the names.

        Returns:
            a state for them, as that of optimizers in this one.
        """
        taken = inspect.signature(self._init).parameters
        given = {
            name: _for_weights(getattr(self, name), trainables)
            for name in taken
            if name != "trainables"
        }
        weights = [trainables] if "trainables" in taken else []
        return self._init(*weights, **given)[0]

    def keeps_weights(self, trainables: Any) -> bool:
        """Whether the state is of these weights, and not of their gradients alone.

        It is where it has a copy of them or what they moved by, or that of an optimizer in
        this one has. Such an optimizer needs the very weights that are trained.

        Args:
            trainables: the weights.
        """
        return self._keeps_weights or any(
            inner.keeps_weights(trainables)
            for inner in _optimizers(tuple(vars(self).values()))
        )


def _optimizers(value: Any) -> Iterator[Any]:
    """The hyperparameters of optimizers in one of a hyperparameter's values."""
    if type(value) is tuple:
        for item in value:
            yield from _optimizers(item)
    elif hasattr(value, "initial_state"):
        yield value


def _for_weights(value: Any, trainables: Any) -> Any:
    """A hyperparameter as `init` takes it: of an optimizer, with a state."""
    if type(value) is tuple:
        return tuple(_for_weights(item, trainables) for item in value)
    if hasattr(value, "initial_state"):
        return value.initial_state(trainables), value
    return value


InitializedLayer = tuple[Any, Any, Any]
"""What `init` of a layer returns: (trainables, non_trainables, hyperparams)."""

InitializedOptimizer = tuple[Any, Any]
"""What `init` of an optimizer returns: (state, hyperparams)."""


def frozen(value: Any) -> Any:
    """The value as hyperparameters hold it.

    Lists become tuples, arrays of NumPy read-only copies, and its scalars numbers of
    Python, which widen nothing.
    """
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
        return value
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return tuple(map(frozen, value))
    if type(value) is dict:
        return {name: frozen(item) for name, item in value.items()}
    return value


@dataclass_transform(frozen_default=True)
def static(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass that `jax.jit` takes as a constant.

    An instance may be a static argument (it is hashable) or a plain one (it is a pytree
    without leaves). Its hash is computed once, however deep it is, and comparing an
    instance with itself costs nothing: both happen at every call of a compiled function.
    """
    cls = dataclass(frozen=True, eq=False)(cls)
    plain = cls.__init__
    names = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    @functools.wraps(plain)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        for name in names:
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def values(self: Any) -> tuple[Any, ...]:
        return tuple(hashable(getattr(self, name)) for name in names)

    def __hash__(self: Any) -> int:
        try:
            return self.__dict__["_hash"]
        except KeyError:
            # The types distinguish 1 from 1.0 and True, which compare equal.
            value = hash((cls, tuple(map(type, values(self))), values(self)))
            object.__setattr__(self, "_hash", value)
            return value

    def __eq__(self: Any, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not cls or hash(self) != hash(other):
            return False
        return values(self) == values(other)

    def __getstate__(self: Any) -> dict[str, Any]:
        # Hashes of strings differ between processes.
        return {name: to_pickle(getattr(self, name)) for name in names}

    def __setstate__(self: Any, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, from_pickle(value))

    def __copy__(self: Any, memo: Any = None) -> Any:
        return self  # It never changes.

    cls.__init__ = __init__  # type: ignore[method-assign]
    cls.__hash__ = __hash__  # type: ignore[method-assign, assignment]
    cls.__eq__ = __eq__  # type: ignore[method-assign, assignment]
    cls.__getstate__ = __getstate__  # type: ignore[attr-defined]
    cls.__setstate__ = __setstate__  # type: ignore[attr-defined]
    cls.__copy__ = cls.__deepcopy__ = __copy__  # type: ignore[attr-defined]
    cls._has_static_part = True  # type: ignore[attr-defined]  # See `exports`.
    return jax.tree_util.register_static(cls)
