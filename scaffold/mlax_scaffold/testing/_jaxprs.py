"""The structure of jaxprs: which eqns hold others, and how values flow through them."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun

from mlax_scaffold.testing._rules_known import traced_once

TRANSPARENT = frozenset(
    {
        "checkpoint",
        "closed_call",
        "cond",
        "core_call",
        "custom_jvp_call",
        "custom_jvp_call_jaxpr",
        "custom_lin",
        "custom_linear_solve",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "jit",
        "linear_call",
        "pjit",
        "remat",
        "remat2",
        "run_state",
        "scan",
        "shard_map",
        "while",
        "xla_call",
    }
)
"""Primitives that only call their jaxprs and do not compute with their operands."""

IDENTITIES = frozenset(
    {
        "copy",
        "copy_p",
        "mesh_cast",
        "name",
        "optimization_barrier",
        "pvary",
        "reshard",
        "sharding_constraint",
    }
)
"""Primitives that return their operands, one result for each."""

CUSTOM_RULES = frozenset(
    {
        "custom_jvp_call",
        "custom_jvp_call_jaxpr",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
    }
)
"""Primitives that hold derivative rules as Python callables."""


class SubJaxpr(NamedTuple):
    """A jaxpr in the params of an eqn, and where its values come from and go to.

    `operands[i]` is the position of the eqn's operand that the i-th input gets, and
    `results[i]` that of the eqn's result that the i-th output becomes; None: not known.
    """

    jaxpr: Jaxpr
    consts: Sequence[Any]
    operands: Sequence[int | None]
    results: Sequence[int | None]


def sub_jaxprs(eqn: JaxprEqn) -> list[SubJaxpr]:
    """Every jaxpr in the params of `eqn`, also in tuples, lists and mappings."""
    found = []
    for name, jaxpr, consts in _jaxprs_in(eqn.params):
        operands, results = _wiring(eqn, name, jaxpr)
        found.append(SubJaxpr(jaxpr, consts, operands, results))
    return found


def reaching(jaxpr: Jaxpr, out_reaches: Sequence[bool]) -> tuple[set[Var], list[bool]]:
    """The variables of `jaxpr` that become outputs without being computed with.

    `out_reaches` says which outputs count. Also returned: which inputs are among them.
    """
    reach = {
        v
        for v, counts in zip(jaxpr.outvars, out_reaches, strict=True)
        if counts and not isinstance(v, Literal)
    }
    for eqn in reversed(jaxpr.eqns):
        results = [v in reach for v in eqn.outvars]
        if not any(results):
            continue
        name = eqn.primitive.name
        if name in IDENTITIES and len(eqn.invars) == len(eqn.outvars):
            moved = results
        elif name in TRANSPARENT:
            moved = [False] * len(eqn.invars)
            for sub in sub_jaxprs(eqn):
                _, inputs = reaching(sub.jaxpr, sub_outputs(sub, results))
                for position, reaches in zip(sub.operands, inputs, strict=True):
                    if reaches and position is not None:
                        moved[position] = True
            for carry in carries(eqn):
                if results[carry.result]:
                    moved[carry.operand] = True
        else:
            continue
        reach.update(
            v
            for v, moves in zip(eqn.invars, moved, strict=True)
            if moves and not isinstance(v, Literal)
        )
    return reach, [v in reach for v in jaxpr.invars]


def sub_outputs(sub: SubJaxpr, results: Sequence[bool]) -> list[bool]:
    """Which outputs of `sub` reach an output, given which results of its eqn do.

    An output that cannot be followed is taken to do so.
    """
    return [p is None or results[p] for p in sub.results]


def custom_rules(
    jaxpr: Jaxpr, eqn: JaxprEqn, constant: Callable[[Any], bool] = lambda aval: False
) -> ClosedJaxpr | None:
    """The jaxpr of the VJP of an eqn with custom rules, which runs them.

    `jaxpr` is the one that `eqn` stands in; it is not differentiated by operands whose type is
    `constant`.

    None where there is nothing to differentiate or where the rules cannot be traced.
    """
    variables = list(dict.fromkeys(v for v in eqn.invars if not isinstance(v, Literal)))
    # The class of variables that are not read is not public.
    results = [v for v in eqn.outvars if type(v).__name__ != "DropVar"]
    alone = jaxpr.replace(
        constvars=[],
        invars=variables,
        outvars=results,
        eqns=[eqn],
        effects=eqn.effects,
    )
    call = jaxpr_as_fun(ClosedJaxpr(alone, ()))
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in variables]  # pyright: ignore[reportAttributeAccessIssue]
    inexact = [
        i for i, a in enumerate(avals) if is_inexact(a.dtype) and not constant(a)
    ]
    if not inexact:
        return None

    def derivative(*args):
        def of_inexact(*values):
            full = list(args)
            for i, value in zip(inexact, values, strict=True):
                full[i] = value
            return [y for y in call(*full) if is_inexact(y.dtype)]

        ys, vjp = jax.vjp(of_inexact, *(args[i] for i in inexact))
        return vjp(ys)

    def trace() -> ClosedJaxpr | None:
        try:
            return jax.make_jaxpr(derivative)(*avals)
        except Exception:
            # A rule that raises when it is traced alone (it may not be differentiable here,
            # or need a mesh) is no part of any program that this call is part of.
            return None

    return traced_once(eqn, tuple(inexact), trace)


def is_inexact(dtype: Any) -> bool:
    """Whether `dtype` is floating or complex; PRNG keys and float0 are neither."""
    return jax.numpy.issubdtype(dtype, jax.numpy.inexact)


def source_line(eqn: JaxprEqn) -> str:
    """`file:line (function)` of the innermost frame outside jax, or an empty string."""
    traceback = getattr(eqn.source_info, "traceback", None)
    for frame in getattr(traceback, "frames", ()):
        if not frame.file_name.startswith((_JAX_ROOT, _HERE)):
            return f"{frame.file_name}:{frame.line_num} ({frame.function_name})"
    return ""


_JAX_ROOT = os.path.dirname(jax.__file__) + os.sep
_HERE = os.path.dirname(__file__) + os.sep


class Carry(NamedTuple):
    """Positions of a loop's carry among the operands and the results of its eqn."""

    operand: int
    result: int


def carries(eqn: JaxprEqn) -> list[Carry]:
    """Where the initial values of loop carries stand, and their final values."""
    match eqn.primitive.name:
        case "scan":
            first, n = scan_parts(eqn)
        case "while":
            first = eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
            n = len(eqn.outvars)
        case _:
            return []
    return [Carry(first + i, i) for i in range(n)]


def scan_parts(eqn: JaxprEqn) -> tuple[int, int]:
    """How many operands of a scan are constants of its body, and how many its carry."""
    if "num_consts" in eqn.params:
        return eqn.params["num_consts"], eqn.params["num_carry"]
    # From jax 0.12 on the parameter holds the trees of constants, carry and inputs.
    consts, carry, _ = eqn.params["ft_in"].unpack()
    return len(consts), len(carry)


def _jaxprs_in(
    params: Any, name: str = ""
) -> Iterator[tuple[str, Jaxpr, Sequence[Any]]]:
    if isinstance(params, ClosedJaxpr):
        yield name, params.jaxpr, params.consts
    elif isinstance(params, Jaxpr):
        yield name, params, ()
    elif isinstance(params, Mapping):
        for key, value in params.items():
            yield from _jaxprs_in(value, name or str(key))
    elif isinstance(params, tuple | list):
        for value in params:
            yield from _jaxprs_in(value, name)
    elif dataclasses.is_dataclass(params) and not isinstance(params, type):
        for field in dataclasses.fields(params):
            yield from _jaxprs_in(getattr(params, field.name, None), name)


def _wiring(
    eqn: JaxprEqn, name: str, jaxpr: Jaxpr
) -> tuple[Sequence[int | None], Sequence[int | None]]:
    n_in, n_out = len(jaxpr.invars), len(jaxpr.outvars)
    operands: Sequence[int | None] = [None] * n_in
    results: Sequence[int | None] = [None] * n_out
    match eqn.primitive.name:
        case "cond":
            operands = range(1, len(eqn.invars))
            results = range(len(eqn.outvars))
        case "while":
            n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
            carry = range(n_cond + n_body, len(eqn.invars))
            if name == "cond_jaxpr":
                operands = [*range(n_cond), *carry]
            else:
                operands = [*range(n_cond, n_cond + n_body), *carry]
                results = range(len(eqn.outvars))
        case _:
            operands = range(len(eqn.invars))
            results = range(len(eqn.outvars))
    if len(operands) != n_in:
        operands = [None] * n_in
    if len(results) != n_out:
        results = [None] * n_out
    return operands, results


def variables(jaxpr: Jaxpr) -> Iterator[Var]:
    """The variables that the eqns and outputs of `jaxpr` read."""
    read = itertools.chain(*(eqn.invars for eqn in jaxpr.eqns), jaxpr.outvars)
    return (v for v in read if not isinstance(v, Literal))
