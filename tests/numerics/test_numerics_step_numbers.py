"""Numbers of steps beyond 2**24, where float32 has no odd numbers: every schedule against float64."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_every import PER_EXAMPLE, create, names

import mlax
from mlax import optim

FIRST = [2**24 + 1, 2**30 + 1]
"""Something happens here, and again some steps later."""

WARMUP = {"init_value": 0.1, "peak_value": 0.5}


def cases(n: int) -> dict[str, list[Any]]:
    """Each schedule, with what happens at step n in it."""
    linear = functools.partial(mlax.schedule.Linear, 0.5, 0.1, 8)
    return {
        "Constant": [{"constant": 0.3}],
        "Cosine": [{"init_value": 0.5, "decay_steps": n}],
        "CosineOneCycle": [
            {"transition_steps": n + 6, "peak_value": 0.5, "pct_start": n / (n + 6)}
        ],
        "Exponential": [
            {
                "init_value": 0.5,
                "transition_steps": 8,
                "decay_rate": 0.7,
                "transition_begin": n,
            },
            {
                "init_value": 0.5,
                "transition_steps": n,
                "decay_rate": 0.7,
                "staircase": True,
            },
        ],
        "InverseSqrt": [{"peak_value": 0.5, "warmup_steps": n}],
        "Join": [
            {
                "schedules": [
                    linear(),
                    linear(),
                    mlax.schedule.PiecewiseConstant(0.5, [n], [0.1]),
                ],
                "boundaries": [n, n + 4],
            },
            {
                "schedules": [jnp.sqrt, linear(), lambda step: 0.1 * step],
                "boundaries": [n, n + 3],
            },
            {
                "schedules": [
                    linear(),
                    mlax.schedule.PiecewiseConstant(0.5, [n], [0.1]),
                ],
                "boundaries": [6],
            },
        ],
        "Linear": [
            {
                "init_value": 0.5,
                "end_value": 0.1,
                "transition_steps": 8,
                "transition_begin": n,
            }
        ],
        "LinearOneCycle": [
            {
                "transition_steps": n + 12,
                "peak_value": 0.5,
                "pct_start": n / (n + 12),
                "pct_final": (n + 5) / (n + 12),
            }
        ],
        "PiecewiseConstant": [
            {"init_value": 0.5, "boundaries": [n, n + 3], "scales": [0.5, 3.0]}
        ],
        "PiecewiseInterpolated": [
            {
                "interpolate_type": form,
                "init_value": 0.5,
                "boundaries": [n, n + 3, n + 9],
                "scales": [0.5, 3.0, 0.1],
            }
            for form in ("linear", "cosine")
        ],
        "Polynomial": [
            {
                "init_value": 0.5,
                "end_value": 0.1,
                "power": 1.5,
                "transition_steps": 8,
                "transition_begin": n,
            }
        ],
        "SGDR": [
            {
                "peak_values": [0.5, 0.3, 0.4],
                "decay_steps": [n, 5, 9],
                "warmup_steps": 2,
            }
        ],
        "WarmupConstant": [WARMUP | {"warmup_steps": n}],
        "WarmupCosine": [WARMUP | {"warmup_steps": n, "decay_steps": n + 7}],
        "WarmupExponential": [
            WARMUP
            | {
                "warmup_steps": n,
                "transition_steps": 2,
                "decay_rate": 0.7,
                "staircase": staircase,
            }
            for staircase in (False, True)
        ],
        "WarmupStableDecay": [
            {"peak_value": 0.5, "warmup_steps": n, "stable_steps": 3, "decay_steps": 6},
            {
                "peak_value": 0.5,
                "warmup_steps": n,
                "stable_steps": 1,
                "decay_steps": 6,
                "decay_type": "sqrt",
            },
        ],
    }


CASES = [
    pytest.param(n, name, given, id=f"{n}-{name}-{i}")
    for n in FIRST
    for name, several in cases(n).items()
    for i, given in enumerate(several)
]


def test_every_schedule_is_here():
    assert set(cases(1000)) == set(mlax.schedule.__all__)


@pytest.mark.parametrize(("n", "name", "given"), CASES)
def test_values_are_those_of_float64(n, name, given):
    """Of integers, of integers in arrays, and where steps are computed in a program."""
    made = getattr(mlax.schedule, name)(**given)
    steps = np.arange(n - 3, n + 20)
    expected = np.asarray(made(jnp.asarray(steps, jnp.float64)))
    first = float(made(jnp.zeros((), jnp.float64)))
    with jax.enable_x64(False):
        counted = jnp.asarray(steps, jnp.int32)
        of_arrays = jax.jit(made)(counted)
        of_numbers = [made(int(step)) for step in steps[::5]]
        of_unsigned = made(counted.astype(jnp.uint32))
    bound = 4 * 2.0**-24 * max(abs(first), np.abs(expected).max())
    np.testing.assert_allclose(of_arrays, expected, rtol=0.0, atol=bound)
    np.testing.assert_allclose(of_unsigned, expected, rtol=0.0, atol=bound)
    np.testing.assert_allclose(of_numbers, expected[::5], rtol=0.0, atol=bound)


@pytest.mark.parametrize("n", FIRST)
def test_optimizers_count_exactly_for_schedules(n):
    rate = mlax.schedule.PiecewiseConstant(0.5, [n, n + 1], [0.5, 0.5])
    with jax.enable_x64(False):
        weights = jnp.ones(())
        state, hyperparams = optim.Sgd.init(weights, rate)
        taken = []
        for step in (n - 1, n, n + 1):
            at = state._replace(step=jnp.asarray(step, jnp.int32))
            taken.append(float(hyperparams.apply(weights, at, weights)[0]))
    assert taken == [-0.5, -0.25, -0.125]


def test_a_function_of_the_step_gets_a_floating_number():
    """`jnp.full_like(step, 0.1)` of an integer is 0."""
    joined = mlax.schedule.Join([_like, _like], [3])
    assert joined(2) == pytest.approx(0.1)
    assert joined(5) == pytest.approx(0.1)
    weights = jnp.ones((), jnp.float32)
    state, hyperparams = optim.Sgd.init(weights, _like)
    updates, _ = hyperparams.apply(weights, state, weights)
    assert float(updates) == pytest.approx(-0.1)


def _like(step):
    assert jnp.issubdtype(step.dtype, jnp.floating)
    return jnp.full_like(step, 0.1)


def test_a_function_that_takes_integers_gets_them():
    class Odd:
        takes_integers = True

        def __call__(self, step):
            return jnp.where(step % 2 == 1, 1.0, 0.0)

    with jax.enable_x64(False):
        weights = jnp.ones(())
        state, hyperparams = optim.Sgd.init(weights, Odd())
        for step in (2**24, 2**24 + 1):
            at = state._replace(step=jnp.asarray(step, jnp.int32))
            assert float(hyperparams.apply(weights, at, weights)[0]) == -(step % 2)


def test_steps_that_integers_do_not_hold():
    """A boundary that is never reached, and steps of wider integers: neither wraps around."""
    far = mlax.schedule.PiecewiseConstant(0.5, [3_000_000_000], [0.1])
    slow = mlax.schedule.Linear(0.0, 1.0, 8, transition_begin=3_000_000_000)
    with jax.enable_x64(False):
        for step in (5, 2**31 - 1, np.int64(2**40), jnp.uint32(2**32 - 1)):
            assert far(step) == 0.5
            assert slow(step) == 0.0
        assert mlax.schedule.InverseSqrt(1.0, 2**20)(2**40) <= 0.03
    assert far(3_000_000_000) == pytest.approx(0.05)


@pytest.mark.parametrize("name", names())
def test_optimizers_step_as_with_scalars_of_float64(name):
    """What follows from the number of the step, where it is computed in float32."""
    updates = {}
    for wide in (False, True):
        with jax.enable_x64(wide), jax.numpy_dtype_promotion("strict"):
            updates[wide] = _steps_after(name)
    for got, expected in zip(*map(jax.tree.leaves, updates.values()), strict=True):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=2e-5 * scale)


def _steps_after(name: str) -> list[Any]:
    """The updates of step n + 1 for each n, after a step that filled the moments."""
    generator = np.random.default_rng(0)
    weights, gradients = (
        {
            path: generator.normal(size=shape).astype(np.float32)
            for path, shape in (("kernel", (4, 6)), ("bias", (4,)))
        }
        for _ in range(2)
    )
    if name in PER_EXAMPLE:
        gradients = jax.tree.map(lambda g: np.stack([g, g]), gradients)
    turned = jax.tree.map(lambda g: np.float32(1.5) - g, gradients)

    def loss(w: Any) -> Any:
        squares = jax.tree.map(lambda a: jnp.vdot(a, a) / 2, w)
        total = sum(jax.tree.leaves(squares), jnp.ones((), jnp.float32))
        return total.astype(jnp.result_type(float))

    @functools.partial(jax.jit, static_argnames="decay_offset")
    def begin(weights: Any, **settings: Any) -> Any:
        return create(name, weights, **settings)

    @jax.jit
    def step(gradients: Any, state: Any, weights: Any, hyperparams: Any) -> Any:
        inputs = {
            "value": loss(weights),
            "value_and_gradients": jax.value_and_grad(loss),
            "key": jax.random.key(0),
        }
        return hyperparams.apply(gradients, state, weights, **inputs)

    found = []
    for n in FIRST:
        settings = {"decay_offset": n - 5} if name == "Adafactor" else {}
        state, hyperparams = begin(weights, **settings)
        _, state = step(gradients, state, weights, hyperparams)
        state = jax.tree_util.tree_map_with_path(functools.partial(_counted, n), state)
        updates, _ = step(turned, state, weights, hyperparams)
        found.append(jax.tree.map(np.asarray, updates))
    return found


def _counted(n: int, path: Any, leaf: Any) -> Any:
    """The number of the step in the place of that of a state."""
    is_step = getattr(path[-1], "name", "") == "step"
    return np.full(leaf.shape, n, leaf.dtype) if is_step else leaf
