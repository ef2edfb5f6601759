"""Compiled loops, whose gradients of what all steps share keep their digits.

The transpose of a loop adds up, step by step, the gradient of what each step uses. In 16
bits such a sum stops to grow: 257 ones are 256 in bfloat16.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from . import sharded
from .spreading import is_half, spreading

Step = Callable[[Any, Any], tuple[Any, Any]]
"""`carry, y = step(carry, x)`, as in `jax.lax.scan`."""


def scan(
    step: Step,
    init: Any,
    xs: Any,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """`jax.lax.scan`; in 16 bits the gradient of what `step` closes over is a product.

    It is computed for all steps at once, from their carries, which are kept: so it is
    rounded once, and there is one of it. Forward and reverse mode are those of a loop, of
    every order. Left to `jax.lax.scan` are steps that also carry wider numbers, which no
    derivative should keep for every step, and those that draw with keys of another type
    than threefry, whose numbers `jax.vmap` changes.
    """
    options = {"length": length, "reverse": reverse, "unroll": unroll}
    steps = {jnp.shape(x)[0] for x in jax.tree.leaves(xs)} or {length}
    halves = [is_half(x) for x in _floats((init, xs))]
    if steps != {0} and sharded.is_typed((init, xs)):
        init = sharded.carried(step, init, _first(xs))
    if steps == {0} or not halves or not all(halves):
        return lax.scan(step, init, xs, **options)
    first = _first(xs)
    init = jax.tree.map(jnp.asarray, init)
    if any(c.weak_type for c in jax.tree.leaves(init) if hasattr(c, "weak_type")):
        # As of `jax.lax.scan`: a number of Python takes the dtype that it has afterwards.
        after = jax.eval_shape(step, init, first)[0]
        init = jax.tree.map(
            lambda c, a: lax.convert_element_type(c, a.dtype), init, after
        )
    pure, shared = _closed(step, init, first)
    if not any(map(is_half, shared)):
        return lax.scan(step, init, xs, **options)
    if not _maps_alike(jax.make_jaxpr(pure)(init, first, *shared).jaxpr):
        return lax.scan(step, init, xs, **options)
    return _run(pure, options)(shared, init, xs)


def _first(xs: Any) -> Any:
    """What the first step takes, as it is shaped."""
    return jax.eval_shape(lambda xs: jax.tree.map(lambda x: x[0], xs), xs)


def _closed(
    step: Step, init: Any, first: Any
) -> tuple[Callable[..., Any], list[jax.Array]]:
    """The step as a function that closes over nothing that is traced, and what it closed over.

    Integers and masks, too, for a rule runs when the trace that they are of may have ended.
    """
    program, made = jax.make_jaxpr(step, return_shape=True)(init, first)
    structure = jax.tree.structure(made)
    consts = list(program.consts)
    traced = [i for i, c in enumerate(consts) if isinstance(c, Tracer)]
    inner = program.jaxpr.replace(
        constvars=[], invars=[*program.jaxpr.constvars, *program.jaxpr.invars]
    )

    def pure(carry: Any, x: Any, *shared: jax.Array) -> Any:
        given = _put(consts, traced, shared)
        leaves = jax.tree.leaves((carry, x))
        out = jaxpr_as_fun(ClosedJaxpr(inner, ()))(*given, *leaves)
        return jax.tree.unflatten(structure, out)

    return pure, _take(consts, traced)


def _run(pure: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The loop as a function of what its steps share, of `init` and of `xs`."""

    @jax.custom_jvp
    def run(shared: Any, init: Any, xs: Any) -> tuple[Any, Any]:
        return lax.scan(lambda c, x: pure(c, x, *shared), init, xs, **options)

    def tangent(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (shared, init, xs), (d_shared, d_init, d_xs) = primals, tangents

        def keep(carry: Any, x: Any) -> tuple[Any, Any]:
            after, y = pure(carry, x, *shared)
            return after, (carry, y)

        carry, (carries, ys) = scan(keep, init, xs, **options)
        weights, inputs = _moving(d_shared), _moving(d_xs)
        state, results = _floating(init), _floating((carry, ys))

        # What the weights change in each step, for all steps at once.
        def every(values: list[Any]) -> list[Any]:
            given = _put(shared, weights, values)
            out = jax.vmap(lambda c, x: pure(c, x, *given))(carries, xs)
            return _take(out, results)

        values, change = _take(shared, weights), _take(d_shared, weights)
        pushes = jax.jvp(spreading(every, values), (values,), (change,))[1]

        # What each step makes of the change before it.
        @functools.partial(jax.checkpoint, prevent_cse=False)
        def follow(change: list[Any], slices: Any) -> tuple[list[Any], list[Any]]:
            carry, x, d_x, push = slices

            def one(carries: list[Any], values: list[Any]) -> list[Any]:
                before, given = _put(carry, state, carries), _put(x, inputs, values)
                return _take(pure(before, given, *shared), results)

            given = _take(carry, state), _take(x, inputs)
            made = jax.jvp(one, given, (change, d_x))[1]
            after = [a + b for a, b in zip(made, push, strict=True)]
            return after[: len(state)], after[len(state) :]

        change = list(map(_instantiated, _take(d_init, state)))
        slices = (carries, xs, _take(d_xs, inputs), pushes)
        change, d_ys = scan(follow, change, slices, **options)
        still = jax.tree.map(_no_change, (carry, ys))
        return (carry, ys), _put(still, results, [*change, *d_ys])

    run.defjvp(tangent, symbolic_zeros=True)
    return run


def map_chunks(function: Callable[[Any], Any], xs: Any) -> Any:
    """`jax.lax.map`; in 16 bits, gradients of what `function` closes over are added by fours.

    A loop over groups of groups: its error grows with the logarithm of their number, and
    at most one sum for each level is kept. Chunks that fill up a group are not computed.
    """
    arrays = jax.tree.leaves(xs)
    count = arrays[0].shape[0]
    if count <= 4 or not any(map(is_half, arrays)):
        return lax.map(function, xs)
    sizes, rest = [], count
    while rest > 1:
        levels = math.ceil(math.log(rest, 4) - 1e-9)
        sizes.append(math.ceil(rest ** (1.0 / levels) - 1e-9))
        rest = -(-rest // sizes[-1])
    total = math.prod(sizes)

    def grouped(x: jax.Array) -> jax.Array:
        x = jnp.pad(x, [(0, total - count)] + [(0, 0)] * (x.ndim - 1))
        return x.reshape(*sizes, *x.shape[1:])

    empty = jax.eval_shape(lambda xs: function(jax.tree.map(lambda x: x[0], xs)), xs)

    def chunk(slices: Any) -> Any:
        x, number = slices
        if total == count:
            return function(x)
        nothing = jax.tree.map(lambda y: jnp.zeros(y.shape, y.dtype), empty)
        return lax.cond(number < count, function, lambda _: nothing, x)

    nested: Callable[[Any], Any] = chunk
    for _ in sizes:
        nested = functools.partial(lax.map, nested)
    ys = nested(jax.tree.map(grouped, (xs, jnp.arange(count))))
    return jax.tree.map(lambda y: y.reshape(total, *y.shape[len(sizes) :])[:count], ys)


def shared(tree: Any, count: int) -> list[Any]:
    """A tree for each of several uses; in 16 bits its gradients are added in pairs."""
    if count == 1 or not any(map(is_half, jax.tree.leaves(tree))):
        return [tree] * count
    halves = (count - count // 2, count // 2)

    def forked() -> Any:
        return jax.tree.map(lambda x: _fork(x) if is_half(x) else x, tree)

    return [use for n in halves for use in shared(forked(), n)]


@jax.custom_jvp
def _fork(x: jax.Array) -> jax.Array:
    """The array as it is; its tangent is another variable, with a gradient of its own."""
    return x


@_fork.defjvp
def _(
    primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    return primals[0], jnp.copy(tangents[0])


def _floats(tree: Any) -> list[Any]:
    """The floating arrays, without numbers of Python, which take the dtype of others."""
    leaves = [x for x in jax.tree.leaves(tree) if hasattr(x, "dtype")]
    return [
        x
        for x in leaves
        if jnp.issubdtype(x.dtype, jnp.floating) and not getattr(x, "weak_type", False)
    ]


def _maps_alike(jaxpr: Jaxpr) -> bool:
    """Whether `jax.vmap` gives each of several calls the numbers that it draws alone."""
    for eqn in jaxpr.eqns:
        for variable in eqn.invars:
            dtype = getattr(variable.aval, "dtype", None)
            is_key = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
            if is_key and str(dtype) != "key<fry>":
                return False
        inner = jax.tree.leaves(
            list(eqn.params.values()),
            is_leaf=lambda p: isinstance(p, ClosedJaxpr | Jaxpr),
        )
        for part in inner:
            body = part.jaxpr if isinstance(part, ClosedJaxpr) else part
            if isinstance(body, Jaxpr) and not _maps_alike(body):
                return False
    return True


def _floating(tree: Any) -> list[int]:
    """Places of the leaves that have a derivative."""
    leaves = enumerate(jax.tree.leaves(tree))
    return [i for i, x in leaves if jnp.issubdtype(x.dtype, jnp.inexact)]


def _moving(tangents: Any) -> list[int]:
    """Places of the tangents that are there."""
    leaves = jax.tree.leaves(tangents)
    return [i for i in _floating(tangents) if not isinstance(leaves[i], SymbolicZero)]


def _take(tree: Any, places: Sequence[int]) -> list[Any]:
    leaves = jax.tree.leaves(tree)
    return [leaves[i] for i in places]


def _put(tree: Any, places: Sequence[int], values: Sequence[Any]) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    for i, value in zip(places, values, strict=True):
        leaves[i] = value
    return jax.tree.unflatten(structure, leaves)


def _instantiated(tangent: Any) -> Any:
    facts: Any = tangent
    is_zero = isinstance(tangent, SymbolicZero)
    return jnp.zeros(facts.shape, facts.dtype) if is_zero else tangent


def _no_change(x: Any) -> Any:
    """In the place of the tangent of what has none."""
    return np.zeros(x.shape, jax.dtypes.float0)
