"""Whether two results of a traced program are the same value, whatever its inputs are."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from mlax_scaffold.testing._jaxprs import CUSTOM_RULES

INLINED = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat2": "jaxpr",
    **dict.fromkeys(CUSTOM_RULES, "call_jaxpr"),
}
"""Primitives that return what their jaxpr returns, and the name of that parameter."""


def output_numbers(jaxpr: ClosedJaxpr) -> list[int]:
    """A number for each output: equal numbers are equal values (value numbering).

    The converse does not hold: two ways to compute a value have different numbers. Only
    the same primitives of the same values with the same parameters have the same ones.
    """
    numbering = _Numbering()
    inputs = [numbering.new() for _ in jaxpr.jaxpr.invars]
    return numbering.outputs(jaxpr.jaxpr, jaxpr.consts, inputs)


class _Numbering:
    """The numbers that were given to values, by how these are computed."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.count = itertools.count()
        # Objects that are known by their identity have to live as long as the numbers.
        self.alive: list[Any] = []

    def new(self) -> int:
        """A number that nothing else has."""
        return next(self.count)

    def number(self, key: Any) -> int:
        """The number of what is computed so; a key without a hash equals no other."""
        try:
            known = self.numbers.get(key)
            if known is None:
                known = self.numbers[key] = self.new()
        except TypeError:
            return self.new()
        return known

    def outputs(
        self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[int]
    ) -> list[int]:
        """The numbers of the outputs of `jaxpr`, given those of its inputs."""
        known: dict[Var, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            known[var] = self.number(("const", self.value(const)))

        def read(v: Var | Literal) -> int:
            if isinstance(v, Literal):
                array = np.asarray(v.val, v.aval.dtype)  # pyright: ignore[reportAttributeAccessIssue]
                return self.number(("literal", self.value(array)))
            return known[v]

        for eqn in jaxpr.eqns:
            results = self.results(eqn, [read(v) for v in eqn.invars])
            known.update(zip(eqn.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def results(self, eqn: JaxprEqn, operands: Sequence[int]) -> list[int]:
        """The numbers of the results of an eqn, given those of its operands."""
        if eqn.effects:
            return [self.new() for _ in eqn.outvars]
        if name := INLINED.get(eqn.primitive.name):
            inner = eqn.params.get(name)
            if isinstance(inner, ClosedJaxpr):
                return self.outputs(inner.jaxpr, inner.consts, operands)
            if isinstance(inner, Jaxpr) and not inner.constvars:
                return self.outputs(inner, (), operands)
        params = tuple((n, self.value(v)) for n, v in sorted(eqn.params.items()))
        whole = self.number((eqn.primitive.name, params, tuple(operands)))
        return [self.number(("result", whole, i)) for i in range(len(eqn.outvars))]

    def value(self, value: Any) -> Any:
        """What a parameter or a constant is known by."""
        match value:
            case ClosedJaxpr():
                return self.function(value.jaxpr, value.consts)
            case Jaxpr():
                if value.constvars:
                    return object()
                return self.function(value, ())
            case Mapping():
                items = ((name, self.value(v)) for name, v in value.items())
                return type(value), tuple(sorted(items, key=lambda item: str(item[0])))
            case tuple() | list():
                return type(value), tuple(map(self.value, value))
            case float() | complex():
                return type(value), repr(value)
            case _ if hasattr(value, "__array__") and not _is_key(value):
                array = np.asarray(value)
                return "array", array.shape, array.dtype, array.tobytes()
            case _:
                self.alive.append(value)
                # 1 and True are equal, and are not the same.
                return type(value), value

    def function(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> Any:
        """What a jaxpr that is not inlined is known by: how it computes its outputs."""
        inputs = [
            self.number(("input", i, str(v.aval))) for i, v in enumerate(jaxpr.invars)
        ]
        return "function", tuple(inputs), tuple(self.outputs(jaxpr, consts, inputs))


def _is_key(value: Any) -> bool:
    return jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)
