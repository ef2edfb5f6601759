"""Contracts of a layer. Each function raises AssertionError where one is broken.

Those that only trace cost milliseconds; the others compile one program each, apart from
eager runs, which compile each operation once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from mlax_scaffold.testing._functions import abstract_key, assert_static
from mlax_scaffold.testing.case import Arguments, Case
from mlax_scaffold.testing.compare import (
    DEFAULT_ULPS,
    assert_matches,
    assert_same_structure,
)
from mlax_scaffold.testing.dtypes import precision_for
from mlax_scaffold.testing.layer_dtypes import assert_dtype_contract
from mlax_scaffold.testing.layer_gradients import assert_gradients

__all__ = [
    "assert_bad_input",
    "assert_dtype_contract",
    "assert_gradients",
    "assert_jit_equals_eager",
    "assert_needs_key",
    "assert_shapes",
    "assert_state_stable",
    "assert_static_hyperparams",
    "assert_vmap",
]

PyTree = Any


def assert_shapes(case: Case, expected: PyTree | Callable[[Case], PyTree]) -> None:
    """The outputs have the expected shapes, in training and inference. Only traces.

    `expected` is y with a tuple of integers in place of each array, or a function that
    returns it for the case. None is any size.
    """
    expected = expected(case) if callable(expected) else expected
    for training in case.modes():
        arguments, key = (
            case.abstract_arguments(jnp.float32, jnp.float32),
            abstract_key(),
        )
        y, _ = _eval_shape(case, arguments, training, key)
        shapes = jax.tree.map(lambda v: tuple(v.shape), y)
        if not _fits(shapes, expected):
            raise AssertionError(
                f"{case.name}: the output has the shape {shapes}, expected {expected}"
            )


def _fits(shapes: PyTree, expected: PyTree) -> bool:
    """Whether shapes are the expected ones, of which None is any size."""
    sizes, tree = jax.tree.flatten(shapes, is_leaf=_is_none)
    wanted, wanted_tree = jax.tree.flatten(expected, is_leaf=_is_none)
    return tree == wanted_tree and all(
        size in (None, given) for size, given in zip(wanted, sizes, strict=True)
    )


def _is_none(value: Any) -> bool:
    return value is None


def assert_jit_equals_eager(
    case: Case,
    dtype: DTypeLike = jnp.float32,
    *,
    ulps: float = DEFAULT_ULPS,
    seed: int = 0,
) -> None:
    """`jax.jit(fwd)` returns what `fwd` returns eagerly, to rounding, in each mode."""
    with precision_for(dtype, *case.allow):
        arguments = case.arguments(dtype, seed=seed)
        key = jax.random.key(seed)

        def both(arrays: PyTree, key: Any) -> dict[bool, PyTree]:
            return {
                training: case.call(
                    _with_arrays(arguments, arrays), training=training, key=key
                )
                for training in case.modes()
            }

        arrays = _arrays(arguments)
        eager, jitted = both(arrays, key), jax.jit(both)(arrays, key)
        for training in case.modes():
            mode = "training" if training else "inference"
            what = f"{case.name}: jit in {mode}, y and state"
            assert_matches(
                eager[training], jitted[training], dtype, ulps=ulps, what=what
            )


def assert_vmap(
    case: Case,
    dtype: DTypeLike = jnp.float32,
    *,
    size: int = 3,
    ulps: float = DEFAULT_ULPS,
    seed: int = 0,
) -> None:
    """`jax.vmap` over a new axis of x equals single calls, stacked, in inference mode."""
    with precision_for(dtype, *case.allow):
        samples = [case.arguments(dtype, seed=seed + i) for i in range(size)]
        first = samples[0]
        xs = [sample.x for sample in samples]

        @jax.jit
        def both(xs: list[PyTree], rest: PyTree) -> tuple[PyTree, PyTree]:
            def single(x: PyTree) -> PyTree:
                return case.call(_with_arrays(first, (x, *rest)))[0]

            stacked = jax.tree.map(lambda *v: jnp.stack(v), *xs)
            one_by_one = jax.lax.map(single, stacked)
            return one_by_one, jax.vmap(single)(stacked)

        expected, actual = both(xs, _arrays(first)[1:])
        what = f"{case.name}: vmap, y"
        assert_matches(expected, actual, dtype, ulps=ulps, what=what)


def assert_static_hyperparams(case: Case) -> None:
    """Hyperparameters are static, hashable and canonical. Only traces.

    Two `init` calls make equal ones with equal hashes, and `jit` takes them as a plain
    argument and in `static_argnames`, tracing once for both.
    """
    first, second = (_hyperparams(case) for _ in range(2))
    assert_static(first, second, what=case.name)
    arguments, key = case.abstract_arguments(jnp.float32, jnp.float32), abstract_key()
    for static in ((), ("hyperparams",)):
        traces = 0

        def fwd(arrays: PyTree, hyperparams: Any, key: Any) -> PyTree:
            nonlocal traces
            traces += 1
            given = _with_arrays(arguments, arrays)
            return case.call(given._replace(hyperparams=hyperparams), key=key)

        jitted = jax.jit(fwd, static_argnames=static)
        for hyperparams in (first, second):
            jitted.trace(_arrays(arguments), hyperparams=hyperparams, key=key)
        if traces != 1:
            how = "in static_argnames" if static else "as a plain argument"
            raise AssertionError(
                f"{case.name}: with hyperparams {how}, jit traced {traces} times for two "
                "equal ones, expected once"
            )


def _hyperparams(case: Case) -> Any:
    try:
        return case.abstract(jnp.float32).hyperparams
    except TypeError as error:
        raise AssertionError(
            f"{case.name}: init cannot be traced; are hyperparams a static pytree? {error}"
        ) from error


def assert_state_stable(case: Case, dtype: DTypeLike = jnp.float32) -> None:
    """State keeps its type from step to step, in training and in inference.

    `lax.scan` takes it as a carry, `jit` does not retrace for it, and it stays finite.
    """
    with precision_for(dtype, *case.allow):
        arguments, key = case.arguments(dtype), jax.random.key(0)
        for training in case.modes():
            _assert_state_stable(case, arguments, key, training)


def _assert_state_stable(
    case: Case, arguments: Arguments, key: Any, training: bool
) -> None:
    traces = 0

    def step(state: PyTree, arrays: PyTree, key: Any) -> PyTree:
        nonlocal traces
        traces += 1
        given = _with_arrays(arguments, arrays)._replace(non_trainables=state)
        return case.call(given, training=training, key=key)[1]

    def scan(state: PyTree, arrays: PyTree, keys: Any) -> PyTree:
        def body(state: PyTree, key: Any) -> tuple[PyTree, None]:
            return step(state, arrays, key), None

        return jax.lax.scan(body, state, keys)[0]

    state, arrays = arguments.non_trainables, _arrays(arguments)
    try:
        jax.eval_shape(scan, state, arrays, jax.random.split(key, 3))
    except TypeError as error:
        raise AssertionError(
            f"{case.name}: lax.scan does not take the state as its carry: {error}"
        ) from error
    traces = 0
    jitted = jax.jit(step)
    new = jitted(state, arrays, key)
    assert_same_structure(state, new, what=f"{case.name}: the new state")
    new = jitted(new, arrays, key)
    if traces > 1:
        raise AssertionError(
            f"{case.name}: jit traced again for the state that the first step returned; "
            "a weakly typed array or a Python number in it is the usual reason"
        )
    for path, value in jax.tree_util.tree_leaves_with_path(new):
        if jnp.issubdtype(value.dtype, jnp.inexact) and not np.all(
            np.isfinite(np.asarray(value).astype(np.complex128))
        ):
            place = jax.tree_util.keystr(path)
            raise AssertionError(
                f"{case.name}: the state {place} is not finite after two steps: {value}"
            )


def assert_needs_key(case: Case) -> None:
    """Without a key, training raises a ValueError that says so; inference runs."""
    arguments, key = case.abstract_arguments(jnp.float32, jnp.float32), abstract_key()
    _eval_shape(case, arguments, True, key)
    _eval_shape(case, arguments, False, None)
    assert_bad_input(
        lambda: _eval_shape(case, arguments, True, None), ValueError, r"\bkey\b"
    )


def assert_bad_input(
    call: Callable[[], object], error: type[Exception], match: str
) -> None:
    """`call()` raises `error` (or a subclass) with a message that `match` is found in."""
    try:
        result = call()
    except error as raised:
        if not re.search(match, str(raised)):
            raise AssertionError(
                f'{type(raised).__name__} was raised with the message "{raised}", '
                f'in which "{match}" is not found'
            ) from raised
    except Exception as raised:
        raise AssertionError(
            f"{type(raised).__name__} was raised, expected {error.__name__}: {raised}"
        ) from raised
    else:
        raise AssertionError(f"nothing was raised, expected {error.__name__}: {result}")


def _arrays(arguments: Arguments) -> tuple[PyTree, ...]:
    return (
        arguments.x,
        arguments.trainables,
        arguments.non_trainables,
        arguments.inputs,
    )


def _with_arrays(arguments: Arguments, arrays: PyTree) -> Arguments:
    x, trainables, non_trainables, inputs = arrays
    return Arguments(x, trainables, non_trainables, arguments.hyperparams, inputs)


def _eval_shape(
    case: Case, arguments: Arguments, training: bool, key: Any
) -> tuple[PyTree, PyTree]:
    def fwd(arrays: PyTree, key: Any) -> tuple[PyTree, PyTree]:
        given = _with_arrays(arguments, arrays)
        return case.call(given, training=training, key=key)

    return jax.eval_shape(fwd, _arrays(arguments), key)
