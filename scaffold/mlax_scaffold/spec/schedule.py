"""Schedules, run eagerly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mlax_scaffold.spec.fields import Fields


class Schedule:
    """A hyperparameter as a function of the step: immutable, hashable, callable."""

    _fields: Fields

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._fields = Fields.of(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, "_values", self._fields.bind(args, kwargs))
        self.setup()

    def setup(self) -> None:
        """Check the hyperparameters; a spec that requires nothing has no such method."""

    def __call__(self, step: Any) -> Any:
        """The value at `step`, both in the default float dtype or in that of `step`."""
        step = jnp.asarray(step)
        if not jnp.issubdtype(step.dtype, jnp.floating):
            step = step.astype(jnp.result_type(float))
        return jnp.asarray(self.value(step), step.dtype)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self)["_values"].items()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    if TYPE_CHECKING:

        def value(self, step: Any) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    else:

        def __getattr__(self, name):
            values = vars(self).get("_values", {})
            if name in values:
                return values[name]
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
