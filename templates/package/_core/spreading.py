"""Functions every broadcast of which is a `spread`, whose gradient is a sum that keeps its digits."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from .sums import spread


def is_half(x: Any) -> bool:
    """Whether it is floating, in 16 bits or less."""
    dtype = x.dtype if hasattr(x, "dtype") else jnp.result_type(x)
    return jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits <= 16


def spreading(function: Callable[[Any], Any], like: Any) -> Callable[[Any], Any]:
    """The function with every broadcast as a `spread`, for arguments like these.

    `jax.vmap` broadcasts by itself what it does not map.
    """
    program, shape = jax.make_jaxpr(function, return_shape=True)(like)
    structure = jax.tree.structure(shape)

    def run(arguments: Any) -> Any:
        leaves = jax.tree.leaves(arguments)
        return jax.tree.unflatten(structure, _evaluated(program, leaves))

    return run


def _evaluated(program: ClosedJaxpr, arguments: Sequence[Any]) -> list[Any]:
    jaxpr, known = program.jaxpr, {}
    known.update(zip(jaxpr.constvars, program.consts, strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))

    def value(variable: Any) -> Any:
        return variable.val if isinstance(variable, Literal) else known[variable]

    for eqn in jaxpr.eqns:
        variables = [v for v in eqn.invars if not isinstance(v, Literal)]
        given = [known[v] for v in variables]
        if eqn.primitive.name in _ELEMENTWISE:
            [shape] = [out.aval.shape for out in eqn.outvars]
            given = [_spread(x, shape) for x in given]
        if eqn.primitive.name in ("jit", "pjit"):
            out = _evaluated(eqn.params["jaxpr"], list(map(value, eqn.invars)))
        elif eqn.primitive.name == "broadcast_in_dim" and len(eqn.invars) == 1:
            shape, kept = eqn.params["shape"], eqn.params["broadcast_dimensions"]
            added = [a for a in range(len(shape)) if a not in kept]
            x = _spread(jnp.expand_dims(value(eqn.invars[0]), added), shape)
            out = [jnp.broadcast_to(x, shape)]
        else:
            alone = jaxpr.replace(
                constvars=[],
                invars=variables,
                outvars=eqn.outvars,
                eqns=[eqn],
                effects=eqn.effects,
            )
            out = jaxpr_as_fun(ClosedJaxpr(alone, ()))(*given)
        known.update(zip(eqn.outvars, out, strict=True))
    return list(map(value, jaxpr.outvars))


_ELEMENTWISE = frozenset(
    {
        "add",
        "add_any",
        "atan2",
        "clamp",
        "div",
        "max",
        "min",
        "mul",
        "pow",
        "select_n",
        "sub",
    }
)
"""Operations whose operands broadcast along axes of size 1."""


def _spread(x: Any, shape: Sequence[int]) -> Any:
    """An operand of 16 bits, which broadcasts to this shape, as a `spread`."""
    if not is_half(x):
        return x
    return spread(jnp.expand_dims(x, range(len(shape) - jnp.ndim(x))), shape)
