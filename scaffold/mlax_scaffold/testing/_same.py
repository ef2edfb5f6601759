"""Whether two results of a traced program are the same value, whatever its inputs are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from mlax_scaffold.testing._jaxprs import (
    CUSTOM_RULES,
    IDENTITIES,
    custom_rules,
    is_inexact,
    scan_parts,
)

INLINED = {
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat2": "jaxpr",
    **dict.fromkeys(CUSTOM_RULES, "call_jaxpr"),
}
"""Primitives that return what their jaxpr returns, and the name of that parameter."""

_CHECKPOINTS = ("checkpoint", "remat2")

COMMUTATIVE = frozenset(
    {"add", "add_any", "and", "eq", "max", "min", "mul", "ne", "or", "xor"}
)
"""Primitives that give the same for their two operands in either order."""


class Numbering:
    """The numbers that were given to values, by how these are computed (value numbering).

    Programs that share one can be compared, when their inputs have the same numbers: equal
    numbers are equal values. The converse does not hold: two ways to compute a value have
    different ones.
    """

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self._known: dict[int, np.ndarray] = {}
        self.count = itertools.count()
        # Objects that are known by their identity have to live as long as the numbers.
        self.alive: list[Any] = []
        self._eqns: list[tuple[int, JaxprEqn]] = []
        self._rules: set[Any] = set()
        self._follow = False
        self._depth = 0
        self.hidden = False
        """Whether something was numbered of which is not known how it is computed."""
        self.checkpoints: set[Any] = set()
        """How what a program computes anew for its gradients is said to be."""

    def program(
        self, jaxpr: ClosedJaxpr, inputs: Sequence[int]
    ) -> tuple[list[int], list[tuple[int, JaxprEqn]]]:
        """The numbers of the outputs, and of the first result of each eqn."""
        self._eqns, self.checkpoints = [], set()
        outputs = self.outputs(jaxpr.jaxpr, jaxpr.consts, inputs)
        return outputs, self._eqns

    def rules(
        self, jaxpr: ClosedJaxpr, inputs: Sequence[int]
    ) -> tuple[set[Any], list[tuple[int, JaxprEqn]]]:
        """What is known of the derivatives that functions in it have of their own, and their eqns."""
        self._rules, self._follow = set(), True
        try:
            _, eqns = self.program(jaxpr, inputs)
        finally:
            self._follow = False
        return self._rules, eqns

    def new(self) -> int:
        """A number that nothing else has."""
        return next(self.count)

    def unknown(self) -> int:
        """The same, for what cannot be looked into: effects, Python callbacks."""
        self.hidden = True
        return self.new()

    def number(self, key: Any) -> int:
        """The number of what is computed so; a key without a hash equals no other."""
        try:
            known = self.numbers.get(key)
            if known is None:
                known = self.numbers[key] = self.new()
        except TypeError:
            return self.unknown()
        return known

    def constant(self, value: Any) -> int:
        """The number of a value that is known; that of a single number is remembered."""
        found = self.number(("const", self.value(value)))
        array = isinstance(value, np.ndarray | jax.Array) and not _is_key(value)
        if array and value.shape == ():
            self._known[found] = np.asarray(value)
        return found

    def outputs(
        self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[int]
    ) -> list[int]:
        """The numbers of the outputs of `jaxpr`, given those of its inputs."""
        known: dict[Var, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            known[var] = self.constant(const)

        def read(v: Var | Literal) -> int:
            if isinstance(v, Literal):
                return self.constant(np.asarray(v.val, v.aval.dtype))  # pyright: ignore[reportAttributeAccessIssue]
            return known[v]

        for eqn in jaxpr.eqns:
            operands = [read(v) for v in eqn.invars]
            if self._follow and eqn.primitive.name in CUSTOM_RULES:
                self._note_rules(jaxpr, eqn, operands)
            results = self.results(eqn, operands)
            known.update(zip(eqn.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def results(self, eqn: JaxprEqn, operands: Sequence[int]) -> list[int]:
        """The numbers of the results of an eqn, given those of its operands."""
        if eqn.effects:
            return [self.unknown() for _ in eqn.outvars]
        if _returns_its_operands(eqn):
            return list(operands)
        primitive = eqn.primitive.name
        if primitive == "convert_element_type" and operands[0] in self._known:
            number = self._known[operands[0]]
            # A number that is infinite in float16 is so in both programs.
            with np.errstate(over="ignore"):
                return [self.constant(number.astype(eqn.params["new_dtype"]))]
        if primitive == "select_n" and len(set(operands[1:])) == 1:
            return [operands[1]]
        if primitive in COMMUTATIVE:
            operands = sorted(operands)
        if primitive in _CHECKPOINTS:
            params = eqn.params.get("prevent_cse"), eqn.params.get("policy")
            self.checkpoints.add(tuple(map(self.value, params)))
        if name := INLINED.get(primitive):
            inner = eqn.params.get(name)
            if isinstance(inner, ClosedJaxpr):
                return self.outputs(inner.jaxpr, inner.consts, operands)
            if isinstance(inner, Jaxpr) and not inner.constvars:
                return self.outputs(inner, (), operands)
        if primitive == "scan":
            return self._scan(eqn, operands)
        if primitive == "while":
            return self._while(eqn, operands)
        if primitive == "cond":
            return self._cond(eqn, operands)
        # Another function of Python may do the same.
        self.hidden |= any(map(_is_function, eqn.params.values()))
        params = tuple((n, self.value(v)) for n, v in sorted(_parameters(eqn).items()))
        whole = self.number((primitive, params, tuple(operands)))
        self._eqns.append((whole, eqn))
        return [self.number(("result", whole, i)) for i in range(len(eqn.outvars))]

    def _scan(self, eqn: JaxprEqn, operands: Sequence[int]) -> list[int]:
        """Those of a loop, in whatever order it is told what its steps use, carry and run over.

        What all steps use is known as outside. Carries that begin alike are told from each other by how
        a step computes them, until that tells no more: what is left are equations between carries, and
        loops that have the same ones compute the same.
        """
        consts, count = scan_parts(eqn)
        body = eqn.params["jaxpr"]
        self._depth += 1
        over = [
            self.number(("over", self._depth, n)) for n in operands[consts + count :]
        ]
        start = operands[consts : consts + count]

        def after(carries: Sequence[int]) -> list[int]:
            given = [*operands[:consts], *carries, *over]
            return self.outputs(body.jaxpr, body.consts, given)

        carried = body.jaxpr.invars[consts : consts + count]
        carries, made = self._carried(carried, start, after)
        self._depth -= 1
        equations = frozenset(zip(carries, start, made[:count], strict=True))
        how = tuple((name, eqn.params[name]) for name in ("length", "reverse"))
        whole = self.number(("scan", how, equations))
        results = [*carries, *(("each", n) for n in made[count:])]
        found = [self.number(("result", whole, result)) for result in results]
        self._eqns.append((found[0] if found else whole, eqn))
        return found

    def _while(self, eqn: JaxprEqn, operands: Sequence[int]) -> list[int]:
        """Those of a loop until a test fails, in the same way."""
        of_test, of_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
        used = operands[of_test : of_test + of_body]
        start = operands[of_test + of_body :]
        self._depth += 1

        def after(carries: Sequence[int]) -> list[int]:
            return self.outputs(body.jaxpr, body.consts, [*used, *carries])

        carries, made = self._carried(body.jaxpr.invars[of_body:], start, after)
        given = [*operands[:of_test], *carries]
        goes = tuple(self.outputs(test.jaxpr, test.consts, given))
        self._depth -= 1
        equations = frozenset(zip(carries, start, made, strict=True))
        whole = self.number(("while", goes, equations))
        found = [self.number(("result", whole, carry)) for carry in carries]
        self._eqns.append((found[0] if found else whole, eqn))
        return found

    def _carried(
        self,
        carried: Sequence[Var],
        start: Sequence[int],
        after: Callable[[Sequence[int]], list[int]],
    ) -> tuple[list[int], list[int]]:
        """The numbers of what a loop carries, told from each other, and of what a step makes of them."""
        known: list[Any] = [
            (str(v.aval), n) for v, n in zip(carried, start, strict=True)
        ]
        begin, seen, kinds = len(self._eqns), -1, 0
        carries: list[int] = []
        made: list[int] = []
        while kinds > seen:
            del self._eqns[begin:]
            carries = [self.number(("carry", self._depth, k)) for k in known]
            made = after(carries)
            seen, kinds = kinds, len(set(known))
            known = [(*k, n) for k, n in zip(known, made[: len(known)], strict=True)]
        return carries, made

    def _cond(self, eqn: JaxprEqn, operands: Sequence[int]) -> list[int]:
        """Those of what branches compute of what they are given, in whatever order it is told."""
        index, *given = operands
        branches = [
            tuple(self.outputs(branch.jaxpr, branch.consts, given))
            for branch in eqn.params["branches"]
        ]
        whole = self.number(("cond", index, tuple(branches)))
        found = [
            self.number(("chosen", index, results))
            for results in zip(*branches, strict=True)
        ]
        self._eqns.append((found[0] if found else whole, eqn))
        return found

    def _note_rules(self, jaxpr: Jaxpr, eqn: JaxprEqn, operands: Sequence[int]) -> None:
        # What the rules call has rules again, and so on for ever.
        self._follow = False
        try:
            derivative = custom_rules(jaxpr, eqn)
            if derivative is not None:
                # It takes each variable once, and its cotangents are the results.
                places = {
                    v: i
                    for v, i in zip(eqn.invars, operands, strict=True)
                    if isinstance(v, Var)
                }
                known = self.outputs(
                    derivative.jaxpr, derivative.consts, [*places.values()]
                )
                inexact = [n for v, n in places.items() if is_inexact(v.aval.dtype)]  # pyright: ignore[reportAttributeAccessIssue]
                self._rules |= set(zip(inexact, known, strict=True))
        finally:
            self._follow = True

    def value(self, value: Any) -> Any:
        """What a parameter or a constant is known by."""
        match value:
            case ClosedJaxpr():
                return self.function(value.jaxpr, value.consts)
            case Jaxpr():
                if value.constvars:
                    self.hidden = True
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


def _parameters(eqn: JaxprEqn) -> Mapping[str, Any]:
    """The parameters of an eqn; those that say the same in two ways say it in one."""
    strides = eqn.params.get("strides")
    if eqn.primitive.name == "slice" and strides is not None and set(strides) <= {1}:
        return {**eqn.params, "strides": None}
    return eqn.params


def _returns_its_operands(eqn: JaxprEqn) -> bool:
    """Whether the results are the operands, such as those of a cast to the same dtype."""
    name, operands, results = eqn.primitive.name, eqn.invars, eqn.outvars
    if name in IDENTITIES:
        return len(operands) == len(results)
    if name == "transpose":
        permutation = tuple(eqn.params["permutation"])
        return permutation == tuple(range(len(permutation)))
    if name not in _UNCHANGING or len(operands) != 1:
        return False
    [operand], [result] = operands, results
    return _type(operand) == _type(result)


_UNCHANGING = frozenset(
    {"broadcast_in_dim", "convert_element_type", "reshape", "slice", "squeeze"}
)
"""Primitives that return their operand where that has the type of the result."""


def _type(variable: Any) -> tuple[tuple[int, ...], Any]:
    return variable.aval.shape, variable.aval.dtype


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _is_key(value: Any) -> bool:
    return jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)
