"""Which outputs of a jaxpr its values are needed by, and which of them are between integers."""

from __future__ import annotations

from collections.abc import Sequence

import jax
from jax.extend.core import Jaxpr, JaxprEqn, Literal, Var

from mlax_scaffold.testing._jaxprs import (
    TRANSPARENT,
    SubJaxpr,
    carries,
    is_inexact,
    sub_jaxprs,
    sub_outputs,
)


def needed_at_most_by(jaxpr: Jaxpr, outputs: Sequence[bool]) -> set[Var]:
    """The variables of eqns on which no output depends but the marked ones.

    Those on which none depends are among them: linearization leaves such behind.
    """
    needed, _ = _needed(jaxpr, [not marked for marked in outputs])
    return {v for eqn in jaxpr.eqns for v in eqn.outvars} - needed


def inputs_read(jaxpr: Jaxpr) -> list[bool]:
    """Which inputs something is computed of that becomes an output: not what is returned as it is."""
    given = {*jaxpr.invars}
    made = [isinstance(v, Var) and v not in given for v in jaxpr.outvars]
    return _needed(jaxpr, made)[1]


def sub_kept(eqn: JaxprEqn, sub: SubJaxpr, kept: Sequence[bool]) -> list[bool]:
    """Which outputs of `sub` are kept and nothing else, given which results are.

    An output that cannot be followed is not, nor the carry of a loop that another output
    depends on in the next turn.
    """
    others = [p is None or not kept[p] for p in sub.results]
    return [not needed for needed in _through_loop(eqn, sub, others)]


def _needed(jaxpr: Jaxpr, outputs: Sequence[bool]) -> tuple[set[Var], list[bool]]:
    """The variables that the marked outputs depend on, and which inputs are among them."""
    needed = {
        v
        for v, marked in zip(jaxpr.outvars, outputs, strict=True)
        if marked and not isinstance(v, Literal)
    }
    for eqn in reversed(jaxpr.eqns):
        results = [v in needed for v in eqn.outvars]
        if any(results):
            operands = _needed_operands(eqn, results)
            needed.update(
                v
                for v, read in zip(eqn.invars, operands, strict=True)
                if read and not isinstance(v, Literal)
            )
    return needed, [v in needed for v in jaxpr.invars]


def _needed_operands(eqn: JaxprEqn, results: Sequence[bool]) -> list[bool]:
    subs = sub_jaxprs(eqn)
    known = all(p is not None for sub in subs for p in sub.operands)
    if eqn.primitive.name not in TRANSPARENT or not subs or not known:
        return [True] * len(eqn.invars)
    read = [False] * len(eqn.invars)
    # What no sub-jaxpr takes, such as the index of a cond, decides all results.
    taken = {p for sub in subs for p in sub.operands}
    for position in range(len(eqn.invars)):
        read[position] = position not in taken
    for sub in subs:
        outputs = _through_loop(eqn, sub, sub_outputs(sub, results))
        _, inputs = _needed(sub.jaxpr, outputs)
        for position, needed in zip(sub.operands, inputs, strict=True):
            if needed and position is not None:
                read[position] = True
    return read


def _through_loop(eqn: JaxprEqn, sub: SubJaxpr, outputs: Sequence[bool]) -> list[bool]:
    """The marked outputs, with the carries that they depend on in later turns."""
    outputs = list(outputs)
    places = [
        (sub.operands.index(c.operand), sub.results.index(c.result))
        for c in carries(eqn)
        if c.operand in sub.operands and c.result in sub.results
    ]
    for position in _condition_reads(eqn):
        for operand, result in places:
            if sub.operands[operand] == position:
                outputs[result] = True
    changed = bool(places)
    while changed:
        changed = False
        _, inputs = _needed(sub.jaxpr, outputs)
        for operand, result in places:
            if inputs[operand] and not outputs[result]:
                outputs[result] = changed = True
    return outputs


def _condition_reads(eqn: JaxprEqn) -> set[int]:
    """The operands of a while loop that decide how often it turns."""
    if eqn.primitive.name != "while":
        return set()
    reads: set[int] = set()
    for sub in sub_jaxprs(eqn):
        # The condition gives no result of the loop.
        if sub.results == [None]:
            _, inputs = _needed(sub.jaxpr, [True])
            pairs = zip(sub.operands, inputs, strict=True)
            reads |= {p for p, needed in pairs if needed and p is not None}
    return reads


def between_integers(jaxpr: Jaxpr) -> set[Var]:
    """The inexact variables that are computed of integers and booleans alone, and only for such.

    As in the bucket of a distance, `jnp.log(n.astype(jnp.float32)).astype(jnp.int32)`. Random
    numbers, whose bits are integers, are none of them.
    """
    found: set[Var] = set()
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "bitcast_convert_type" or any(
            map(_is_key, eqn.invars)
        ):
            continue
        if all(v in found for v in _inexact(eqn.invars)):
            found.update(_inexact(eqn.outvars))
    found -= {v for v in jaxpr.outvars if isinstance(v, Var)}
    # Every reader stands behind what it reads.
    for eqn in reversed(jaxpr.eqns):
        if not found.issuperset(_inexact(eqn.outvars)):
            found -= set(_inexact(eqn.invars))
    return found


def is_between_integers(eqn: JaxprEqn, found: set[Var]) -> bool:
    """Whether all inexact variables of an eqn are among those, and one is there."""
    inexact = [*_inexact(eqn.invars), *_inexact(eqn.outvars)]
    return bool(inexact) and found.issuperset(inexact)


def _is_key(variable: Var | Literal) -> bool:
    dtype = getattr(variable.aval, "dtype", bool)
    return jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)


def _inexact(variables: Sequence[Var | Literal]) -> list[Var]:
    return [
        v
        for v in variables
        if isinstance(v, Var) and is_inexact(getattr(v.aval, "dtype", bool))
    ]
