"""The contract of PRNG keys: none is used twice. Judged on jaxprs, without the spec.

Every typed key of a program gets a number, and is followed by it: through what moves keys, into
functions, into each step of a loop and each branch. A key that is drawn from, or split, is used. The
results of a branch, and of a choice between keys, are either of them. Keys at indices that the program
computes are not followed: each is taken to be another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

from mlax_scaffold.testing._jaxprs import (
    IDENTITIES,
    scan_parts,
    source_line,
    sub_jaxprs,
)

Numbers = np.ndarray | None
"""Those of the keys of an array; None for arrays of anything else."""


def assert_key_is_used_once(
    function: Callable[..., Any], *args: Any, what: str
) -> None:
    """No key is drawn from or split twice, those that are split off it included.

    Args:
        function: of arrays and typed keys.
        *args: what it is traced on, arrays or `jax.ShapeDtypeStruct`.
        what: what the message calls it.
    """
    assert_program_uses_keys_once(jax.make_jaxpr(function)(*args), what)


def assert_program_uses_keys_once(program: ClosedJaxpr, what: str) -> None:
    """The same of a function that has been traced."""
    keys = _Keys(what)
    inputs = [None for _ in program.jaxpr.invars]
    keys.run(program.jaxpr, program.consts, inputs)


class _Keys:
    """The keys of a program, and which of them have been used."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.count = 0
        self.used: set[int] = set()
        self.folded: dict[tuple[int, int], int] = {}
        self.choices: dict[int, frozenset[int]] = {}
        self.constants: dict[int, Numbers] = {}

    def run(
        self, jaxpr: Jaxpr, consts: Sequence[Any], given: Sequence[Numbers]
    ) -> list[Numbers]:
        """Follow the keys of the inputs, and return those of the outputs."""
        values: dict[Any, Numbers] = {}
        for var, const in zip(jaxpr.constvars, consts, strict=False):
            if _is_key(var) and id(const) not in self.constants:
                self.constants[id(const)] = self.fresh(var)
            values[var] = self.constants.get(id(const))
        for var, numbers in zip(jaxpr.invars, given, strict=True):
            values[var] = self._fitting(var, numbers)

        def read(var: Any) -> Numbers:
            return None if isinstance(var, Literal) else values.get(var)

        for eqn in jaxpr.eqns:
            if _has_keys(eqn):
                results = self._call(eqn, [read(v) for v in eqn.invars])
                values.update(zip(eqn.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def fresh(self, var: Any) -> Numbers:
        """Keys that there were not before."""
        if not _is_key(var):
            return None
        start = self.count
        self.count += int(np.prod(var.aval.shape, dtype=int))
        return np.arange(start, self.count).reshape(var.aval.shape)

    def use(self, numbers: Numbers, eqn: JaxprEqn) -> None:
        """Draw from keys, or split them."""
        for number in () if numbers is None else numbers.flat:
            ones = self.choices.get(int(number), {int(number)})
            if self.used & ones:
                where = source_line(eqn)
                raise AssertionError(
                    f"{self.what} uses a PRNG key twice, so that it draws the same numbers"
                    + (f": {where}" if where else "")
                )
            self.used |= ones

    def _fitting(self, var: Any, numbers: Numbers) -> Numbers:
        """Those of an argument, where its shape is that of the input."""
        if numbers is None or numbers.shape != var.aval.shape:
            return self.fresh(var)
        return numbers

    def _call(self, eqn: JaxprEqn, given: list[Numbers]) -> list[Numbers]:
        match name := eqn.primitive.name:
            case "random_fold_in":
                return [self._fold(eqn, given[0])]
            case "select_n":
                return [self._either(given[1:])]
            case "cond":
                return self._branches(eqn, given[1:])
            case "scan":
                return self._scan(eqn, given)
            case "while":
                return self._while(eqn, given)
            case _ if name in _MOVING:
                return [_MOVING[name](eqn.params, *given)]
            case _ if name in IDENTITIES or name == "device_put":
                return given
        if name not in _FRESH:
            if subs := sub_jaxprs(eqn):
                return self._function(eqn, subs, given)
            for numbers in given:
                self.use(numbers, eqn)
        return [self.fresh(v) for v in eqn.outvars]

    def _function(
        self, eqn: JaxprEqn, subs: Sequence[Any], given: list[Numbers]
    ) -> list[Numbers]:
        results = [self.fresh(v) for v in eqn.outvars]
        for sub in subs:
            inputs = [None if i is None else given[i] for i in sub.operands]
            made = self.run(sub.jaxpr, sub.consts, inputs)
            for place, numbers in zip(sub.results, made, strict=True):
                if place is not None:
                    results[place] = self._fitting(eqn.outvars[place], numbers)
        return results

    def _fold(self, eqn: JaxprEqn, keys: Numbers) -> Numbers:
        """The same number in the same key is the same key."""
        number = eqn.invars[1]
        made = self.fresh(eqn.outvars[0])
        if keys is None or made is None or not isinstance(number, Literal):
            return made
        folded = [
            self.folded.setdefault((int(key), int(number.val)), int(new))
            for key, new in zip(keys.flat, made.flat, strict=True)
        ]
        return np.asarray(folded, int).reshape(made.shape)

    def _either(self, cases: Sequence[Numbers]) -> Numbers:
        """Keys of which each is one of several."""
        first, *others = (numbers for numbers in cases if numbers is not None)
        made = first.copy()
        for place, numbers in enumerate(
            zip(first.flat, *(o.flat for o in others), strict=True)
        ):
            ones = [self.choices.get(int(n), frozenset({int(n)})) for n in numbers]
            if len({*numbers}) > 1:
                made.flat[place] = self.count
                self.choices[self.count] = frozenset().union(*ones)
                self.count += 1
        return made

    def _branches(self, eqn: JaxprEqn, given: list[Numbers]) -> list[Numbers]:
        """What any of the branches uses is used: one of them runs."""
        before, after, results = self.used, set[int](), []
        for branch in eqn.params["branches"]:
            self.used = set(before)
            results.append(self.run(branch.jaxpr, branch.consts, given))
            after |= self.used
        self.used = after
        return [
            self._either(made) if _is_key(var) else None
            for var, made in zip(eqn.outvars, zip(*results, strict=True), strict=True)
        ]

    def _scan(self, eqn: JaxprEqn, given: list[Numbers]) -> list[Numbers]:
        body, length = eqn.params["jaxpr"], eqn.params["length"]
        n_consts, n_carry = scan_parts(eqn)
        consts, xs = given[:n_consts], given[n_consts + n_carry :]
        carry = given[n_consts : n_consts + n_carry]
        rows: list[list[Numbers]] = []
        for step in range(length):
            parts = [None if x is None else x[step] for x in xs]
            made = self.run(body.jaxpr, body.consts, [*consts, *carry, *parts])
            carry = made[:n_carry]
            rows.append(made[n_carry:])
        ys = [self.fresh(v) for v in eqn.outvars[n_carry:]]
        for place, column in enumerate(zip(*rows, strict=True)):
            if ys[place] is not None:
                ys[place] = np.stack([part for part in column if part is not None])
        return [*carry, *ys]

    def _while(self, eqn: JaxprEqn, given: list[Numbers]) -> list[Numbers]:
        """Two passes: the second one sees what the first one leaves."""
        test, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
        of_test, of_both = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        of_both += of_test
        carry = given[of_both:]
        for _ in range(2):
            self.run(test.jaxpr, test.consts, [*given[:of_test], *carry])
            inputs = [*given[of_test:of_both], *carry]
            carry = self.run(body.jaxpr, body.consts, inputs)
        return carry


def _is_key(var: Any) -> bool:
    dtype = getattr(var.aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)


def _has_keys(eqn: JaxprEqn) -> bool:
    """Whether keys are among the operands and results of an eqn, or are used inside of it."""
    if any(map(_is_key, (*eqn.invars, *eqn.outvars))):
        return True
    return any(any(map(_has_keys, sub.jaxpr.eqns)) for sub in sub_jaxprs(eqn))


def _broadcast(params: Any, keys: Any, *_: Any) -> Any:
    """As of `jax.lax.broadcast_in_dim`."""
    shape = [1] * len(params["shape"])
    for axis, size in zip(params["broadcast_dimensions"], keys.shape, strict=True):
        shape[axis] = size
    return np.broadcast_to(keys.reshape(shape), params["shape"])


def _slice(params: Any, keys: Any) -> Any:
    """As of `jax.lax.slice`."""
    starts, limits = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or [None] * len(starts)
    return keys[tuple(map(slice, starts, limits, strides))]


_MOVING: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda params, *keys: np.concatenate(keys, params["dimension"]),
    "convert_element_type": lambda params, keys: keys,
    "reshape": lambda params, keys, *_: keys.reshape(params["new_sizes"]),
    "rev": lambda params, keys: np.flip(keys, params["dimensions"]),
    "slice": _slice,
    "squeeze": lambda params, keys: np.squeeze(keys, params["dimensions"]),
    "stack": lambda params, *keys: np.stack(keys, params["axis"]),
    "transpose": lambda params, keys: np.transpose(keys, params["permutation"]),
}
"""Primitives that move keys, and what they do with their numbers."""

_FRESH = frozenset(
    {
        "debug_callback",
        "dynamic_slice",
        "dynamic_update_slice",
        "eq",
        "gather",
        "ne",
        "random_clone",
        "random_seed",
        "random_unwrap",
        "random_wrap",
        "scatter",
    }
)
"""Those that use no key; keys that they return are taken to be others."""
