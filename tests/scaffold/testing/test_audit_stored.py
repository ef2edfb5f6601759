"""The dtype audit of states that are computed in the dtype that they are stored in."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from mlax_scaffold.testing.audit import audit_jaxpr

HALF, WIDE = jnp.bfloat16, jnp.float32
X = jax.ShapeDtypeStruct((3,), HALF)
STATE = jax.ShapeDtypeStruct((3,), WIDE)


def audit(fn, stored=(WIDE,)):
    """Findings of a function of x and the state that returns y and the new state."""
    jaxpr = jax.make_jaxpr(fn)(X, STATE)
    return audit_jaxpr(jaxpr, [HALF], stored=stored, kept=[False, True])


def average(x, state):
    return state + 0.1 * (x.astype(WIDE) - state)


def plain(x, state):
    return jnp.sin(x), average(x, state)


def through_jit(x, state):
    return jnp.sin(x), jax.jit(average)(x, state)


def whole_in_jit(x, state):
    return jax.jit(plain)(x, state)


def whole_in_remat(x, state):
    return jax.checkpoint(plain)(x, state)


def in_cond(x, state):
    return lax.cond(x[0] > 0, plain, lambda x, state: (x, state), x, state)


def in_scan(x, state):
    def body(state, x):
        return average(x, state), jnp.sin(x)

    state, y = lax.scan(body, state, x[None])
    return y[0], state


def in_while(x, state):
    def body(carry):
        x, state = carry
        return jnp.sin(x), average(x, state)

    return lax.while_loop(lambda carry: carry[0][0] < 0, body, (x, state))


CLEAN = [plain, through_jit, whole_in_jit, whole_in_remat, in_cond, in_scan, in_while]


@pytest.mark.parametrize("fn", CLEAN)
def test_the_new_state_may_be_computed_in_its_own_dtype(fn):
    assert audit(fn) == []
    assert audit(fn, stored=())
    assert audit(fn, stored=(jnp.float16,))


def y_reads_the_new_state(x, state):
    state = average(x, state)
    return jnp.sin(x) + state.astype(HALF), state


def y_is_widened(x, state):
    return jnp.sin(x.astype(WIDE)).astype(HALF), average(x, state)


def y_reads_it_in_jit(x, state):
    return jax.jit(y_reads_the_new_state)(x, state)


def y_reads_it_in_the_next_turn(x, state):
    def body(state, x):
        return average(x, state), x + state.astype(HALF)

    state, y = lax.scan(body, state, jnp.stack([x, x]))
    return y[1], state


def a_condition_reads_it(x, state):
    def body(carry):
        x, state = carry
        return jnp.sin(x), average(x, state)

    return lax.while_loop(lambda c: c[1].astype(HALF)[0] < 0, body, (x, state))


def a_branch_depends_on_it(x, state):
    state = average(x, state)
    return lax.cond(state.astype(HALF)[0] > 0, jnp.sin, jnp.cos, x), state


@pytest.mark.parametrize(
    "fn",
    [
        y_reads_the_new_state,
        y_is_widened,
        y_reads_it_in_jit,
        y_reads_it_in_the_next_turn,
        a_condition_reads_it,
        a_branch_depends_on_it,
    ],
)
def test_what_the_output_depends_on_may_not(fn):
    assert audit(fn)


def test_the_gradient_may_leave_something_behind():
    def fn(x, state):
        def of_x(x):
            return jnp.sin(x), jnp.minimum(average(x, state), 3.0)

        y, vjp, new = jax.vjp(of_x, x, has_aux=True)
        return vjp(y)[0], new

    assert audit(fn) == []
    assert audit(fn, stored=())


def gradient(read):
    """Findings in the gradient by x of what a state becomes and is read as."""

    def derivative(x, state, cotangent):
        def forward(x):
            new = (x * 2).astype(WIDE)
            return read(new), new

        y, pullback, new = jax.vjp(forward, x, has_aux=True)
        return y, new, pullback(cotangent)[0]

    jaxpr = jax.make_jaxpr(derivative)(X, STATE, X)
    return [
        {f.primitive for f in audit_jaxpr(jaxpr, [HALF], passed=passed)}
        for passed in ([], [WIDE])
    ]


def test_a_gradient_may_pass_through_the_dtype_of_a_state():
    assert gradient(lambda new: new.astype(HALF)) == [{"convert_element_type"}, set()]


def test_a_gradient_is_not_added_up_in_the_dtype_of_a_state():
    _, found = gradient(lambda new: new.astype(HALF) * jnp.sin(new.astype(HALF)))
    assert "add_any" in found
