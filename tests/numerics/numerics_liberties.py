"""Programs as compilers for accelerators run them, which take liberties that a CPU's does not.

They divide by multiplying with an inverse, join `(a / b) / c` to `a / (b * c)` and
`a / (b / c)` to `a * c / b`, compute the product of a matrix and a vector as a sum of
products, each rounded to 16 bits, and some have no subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

Quotients = dict[int, tuple[jax.Array, jax.Array, jax.Array]]
"""Results of divisions, by identity: numerator, denominator, result."""


def freely(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays whose operations are done one by one, with these liberties."""

    def run(*arguments: Any) -> Any:
        program, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        leaves = jax.tree.leaves(arguments)
        results = _run(program.jaxpr, program.consts, leaves, {})
        return jax.tree.unflatten(jax.tree.structure(shapes), results)

    return run


def _run(
    program: Jaxpr,
    constants: Sequence[Any],
    arguments: Sequence[Any],
    quotients: Quotients,
) -> list[Any]:
    values: dict[Var, Any] = {}
    values.update(zip(program.constvars, constants, strict=True))
    values.update(zip(program.invars, arguments, strict=True))
    for equation in program.eqns:
        given = [_value(values, x) for x in equation.invars]
        results = _apply(equation, given, quotients)
        values.update(zip(equation.outvars, results, strict=True))
    return [_value(values, x) for x in program.outvars]


def _value(values: dict[Var, Any], x: Var | Literal) -> Any:
    return x.val if isinstance(x, Literal) else values[x]


def _apply(equation: JaxprEqn, given: list[Any], quotients: Quotients) -> Sequence[Any]:
    primitive: Any = equation.primitive
    name, params = primitive.name, equation.params
    inner: Any = params.get("jaxpr", params.get("call_jaxpr"))
    if name in ("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "remat2"):
        if isinstance(inner, ClosedJaxpr):
            return _run(inner.jaxpr, inner.consts, given, quotients)
        return _run(inner, [], given, quotients)
    if name == "div" and jnp.issubdtype(given[0].dtype, jnp.floating):
        a, b = given
        return [_quotient(a, b, quotients)]
    if name == "dot_general":
        a, b = given
        return [_flushed(_product(a, b, params))]
    results = primitive.bind(*given, **primitive.get_bind_params(params))
    results = results if primitive.multiple_results else [results]
    return [_flushed(y) for y in results]


def _quotient(a: Any, b: Any, quotients: Quotients) -> jax.Array:
    a, b = jnp.asarray(a), jnp.asarray(b)
    if id(a) in quotients:
        over, under, _ = quotients[id(a)]
        a, b = over, _flushed(b * under)
    elif id(b) in quotients:
        over, under, _ = quotients[id(b)]
        a, b = _flushed(a * under), over
    # 16-bit numbers are divided in 32 bits.
    wide = jnp.finfo(b.dtype).bits > 16
    result = _flushed(a * _flushed(1.0 / b) if wide else a / b)
    quotients[id(result)] = a, b, result
    return result


def _product(a: Any, b: Any, params: dict[str, Any]) -> Any:
    """A product of matrices, or a sum of rounded products with a vector."""
    (left, right), (batch, _) = params["dimension_numbers"]
    half = jnp.finfo(a.dtype).bits <= 16
    if half and not batch and b.ndim == len(right):
        order = [axis for _, axis in sorted(zip(left, right, strict=True))]
        shape = [n if i in left else 1 for i, n in enumerate(a.shape)]
        products = a * b.transpose(order).reshape(shape)
        return jnp.sum(products, axis=tuple(left)).astype(a.dtype)
    if half and not batch and a.ndim == len(left):
        flipped = {**params, "dimension_numbers": ((right, left), ((), ()))}
        return _product(b, a, flipped)
    return lax.dot_general(a, b, **params)


def _flushed(x: Any) -> Any:
    """An array whose subnormal numbers are zero; those of float16, hardware has."""
    if x.dtype not in (jnp.float32, jnp.bfloat16):
        return x
    return jnp.where(lax.abs(x) < jnp.finfo(x.dtype).tiny, jnp.zeros_like(x), x)
