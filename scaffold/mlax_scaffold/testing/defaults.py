"""What is done without an argument: defaults are those of the spec."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mlax_scaffold.testing.optimizer import INPUTS
from mlax_scaffold.testing.oracle import Spec

_MISSING = inspect.Parameter.empty
_MODES = {"inference_mode": False, "key": None}


def assert_layer_defaults(
    owner: str, spec: Spec, init: Callable[..., Any], fwd: Callable[..., Any]
) -> None:
    """`init` has the defaults of the fields, `fwd` those of `forward`, and needs no mode and no key.

    The weights have the dtype of their initializers, unless another one is asked for.
    """
    definition = spec.load()
    created = {"dtype"} & set(inspect.signature(init).parameters)
    fields = dict.fromkeys(created) | _of_fields(definition)
    assert_defaults(f"{owner}: init", init, fields)
    assert_entry_defaults(f"{owner}: fwd", spec, fwd, "forward")


def assert_entry_defaults(
    owner: str, spec: Spec, function: Callable[..., Any], entry: str
) -> None:
    """An entry point has the defaults of the method, and needs no mode and no key."""
    parameters = inspect.signature(spec.load()._entries_[entry]).parameters
    inputs = {name: p.default for name, p in parameters.items() if _is_optional(p)}
    assert_defaults(owner, function, inputs | _MODES)


def assert_optimizer_defaults(
    owner: str, spec: Spec, init: Callable[..., Any], step: Callable[..., Any]
) -> None:
    """`init` has the defaults of the fields, and `step` can do without all that is no tree."""
    assert_defaults(f"{owner}: init", init, _of_fields(spec.load()))
    assert_defaults(f"{owner}: step", step, dict.fromkeys(INPUTS))


def assert_schedule_defaults(owner: str, spec: Spec, schedule: type) -> None:
    """The class has the defaults of the fields."""
    assert_defaults(owner, schedule, _of_fields(spec.load()))


def assert_function_defaults(
    owner: str, spec: Spec, function: Callable[..., Any]
) -> None:
    """The function has the defaults of the spec."""
    parameters = inspect.signature(spec.load()).parameters
    expected = {name: parameter.default for name, parameter in parameters.items()}
    assert_defaults(owner, function, expected)


def assert_defaults(
    owner: str, function: Callable[..., Any], expected: Mapping[str, Any]
) -> None:
    """Raise AssertionError unless parameters have these defaults."""
    parameters = inspect.signature(function).parameters
    for name, default in expected.items():
        given = parameters[name].default
        if not _same(given, default):
            raise AssertionError(
                f"{owner}: {name} is {_told(given)} by default, expected {_told(default)}"
            )


def _of_fields(definition: Any) -> dict[str, Any]:
    """The defaults of hyperparameters; initializers, but None, are known by what they make."""
    fields = definition._fields_
    return {
        name: fields.defaults.get(name, _MISSING)
        for name in fields.annotations
        if name not in fields.initializers or fields.defaults.get(name, 0) is None
    }


def _is_optional(parameter: inspect.Parameter) -> bool:
    return parameter.default is not _MISSING


def _same(value: Any, other: Any) -> bool:
    """Whether two defaults say the same; functions and members of enumerations by their names."""
    if isinstance(value, enum.Enum) and isinstance(other, enum.Enum):
        return value.name == other.name
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    if callable(value) and callable(other):
        return value is other or _name(value) == _name(other)
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def _name(function: Any) -> str:
    return getattr(function, "__name__", "") or repr(function)


def _told(default: Any) -> str:
    return "not there" if default is _MISSING else repr(default)
