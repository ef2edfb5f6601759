"""The decorator of function specs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mlax_scaffold.spec.entries import as_annotated
from mlax_scaffold.spec.words import canonical

IS_SPEC = "is_spec"
"""The attribute that tells a function spec from a helper."""
F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    @overload
    def function(definition: F) -> F: ...

    @overload
    def function(
        *,
        surrogate_gradient: bool = False,
        smooth_at: Mapping[str, tuple[float, float]] | None = None,
    ) -> Callable[[F], F]: ...

    def function(
        definition: Any = None,
        *,
        surrogate_gradient: bool = False,
        smooth_at: Mapping[str, tuple[float, float]] | None = None,
    ) -> Any: ...

else:

    def function(definition=None, *, surrogate_gradient=False, smooth_at=None):
        """Marks a function spec.

        `surrogate_gradient` says that its gradient is meant not to be the derivative of
        its values, `smooth_at` where it is smooth, for tests and pages.

        The keyword-only parameters are its hyperparameters: its body receives them in
        canonical form, whatever form the caller gave.
        """
        if definition is None:
            return function
        parameters = inspect.signature(definition, eval_str=True).parameters
        hyperparameters = {
            name: parameter
            for name, parameter in parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

        @functools.wraps(definition)
        def call(*inputs, **given):
            unknown = [name for name in given if name not in parameters]
            if unknown:
                name = definition.__name__
                raise TypeError(f"{name}() got an unexpected argument {unknown[0]!r}")
            values: dict[str, Any] = {}
            for name, parameter in hyperparameters.items():
                value = given.pop(name, parameter.default)
                if value is inspect.Parameter.empty:
                    raise TypeError(f"{definition.__name__}() needs {name}=...")
                owner, annotation = definition.__name__, parameter.annotation
                values[name] = canonical(owner, name, annotation, value, values)
            inputs, given = as_annotated(definition, inputs, given)
            return definition(*inputs, **given, **values)

        setattr(call, IS_SPEC, True)
        return call
