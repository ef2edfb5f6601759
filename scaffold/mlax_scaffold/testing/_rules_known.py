"""What derivative rules of functions are known by, so that the same ones are traced once."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from jax.extend.core import JaxprEqn, Literal

T = TypeVar("T")

_RULES: Mapping[str, tuple[str, ...]] = {
    "custom_jvp_call": ("jvp_jaxpr_fun", "symbolic_zeros"),
    "custom_vjp_call": ("fwd_jaxpr_thunk", "bwd", "symbolic_zeros"),
}
"""The parameters of a call that say what its derivative is."""
_OF_ONE_TRACE = ("DynamicJaxprTrace", "Store", "EqualStore", "object")
"""Classes of what jax keeps of one trace beside a rule."""
_MOST = 512
_known: dict[Any, tuple[Any, Any]] = {}


class _Same(NamedTuple):
    """An object that nothing but itself equals, though its class may say otherwise."""

    number: int


def traced_once(eqn: JaxprEqn, more: Any, trace: Callable[[], T]) -> T:
    """What `trace` returns for a call with rules; for one with the same rules, what it did before.

    Two are the same where their functions are of one code and hold the same values, and their operands
    have the same types. Of other primitives, and of what cannot be compared, each is traced.

    Args:
        eqn: the call.
        more: what else the trace depends on.
        trace: makes it.
    """
    if eqn.primitive.name not in _RULES:
        return trace()
    reading = _Reading()
    rules = [eqn.params.get(name) for name in _RULES[eqn.primitive.name]]
    places: dict[int, int] = {}
    operands = [
        (reading.value(v.val), str(v.aval))
        if isinstance(v, Literal)
        else (places.setdefault(id(v), len(places)), str(v.aval))
        for v in eqn.invars
    ]
    config: Any = jax.config
    modes = config.jax_enable_x64, config.jax_numpy_dtype_promotion
    results = [(type(v).__name__, str(v.aval)) for v in eqn.outvars]
    key = (
        *(eqn.primitive.name, tuple(operands), tuple(results), modes, more),
        reading.value(rules),
    )
    try:
        found = _known.get(key)
    except TypeError:
        return trace()
    if found is None:
        while len(_known) >= _MOST:
            del _known[next(iter(_known))]
        # What is known by its identity has to live as long as that is asked for.
        found = _known[key] = trace(), reading.alive
    return found[0]


class _Reading:
    """Reads what values are known by, and holds those that are known by their identity."""

    def __init__(self) -> None:
        self.alive: list[Any] = []
        self._open: list[types.FunctionType] = []

    def value(self, value: Any) -> Any:
        """What a value is known by."""
        match value:
            case None | bool() | int() | float() | complex() | str() | bytes():
                return type(value), repr(value)
            case np.generic():
                return type(value), value.tobytes()
            case tuple() | list():
                return type(value), tuple(map(self.value, value))
            case types.FunctionType():
                return self._function(value)
            case types.MethodType():
                return self.value((value.__func__, value.__self__))
            case functools.partial():
                given = value.args, tuple(value.keywords.items())
                return self.value((value.func, given))
        kind = type(value)
        if kind.__module__.startswith("jax._src") or kind is object:
            if kind.__name__ in _OF_ONE_TRACE:
                return kind
            if kind.__name__ == "WrappedFun":
                parts = value.f, value.transforms, value.params, value.in_type
                return kind, self.value(parts)
            if kind.__name__ == "Unhashable":
                return kind, self.value(value.val)
        if kind.__name__ in ("ShapedArray", "PyTreeDef"):
            return kind, value
        self.alive.append(value)
        return _Same(id(value))

    def _function(self, function: types.FunctionType) -> Any:
        """Its code and what it holds; not what jax remembers of its results."""
        if any(function is other for other in self._open):
            return "itself", function.__code__
        self._open.append(function)
        self.alive.append(function.__globals__)
        given = function.__defaults__, tuple((function.__kwdefaults__ or {}).items())
        remembers = function.__module__.startswith("jax._src")
        titles = function.__code__.co_freevars
        held = [
            (title, self.value(value))
            for title, value in zip(
                titles, map(_held, function.__closure__ or ()), strict=True
            )
            if not (remembers and isinstance(value, dict))
        ]
        self._open.pop()
        own = function.__code__, id(function.__globals__)
        return own, self.value(given), tuple(held)


def _held(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
