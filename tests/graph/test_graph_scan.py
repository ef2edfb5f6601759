"""Loops in Python do what compiled ones do, and refuse what they refuse."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import mlax.graph as bx

SCANS = (bx.static_scan, bx.dynamic_scan)
XS = jnp.arange(3.0)


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize(
    ("init", "step"),
    [
        (jnp.zeros((), jnp.bfloat16), lambda c, x: (c + x, x)),
        (jnp.zeros((), jnp.int32), lambda c, x: (c + x, x)),
        (jnp.zeros(()), lambda c, x: ((c > x), x)),
        (jnp.zeros(2), lambda c, x: (jnp.append(c, x), x)),
        ((jnp.zeros(2), 0.0), lambda c, x: ([c[0], c[1]], x)),
        ({"a": jnp.zeros(2)}, lambda c, x: ({"a": c["a"], "b": x}, x)),
        (jax.random.key(0), lambda c, x: (jax.random.split(c), x)),
    ],
)
def test_a_carry_that_changes_is_refused(scan, init, step):
    with pytest.raises(TypeError, match="carry"):
        scan(step, init, XS)


@pytest.mark.parametrize(
    ("init", "step"),
    [
        (0, lambda c, x: (c + x, c)),
        (0.0, lambda c, x: (c + x.astype(jnp.bfloat16), c)),
        (0.0, lambda c, x: (c + 1, (c, x))),
        ((1, None), lambda c, x: ((c[0] * 2, None), c[0])),
        (jnp.zeros((), jnp.bfloat16), lambda c, x: (c + x.astype(c.dtype), c)),
        (
            jax.random.key(0),
            lambda c, x: (jax.random.fold_in(c, 1), jax.random.uniform(c)),
        ),
        (
            bx.Params({("a",): jnp.zeros(())}),
            lambda c, x: (c.set(("a",), c["a",].value + x), x),
        ),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_both_loops_give_the_same(init, step, reverse):
    static, dynamic = (scan(step, init, XS, reverse=reverse) for scan in SCANS)
    assert jax.tree.structure(static) == jax.tree.structure(dynamic)
    for a, b in zip(*map(jax.tree.leaves, (static, dynamic)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert (a == b).all()


def test_a_python_loop_sees_values():
    seen = []

    def step(carry, x):
        seen.append(float(carry))
        return carry + (x if x > 0.5 else 10.0), x

    total, _ = bx.static_scan(step, 0.0, XS)
    assert (float(total), seen) == (13.0, [0.0, 10.0, 11.0])
