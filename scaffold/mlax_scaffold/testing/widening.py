"""Where a traced program computes in a dtype that is wider than that of 16-bit inputs, and with what."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn, Var

from mlax_scaffold.testing import _jaxprs

_PASSING = ("broadcast_in_dim", "copy", "reshape", "squeeze", "transpose")
"""What a number goes through before it meets another one in the same expression."""


@dataclass(frozen=True)
class Widening:
    """An expression that is computed in a wider dtype."""

    path: str
    line: int
    span: tuple[int, int, int]
    """The column of the expression, and the line and the column where it ends."""
    wide: int | None
    """Which operand is the wider one; None: that cannot be told."""


def widenings(
    jaxpr: Jaxpr, paths: Container[str], function: str, *, meant: bool = False
) -> Iterator[Widening]:
    """The expressions of some files that a function of theirs runs, in the order in which they are traced.

    Where wider dtypes are `meant`, they are those in which 16-bit numbers meet wider ones.
    """
    for eqn in jaxpr.eqns:
        frames = [f for f in _frames(eqn) if f.file_name in paths]
        within = any(f.function_name.rpartition(".")[2] == function for f in frames)
        inner = [sub.jaxpr for sub in _jaxprs.sub_jaxprs(eqn)]
        # What a jitted function of jax traced is remembered with the place of its first call.
        whole = eqn.primitive.name in ("jit", "pjit")
        # A callback makes nothing.
        if within and eqn.outvars and (whole or not inner):
            wide = _of_function(eqn, inner) if whole else _of_operation(jaxpr.eqns, eqn)
            if meant and not any(_meets(e) for e in (eqn, *_eqns(inner))):
                wide = _NOTHING
            innermost = _frames(eqn)[0]
            if wide is not _NOTHING and innermost.file_name in paths:
                span = (
                    innermost.start_column,
                    innermost.end_line,
                    innermost.end_column,
                )
                yield Widening(innermost.file_name, innermost.start_line, span, wide)
                continue
        for sub in inner:
            yield from widenings(sub, paths, function, meant=meant)


_NOTHING = -1
"""In the place of an operand: none is wider."""


def _eqns(jaxprs: Sequence[Jaxpr]) -> list[JaxprEqn]:
    return [eqn for jaxpr in jaxprs for eqn in jaxpr.eqns]


def _meets(eqn: JaxprEqn) -> bool:
    """Whether 16-bit numbers become wider."""
    if eqn.primitive.name != "convert_element_type" or not _is_wide(eqn.outvars[0]):
        return False
    dtype = eqn.invars[0].aval.dtype  # type: ignore[attr-defined]
    return bool(jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize == 2)


def _of_operation(eqns: Sequence[JaxprEqn], eqn: JaxprEqn) -> int | None:
    """The wider operand of the expression that an operation belongs to."""
    (made, *_) = eqn.outvars
    cast = eqn.primitive.name == "convert_element_type"
    if cast and _is_wide(made) and not _is_wide(eqn.invars[0]):
        if not jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.number):  # type: ignore[attr-defined]
            return _NOTHING
        place = _place(eqns, eqn)
        return None if place is None else 1 - place
    wide = [i for i, v in enumerate(eqn.invars) if _is_wide(v)]
    if not wide or (cast and not _is_wide(made)):
        return _NOTHING
    return _place(eqns, eqn) if eqn.primitive.name in _PASSING else wide[0]


def _of_function(eqn: JaxprEqn, inner: Sequence[Jaxpr]) -> int | None:
    """The wider operand of a function that is traced by itself."""
    wide = [i for i, v in enumerate(eqn.invars) if _is_wide(v)]
    casts = [e for e in _eqns(inner) if e.primitive.name == "convert_element_type"]
    if not wide and not any(_is_wide(e.outvars[0]) for e in casts):
        return _NOTHING
    return wide[0] if wide else None


def _place(eqns: Sequence[JaxprEqn], first: JaxprEqn) -> int | None:
    """Which operand of two the result of an operation becomes; None where it is neither."""
    names: list[Any] = [first.outvars[0]]
    for eqn in eqns[eqns.index(first) + 1 :]:
        places = [i for i, v in enumerate(eqn.invars) if _is_one(v, names)]
        if not places:
            continue
        if eqn.primitive.name in _PASSING:
            names += eqn.outvars
        else:
            return places[0] if len(eqn.invars) == 2 and len(places) == 1 else None
    return None


def _is_wide(value: Any) -> bool:
    """Whether it is in a wider dtype; a number of Python, and what is computed of such, has none."""
    aval = value.aval
    wide = jnp.issubdtype(aval.dtype, jnp.floating) and aval.dtype.itemsize > 2
    return bool(wide and (aval.shape or not aval.weak_type))


def _is_one(value: Any, names: Sequence[Any]) -> bool:
    return isinstance(value, Var) and any(value is name for name in names)


def _frames(eqn: JaxprEqn) -> Sequence[Any]:
    try:
        from jax._src import source_info_util

        traceback: Any = eqn.source_info.traceback
        return list(source_info_util.user_frames(traceback))
    except Exception:  # what is private may be gone in another version
        return ()
