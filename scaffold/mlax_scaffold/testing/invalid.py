"""Values that a hyperparameter may not have, by the word that the spec annotates it with, are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlax_scaffold.model.hyper_types import HyperType
from mlax_scaffold.spec.words import hyper_type
from mlax_scaffold.testing.oracle import Spec


def assert_refuses_invalid(
    owner: str,
    spec: Spec,
    make: Callable[..., Any],
    valid: Mapping[str, Any] | None = None,
) -> None:
    """A ValueError names the owner and the hyperparameter where its value is not one that its word takes.

    Of what is made of layers or optimizers, these decide too, and nothing is said.

    Args:
        owner: how messages begin.
        spec: annotates the hyperparameters.
        make: is called with hyperparameters.
        valid: those that it needs.
    """
    types = _types(spec.load())
    if not any(kind.word.structural for kind in types.values()):
        for name, value in _invalid(types):
            _assert_refuses(owner, make, {**(valid or {}), name: value}, name)


def _types(definition: Any) -> dict[str, HyperType]:
    """The hyperparameters of a spec: the fields of a class, the keywords of a function."""
    if isinstance(definition, type):
        annotations = definition._fields_.annotations
    else:
        parameters = inspect.signature(definition, eval_str=True).parameters
        annotations = {
            name: parameter.annotation
            for name, parameter in parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }
    return {name: hyper_type(given) for name, given in annotations.items()}


def _invalid(types: Mapping[str, HyperType]) -> Iterator[tuple[str, Any]]:
    for name, kind in types.items():
        if not kind.word.initializes:
            yield from ((name, value) for value in kind.invalid)


def _assert_refuses(
    owner: str, make: Callable[..., Any], given: Mapping[str, Any], name: str
) -> None:
    value = given[name]
    try:
        make(**given)
    except ValueError as error:
        if f"{owner}: {name}" not in str(error):
            raise AssertionError(
                f"{owner} refuses {name}={value!r} with {error!r}, which does not "
                f'say "{owner}: {name}"'
            ) from error
    else:
        raise AssertionError(f"{owner} takes {name}={value!r}, expected a ValueError")
