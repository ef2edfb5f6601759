"""The decorator of function specs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mlax_scaffold.spec.words import canonical

IS_SPEC = "is_spec"
"""The attribute that tells a function spec from a helper."""
F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def function(definition: F) -> F: ...

else:

    def function(definition):
        """Marks a function spec.

        The keyword-only parameters are its hyperparameters: its body receives them in
        canonical form, whatever form the caller gave.
        """
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
                try:
                    values[name] = canonical(parameter.annotation, value, values)
                except (TypeError, ValueError) as error:
                    raise type(error)(
                        f"{definition.__name__}: {name}: {error}"
                    ) from error
            return definition(*inputs, **given, **values)

        setattr(call, IS_SPEC, True)
        return call
