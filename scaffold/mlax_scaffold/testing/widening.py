"""Where a traced program computes in another dtype than that of its inputs, and with what."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn, Var
from jax.typing import DTypeLike

from mlax_scaffold.testing import _jaxprs
from mlax_scaffold.testing.dtypes import is_inexact, real
from mlax_scaffold.testing.sums import narrow

_PASSING = ("broadcast_in_dim", "copy", "reshape", "squeeze", "transpose")
"""What a number goes through before it meets another one in the same expression."""

What = Literal["operand", "array", "sum"]


@dataclass(frozen=True)
class Widening:
    """An expression that is computed in another dtype, or a sum of 16-bit numbers."""

    path: str
    line: int
    span: tuple[int, int, int]
    """The column of the expression, and the line and the column where it ends."""
    wide: int | None
    """Which operand has the other dtype; None: that cannot be told."""
    what: What = "operand"
    """An operand has another dtype, or the array that is made of numbers; or it is a sum."""
    meets: bool = False
    """Whether numbers of the dtype become wider there: the other operand has the dtype."""


def widenings(
    jaxpr: Jaxpr, paths: Container[str], dtype: DTypeLike, *, meant: bool = False
) -> Iterator[Widening]:
    """The expressions of some files that are not computed in a dtype, in the order in which they are traced.

    Then those that make arrays of numbers alone, and those that add 16-bit numbers one after another.
    Where wider dtypes are `meant`, the first are those in which numbers of the dtype meet wider ones.
    """
    walk = _Walk(paths, jnp.dtype(dtype), meant)
    yield from walk.operations(jaxpr)
    yield from walk.filled(jaxpr)
    for eqn in narrow(jaxpr, gradients=False):
        yield from walk.place(eqn, None, "sum")


def is_suspicious(jaxpr: Jaxpr) -> bool:
    """Whether something may be computed in another dtype than that of 16-bit inputs, or is a sum of such."""

    def other(value: Any) -> bool:
        dtype = getattr(value.aval, "dtype", None)
        if dtype is None:
            return False
        kinds = jnp.floating, jnp.complexfloating
        return dtype.itemsize > 2 and any(jnp.issubdtype(dtype, k) for k in kinds)

    # How many are added at one place, sizes decide.
    added = ("scatter-add", "scatter_add")
    found = (
        any(map(other, e.outvars)) or e.primitive.name in added for e in jaxpr.eqns
    )
    inner = (s.jaxpr for e in jaxpr.eqns for s in _jaxprs.sub_jaxprs(e))
    return any(found) or any(narrow(jaxpr)) or any(map(is_suspicious, inner))


_NOTHING = -1
"""In the place of an operand: none has another dtype."""


@dataclass(frozen=True)
class _Walk:
    paths: Container[str]
    dtype: Any
    meant: bool

    def operations(self, jaxpr: Jaxpr) -> Iterator[Widening]:
        read = {id(v) for v in jaxpr.outvars}
        read.update(id(v) for eqn in jaxpr.eqns for v in eqn.invars)
        for eqn in jaxpr.eqns:
            inner = [sub.jaxpr for sub in _jaxprs.sub_jaxprs(eqn)]
            # What a jitted function of jax traced is remembered with the place of its first call.
            whole = eqn.primitive.name in ("jit", "pjit")
            # A callback makes nothing.
            used = any(id(v) in read for v in eqn.outvars)
            if used and (whole or not inner):
                wide = (
                    self._of_function(eqn, inner)
                    if whole
                    else self._of_operation(jaxpr.eqns, eqn)
                )
                meets = any(map(self._meets, (eqn, *_eqns(inner))))
                if self.meant and not meets:
                    wide = _NOTHING
                if wide != _NOTHING:
                    found = list(self.place(eqn, wide, "operand", meets))
                    yield from found
                    if found:
                        continue
            for sub in inner:
                yield from self.operations(sub)

    def filled(self, jaxpr: Jaxpr) -> Iterator[Widening]:
        for eqn in jaxpr.eqns:
            # A number that jax computed of numbers of Python is as much one.
            read = [v for v in eqn.invars if isinstance(v, Var) and not _is_number(v)]
            made = eqn.primitive.name == "broadcast_in_dim" and not read
            if made and self._is_other(eqn.outvars[0]):
                yield from self.place(eqn, None, "array")
            for sub in _jaxprs.sub_jaxprs(eqn):
                yield from self.filled(sub.jaxpr)

    def place(
        self, eqn: JaxprEqn, wide: int | None, what: What, meets: bool = False
    ) -> Iterator[Widening]:
        """Where an operation stands, if that is in one of the files."""
        innermost = next(iter(_frames(eqn)), None)
        if innermost is not None and innermost.file_name in self.paths:
            end = innermost.end_line, innermost.end_column
            span = innermost.start_column, *end
            yield Widening(
                innermost.file_name, innermost.start_line, span, wide, what, meets
            )

    def _meets(self, eqn: JaxprEqn) -> bool:
        """Whether numbers of the dtype become wider."""
        given = [v for v in eqn.invars if getattr(v.aval, "dtype", None) == self.dtype]
        cast = eqn.primitive.name == "convert_element_type"
        return bool(given) and any(
            map(self._is_wide, eqn.outvars if cast else eqn.invars)
        )

    def _of_operation(self, eqns: Sequence[JaxprEqn], eqn: JaxprEqn) -> int | None:
        """The operand in another dtype of the expression that an operation belongs to."""
        (made, *_) = eqn.outvars
        cast = eqn.primitive.name == "convert_element_type"
        if cast and self._is_wide(made) and not self._is_wide(eqn.invars[0]):
            given = eqn.invars[0].aval.dtype  # type: ignore[attr-defined]
            if not jnp.issubdtype(given, jnp.number):
                return _NOTHING
            place, user = _use(eqns, eqn)
            if place is None or user is None:
                return None
            # Integers among numbers of Python become wide by themselves.
            alone = jnp.issubdtype(given, jnp.integer)
            other = user.invars[1 - place]
            return place if alone and not self._is_wide(other) else 1 - place
        wide = [i for i, v in enumerate(eqn.invars) if self._is_wide(v)]
        integers = _integers(eqn) if self._is_wide(made) else []
        if integers and not wide and len(eqn.invars) == 2:
            return integers[0]
        if not wide or (cast and not self._is_wide(made)):
            return _NOTHING
        return _use(eqns, eqn)[0] if eqn.primitive.name in _PASSING else wide[0]

    def _of_function(self, eqn: JaxprEqn, inner: Sequence[Jaxpr]) -> int | None:
        """The operand in another dtype of a function that is traced by itself."""
        wide = [i for i, v in enumerate(eqn.invars) if self._is_wide(v)]
        casts = [e for e in _eqns(inner) if e.primitive.name == "convert_element_type"]
        if not wide and not any(self._is_wide(e.outvars[0]) for e in casts):
            return _NOTHING
        # Integers among numbers of Python become wide by themselves.
        return (*wide, *_integers(eqn), None)[0]

    def _is_wide(self, value: Any) -> bool:
        """Whether it has another dtype; a number of Python, and what is computed of such, has none."""
        aval = value.aval
        return self._is_other(value) and bool(aval.shape or not aval.weak_type)

    def _is_other(self, value: Any) -> bool:
        aval = value.aval
        inexact = hasattr(aval, "dtype") and is_inexact(aval)
        return inexact and real(aval.dtype) != self.dtype


def _is_number(value: Any) -> bool:
    """Whether it has no axes, and no dtype of its own."""
    return bool(not value.aval.shape and getattr(value.aval, "weak_type", False))


def _integers(eqn: JaxprEqn) -> list[int]:
    """The places of integers among what an operation is given."""
    kinds = [getattr(v.aval, "dtype", None) for v in eqn.invars]
    return [i for i, k in enumerate(kinds) if k and jnp.issubdtype(k, jnp.integer)]


def _eqns(jaxprs: Sequence[Jaxpr]) -> list[JaxprEqn]:
    return [eqn for jaxpr in jaxprs for eqn in jaxpr.eqns]


def _use(
    eqns: Sequence[JaxprEqn], first: JaxprEqn
) -> tuple[int | None, JaxprEqn | None]:
    """Which operand of two the result of an operation becomes, and in which; None where it is neither."""
    names: list[Any] = [first.outvars[0]]
    for eqn in eqns[eqns.index(first) + 1 :]:
        places = [i for i, v in enumerate(eqn.invars) if _is_one(v, names)]
        if not places:
            continue
        if eqn.primitive.name in _PASSING:
            names += eqn.outvars
        elif len(eqn.invars) == 2 and len(places) == 1:
            return places[0], eqn
        else:
            break
    return None, None


def _is_one(value: Any, names: Sequence[Any]) -> bool:
    return isinstance(value, Var) and any(value is name for name in names)


def _frames(eqn: JaxprEqn) -> Sequence[Any]:
    try:
        from jax._src import source_info_util

        traceback: Any = eqn.source_info.traceback
        return list(source_info_util.user_frames(traceback))
    except Exception:  # what is private may be gone in another version
        return ()
