"""Schedules, run eagerly."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mlax_scaffold.spec.fields import Fields
from mlax_scaffold.spec.runtime import runtime

_ARRAYS = runtime("_core.arrays")


class Schedule:
    """A hyperparameter as a function of the step: immutable, hashable, callable."""

    takes_integers = True
    _fields_: Fields
    _counts_: bool

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._fields_ = Fields.of(cls)
        spec: Any = cls
        cls._counts_ = "step_number" in inspect.signature(spec.value).parameters

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, "_values_", self._fields_.bind(args, kwargs))
        self.setup()

    def setup(self) -> None:
        """Check the hyperparameters; a spec that requires nothing has no such method."""

    def __call__(self, step: Any) -> Any:
        """The value at `step`, both in the default float dtype or in that of `step`."""
        number = (_ARRAYS.exact(step),) if self._counts_ else ()
        step = _ARRAYS.floating(step)
        return jnp.asarray(self.value(step, *number), step.dtype)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self)["_values_"].items()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            values = vars(self).get("_values_", {})
            if name in values:
                return values[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
