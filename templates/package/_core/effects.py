"""Functions that draw, or that change states, in the constructs of jax that call them.

Such a function takes the PRNG key of its call first, and None where there is no key. One that
changes states takes them second, and returns `(result, states)`. What runs one here takes a key
for all its calls, and the states before the first of them, and then returns `(result, states)`,
too.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .arrays import split_keys

Function = Callable[..., Any]

_NONE = object()


def keyed(function: Function) -> Function:
    """A function that draws nothing, as one that is given a key."""
    return lambda key, *args: function(*args)


def threaded(function: Function) -> Function:
    """A function that is given a key and changes no states, as one that is given states."""
    return lambda key, state, *args: (function(key, *args), state)


def pure(function: Function) -> Function:
    """A function that draws and changes nothing, as one that is given a key and states."""
    return lambda key, state, *args: (function(*args), state)


def bound(
    transformation: Function,
    function: Function,
    argnums: Any = 0,
    has_aux: bool = False,
    *options: Any,
    threads: bool = False,
    **named: Any,
) -> Function:
    """`jax.grad` and its kin of a function that draws: the key is none of its arguments.

    Where it changes states (`threads`), new ones are handed out beside what is differentiated.
    """

    def run(key: Any, *args: Any, **inputs: Any) -> Any:
        if not threads:
            drawing = partial(function, key)
            made = transformation(drawing, argnums, has_aux, *options, **named)
            return made(*args, **inputs)
        state, *given = args
        changing = _beside(partial(function, key, state), has_aux)
        made = transformation(changing, argnums, True, *options, **named)
        if transformation is jax.value_and_grad:
            (value, (aux, state)), gradients = made(*given, **inputs)
            return ((value, aux) if has_aux else value, gradients), state
        result, (aux, state) = made(*given, **inputs)
        return (result, aux) if has_aux else result, state

    return run


def applied(
    transformation: Function,
    function: Function,
    *args: Any,
    has_aux: bool = False,
    key: Any,
    state: Any = _NONE,
    **named: Any,
) -> Any:
    """`jax.vjp` and its kin, which call a function once that draws or changes states."""
    if state is _NONE:
        drawing = partial(function, key)
        return transformation(drawing, *args, has_aux=has_aux, **named)
    changing = _beside(partial(function, key, state), has_aux)
    *results, (aux, state) = transformation(changing, *args, has_aux=True, **named)
    return (*results, aux) if has_aux else tuple(results), state


def vmap(
    fun: Function,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    *,
    threads: bool = False,
) -> Function:
    """`jax.vmap` of a function that draws: each of its elements from a key of its own.

    Of one that might change states (`threads`), as a layer that is given might, it is an error
    where it does: each element would have states of its own.
    """
    if threads:

        def run_with(key: Any, state: Any, *args: Any) -> Any:
            def unchanged(own: Any, *given: Any) -> Any:
                result, new = fun(own, state, *given)
                both = zip(jax.tree.leaves(state), jax.tree.leaves(new), strict=True)
                if any(a is not b for a, b in both):
                    msg = (
                        "a layer changes its state under jax.vmap, where each element "
                        "would have a state of its own; use one that changes none, or "
                        "call it in inference"
                    )
                    raise ValueError(msg)
                return result

            return vmap(unchanged, in_axes, out_axes, axis_name)(key, *args), state

        return run_with

    def run(key: Any, *args: Any) -> Any:
        if key is None:
            mapped = jax.vmap(partial(fun, None), in_axes, out_axes, axis_name)
            return mapped(*args)
        ones = jax.vmap(lambda *given: jnp.ones(()), in_axes)
        (size,) = jax.eval_shape(ones, *args).shape
        axes = in_axes if isinstance(in_axes, Sequence) else (in_axes,) * len(args)
        mapped = jax.vmap(fun, (0, *axes), out_axes, axis_name)
        return mapped(jax.random.split(key, size), *args)

    return run


def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    key: Any,
    state: Any = _NONE,
    loop: Function = lax.scan,
) -> Any:
    """`jax.lax.scan`, whose steps draw from keys of their own, and carry the states."""
    options = {"length": length, "reverse": reverse, "unroll": unroll}
    if state is not _NONE:

        def changing(own: Any, carry: Any, x: Any) -> Any:
            (inner, y), state = f(own, carry[0], carry[1], x)
            return (state, inner), y

        (state, carry), ys = scan(
            changing, (state, init), xs, **options, key=key, loop=loop
        )
        return (carry, ys), state
    if key is None:
        return loop(lambda carry, x: f(None, carry, x), init, xs, **options)
    leaves = jax.tree.leaves(xs)
    steps: Any = leaves[0].shape[0] if leaves else length
    keys = jax.random.split(key, steps)
    return loop(
        lambda carry, item: f(item[0], carry, item[1]), init, (keys, xs), **options
    )


def map(
    f: Function,
    xs: Any,
    *,
    key: Any,
    state: Any = _NONE,
) -> Any:
    """`jax.lax.map`, one element after the other: each draws from a key of its own."""
    if state is _NONE:
        return scan(lambda own, carry, x: (carry, f(own, x)), (), xs, key=key)[1]

    def changing(own: Any, state: Any, carry: Any, x: Any) -> Any:
        y, state = f(own, state, x)
        return (carry, y), state

    (_, ys), state = scan(changing, (), xs, key=key, state=state)
    return ys, state


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Function,
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    key: Any,
    state: Any = _NONE,
) -> Any:
    """`jax.lax.fori_loop`, whose passes draw from keys of their own, and carry the states."""
    if state is _NONE:
        return lax.fori_loop(
            lower,
            upper,
            lambda i, value: body_fun(_folded(key, i), i, value),
            init_val,
            unroll=unroll,
        )

    def changing(own: Any, i: Any, carry: Any) -> Any:
        value, state = body_fun(own, carry[0], i, carry[1])
        return state, value

    state, value = fori_loop(
        lower, upper, changing, (state, init_val), unroll=unroll, key=key
    )
    return value, state


def while_loop(
    cond_fun: Function,
    body_fun: Function,
    init_val: Any,
    *,
    key: Any,
    state: Any = _NONE,
) -> Any:
    """`jax.lax.while_loop`, whose passes draw from keys of their own, and carry the states."""
    if state is not _NONE:

        def changing(own: Any, carry: Any) -> Any:
            value, state = body_fun(own, carry[0], carry[1])
            return state, value

        state, value = while_loop(
            lambda carry: cond_fun(carry[1]), changing, (state, init_val), key=key
        )
        return value, state
    if key is None:
        return lax.while_loop(cond_fun, lambda value: body_fun(None, value), init_val)
    _, value = lax.while_loop(
        lambda carry: cond_fun(carry[1]),
        lambda carry: (carry[0] + 1, body_fun(_folded(key, carry[0]), carry[1])),
        (jnp.uint32(0), init_val),
    )
    return value


def cond(
    pred: Any,
    true_fun: Function,
    false_fun: Function,
    *operands: Any,
    key: Any,
    state: Any = _NONE,
) -> Any:
    """`jax.lax.cond`, whose branches draw from one key, of which one alone runs."""
    given = (key,) if state is _NONE else (key, state)
    return lax.cond(pred, true_fun, false_fun, *given, *operands)


def switch(
    index: Any,
    branches: Sequence[Function],
    *operands: Any,
    key: Any,
    state: Any = _NONE,
) -> Any:
    """`jax.lax.switch`, whose branches draw from one key, of which one alone runs."""
    given = (key,) if state is _NONE else (key, state)
    return lax.switch(index, branches, *given, *operands)


def tree_map(
    f: Function,
    tree: Any,
    *rest: Any,
    is_leaf: Function | None = None,
    key: Any,
    state: Any = _NONE,
) -> Any:
    """`jax.tree.map`, one leaf after the other: each draws from a key of its own."""
    leaves, structure = jax.tree.flatten(tree, is_leaf)
    others = [structure.flatten_up_to(other) for other in rest]
    mapped = []
    for own, *args in zip(split_keys(key, len(leaves)), leaves, *others, strict=True):
        if state is _NONE:
            mapped.append(f(own, *args))
        else:
            y, state = f(own, state, *args)
            mapped.append(y)
    made = jax.tree.unflatten(structure, mapped)
    return made if state is _NONE else (made, state)


def _beside(function: Function, has_aux: bool) -> Function:
    """A function that returns its result, and beside it what is not differentiated."""

    def run(*args: Any, **inputs: Any) -> Any:
        result, state = function(*args, **inputs)
        y, aux = result if has_aux else (result, None)
        return y, (aux, state)

    return run


def _folded(key: Any, number: Any) -> Any:
    """A key for a pass of a loop that is not known to end; None where there is no key."""
    return None if key is None else jax.random.fold_in(key, number)
