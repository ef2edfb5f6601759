"""The audit of sums: which of them add 16-bit numbers one after another.

Such a sum rounds to 16 bits at every step, and so loses more with every element: on a CPU
257 ones in bfloat16 are 256. A product accumulates beyond 16 bits inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Var

from mlax_scaffold.testing import _jaxprs

_ADDING = frozenset(
    {
        "cumlogsumexp",
        "cumsum",
        "reduce_sum",
        "reduce_window_sum",
        "scatter-add",
        "scatter_add",
    }
)

_FEW = 4
"""As many steps of a loop may be added one after another: two roundings at most."""


def narrow_sums(closed_jaxpr: ClosedJaxpr, *, gradients: bool = True) -> list[str]:
    """The sums of a jaxpr, sub-jaxprs included, whose error grows with their elements.

    Those of floating numbers of at most 16 bits: over axes, along them, in windows, of
    updates of one element (the gradient of `x[indices]`, unless its indices are unique), and
    of the steps of a loop, where it has more than four (the gradient of what all steps use).
    Sums of a single element are none. Each is told with its dtype, its shape and its place.
    Without `gradients`, those that jax writes where the function differentiates are none, either.
    """
    found = narrow(closed_jaxpr.jaxpr, gradients=gradients)
    return list(dict.fromkeys(map(_told, found)))


def assert_no_narrow_sums(
    closed_jaxpr: ClosedJaxpr, *, gradients: bool = True, what: str
) -> None:
    """Raise AssertionError with a list of `narrow_sums`, if any, and what to write."""
    if found := narrow_sums(closed_jaxpr, gradients=gradients):
        raise AssertionError(
            f"{what}: {len(found)} of its sums add 16-bit numbers one after another, so "
            "that the error grows with their number. Write `sum`, `mean` and the like of "
            "mlax_scaffold.spec; where it is the gradient of a broadcast, as of the bias "
            "in y + bias, write y + spread(bias, y.shape), and of a weight in a loop, `scan` "
            "or `map_chunks`; where rows are added at indices, `add_at` or `segment_sum`.\n  "
            + "\n  ".join(found)
        )


def narrow(jaxpr: Jaxpr, *, gradients: bool = True) -> Iterator[JaxprEqn]:
    """The operations of `narrow_sums`."""
    for eqn in jaxpr.eqns:
        if not gradients and "transpose(" in str(eqn.source_info.name_stack):
            continue
        if eqn.primitive.name in _ADDING and _is_narrow(eqn):
            yield eqn
        if eqn.primitive.name == "scan" and eqn.params["length"] > _FEW:
            yield from _accumulated(eqn)
        for sub in _compiled(eqn):
            yield from narrow(sub.jaxpr, gradients=gradients)


def _compiled(eqn: JaxprEqn) -> list[_jaxprs.SubJaxpr]:
    """What an operation holds, but for what stands in for it in kernels written by hand.

    `jnp.diag` is a selection, and a sum only where Mosaic has none.
    """
    subs = _jaxprs.sub_jaxprs(eqn)
    platforms = eqn.params.get("branches_platforms") or (None,) * len(subs)
    return [s for s, on in zip(subs, platforms, strict=True) if on != ("mosaic",)]


def _accumulated(loop: JaxprEqn) -> Iterator[JaxprEqn]:
    """Sums of a loop that have a term of each step: carries that are nothing but added to."""
    body = loop.params["jaxpr"].jaxpr
    consts, carried = _jaxprs.scan_parts(loop)
    for i in range(carried):
        carry, after = body.invars[consts + i], body.outvars[i]
        users = [eqn for eqn in body.eqns if carry in _read(eqn)]
        if len(users) != 1 or users[0].primitive.name not in ("add", "add_any"):
            continue
        if after in users[0].outvars and _is_half(users[0]):
            yield users[0]


def _read(eqn: JaxprEqn) -> list[Var]:
    return [v for v in eqn.invars if isinstance(v, Var)]


def _is_half(eqn: JaxprEqn) -> bool:
    dtype = eqn.invars[0].aval.dtype  # pyright: ignore[reportAttributeAccessIssue]
    return jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits <= 16


def _is_narrow(eqn: JaxprEqn) -> bool:
    if not _is_half(eqn):
        return False
    return not eqn.params.get("unique_indices", False) and _terms(eqn) > 1


def _terms(eqn: JaxprEqn) -> int:
    """How many numbers are added up for one of the result."""
    shape = eqn.invars[0].aval.shape  # pyright: ignore[reportAttributeAccessIssue]
    if "axes" in eqn.params:
        return math.prod(shape[a] for a in eqn.params["axes"])
    if "axis" in eqn.params:
        return shape[eqn.params["axis"]]
    if "window_dimensions" in eqn.params:
        return math.prod(eqn.params["window_dimensions"])
    indices = eqn.invars[1].aval.shape[:-1]  # pyright: ignore[reportAttributeAccessIssue]
    # What `jax.vmap` maps adds to places of its own.
    mapped = eqn.params["dimension_numbers"].scatter_indices_batching_dims
    return math.prod(n for axis, n in enumerate(indices) if axis not in mapped)


def _told(eqn: JaxprEqn) -> str:
    operand = eqn.invars[0].aval
    source = _jaxprs.source_line(eqn)
    return f"{eqn.primitive.name} of {operand}{f' at {source}' if source else ''}"
