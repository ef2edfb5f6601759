"""States of running metrics lose nothing, are carried, mapped and merged over devices."""

from __future__ import annotations

import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numerics_programs import run_on_devices

from mlax import metric

_BATCHES = 1_000_000


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_mean_of_a_million_half_precision_batches_is_exact_to_its_bound(dtype):
    # A tenth, and a large number in every hundredth batch, which a float32 sum would not
    # add up: it stands still, or drifts, long before.
    values = jnp.array([0.1, 3.0, 1000.0], dtype)
    kind = metric.Mean()

    def step(state, number):
        batch = jnp.where(number % 100 == 0, values, jnp.flip(values) / 8)
        return kind.update(state, batch), None

    state, _ = jax.jit(lambda: lax.scan(step, kind.init(), jnp.arange(_BATCHES)))()
    exact = [Fraction(float(v)) for v in values]
    others = [Fraction(float(v)) for v in jnp.flip(values) / 8]
    wanted = (sum(exact) + 99 * sum(others)) / 300
    assert int(state.number.high) * 2**16 + int(state.number.low) == 3 * _BATCHES
    assert abs(Fraction(float(kind.result(state))) / wanted - 1) < Fraction(1, 2**22)
    # The sum itself has about twice the digits.
    total = Fraction(float(state.total.high)) + Fraction(float(state.total.low))
    assert abs(total / (wanted * 3 * _BATCHES) - 1) < Fraction(1, 2**40)


def test_a_float32_sum_would_not_do():
    def step(total, _):
        return total + jnp.float32(1.0), None

    total, _ = jax.jit(lambda: lax.scan(step, jnp.float32(2**24 - 8), length=16))()
    assert total == 2**24
    part = metric.Total(jnp.float32(2**24 - 8), jnp.float32(0.0))
    one = metric.Total(jnp.float32(1.0), jnp.float32(0.0))
    summed, _ = jax.jit(
        lambda: lax.scan(lambda s, _: (s.add(one), None), part, length=17)
    )()
    assert float(summed.high) + float(summed.low) == 2**24 + 9


def test_counts_are_exact_beyond_what_an_int32_and_a_float32_hold():
    large = metric.Count.of(jnp.array([2**31 - 1, 2**24 + 1, 0]))
    total = metric.Count.zeros((3,))
    for _ in range(5):
        total = total.add(large)
    total = total.add(total)
    exact = [int(h) * 2**16 + int(low) for h, low in zip(*total, strict=True)]
    assert exact == [10 * (2**31 - 1), 10 * (2**24 + 1), 0]
    assert total.low.dtype == total.high.dtype == jnp.int32
    assert jnp.all((total.low >= 0) & (total.low < 2**16))
    np.testing.assert_allclose(total.floating(jnp.float32), exact, rtol=2**-23)


def test_infinite_numbers_stay_infinite_and_nan_stays_nan():
    kind = metric.Mean()
    state = kind.update(kind.of(jnp.array([jnp.inf, 1.0])), jnp.array([2.0]))
    assert kind.result(state) == jnp.inf
    state = kind.update(kind.of(jnp.array([jnp.nan, 1.0])), jnp.array([2.0]))
    assert jnp.isnan(kind.result(state))


def test_a_variance_does_not_cancel():
    values = np.random.default_rng(0).normal(size=(50, 64)) + 3000.0
    kind = metric.Variance()

    def step(state, batch):
        return kind.update(state, batch), None

    state, _ = lax.scan(step, kind.init(), jnp.asarray(values, jnp.float32))
    exact = np.var(values.astype("float32").astype("float64"))
    # The mean of squares less the square of the mean would be off by more than 1.
    np.testing.assert_allclose(kind.result(state), exact, rtol=1e-4)


_BATCH = {
    "mean": (metric.Mean(), (np.arange(12.0),)),
    "accuracy": (metric.Accuracy(), (np.eye(12), np.arange(12) // 2)),
    "f1": (metric.F1(3), (np.arange(12) % 3, np.arange(12) % 2)),
    "auc": (metric.AUC(bins=8), (np.arange(12.0) / 12, np.arange(12) % 2)),
    "r2": (metric.R2(), (np.arange(12.0), np.arange(12.0) ** 2)),
    "variance": (metric.Variance(), (np.arange(12.0) ** 2,)),
}


@pytest.mark.parametrize("name", _BATCH)
def test_compiled_scanned_and_mapped_it_is_the_same(name):
    kind, arrays = _BATCH[name]
    folded = [a.reshape(4, 3, *a.shape[1:]) for a in arrays]
    whole = kind.result(kind.of(*arrays))

    @jax.jit
    def scanned(*batches):
        return lax.scan(
            lambda state, batch: (kind.update(state, *batch), None),
            kind.init(),
            batches,
        )[0]

    np.testing.assert_allclose(kind.result(scanned(*folded)), whole, rtol=1e-6)
    alone = jax.jit(lambda *batch: kind.result(kind.of(*batch)))
    results = np.asarray(jax.jit(jax.vmap(alone))(*folded))
    for i in range(4):
        one = alone(*(a[i] for a in folded))
        np.testing.assert_allclose(results[i], one, rtol=1e-6)

    @jax.jit
    @functools.partial(jax.vmap, axis_name="i")
    def reduced(*batch):
        return kind.result(kind.reduce(kind.of(*batch), "i"))

    np.testing.assert_allclose(reduced(*folded), np.full(4, whole), rtol=1e-6)


def test_a_metric_is_static_and_equal_by_value():
    def traced(kind, x):
        traces.append(kind)
        return kind.of(x)

    traces = []
    compiled = jax.jit(traced)
    for _ in range(2):
        compiled(metric.Mean(dtype="float32"), jnp.ones(3))
    assert len(traces) == 1
    assert not jax.tree.leaves(metric.F1(3))
    assert metric.F1(3) == metric.F1(3, average="macro") != metric.F1(4)
    assert "classes=3" in repr(metric.F1(3))


def test_a_metric_of_ones_own_is_updated_merged_and_reduced():
    class PositiveMean(metric.Metric):
        """The mean of the values that are positive."""

        def init(self):
            return {
                "sum": metric.Total.zeros("float32"),
                "number": metric.Count.zeros(),
            }

        def of(self, values, where=None):
            chosen = (values > 0) if where is None else (values > 0) & where
            return {
                "sum": metric.Total.of(values, chosen),
                "number": metric.Count.of(jnp.sum(chosen, dtype=jnp.int32)),
            }

        def result(self, state):
            return state["sum"].high / state["number"].floating("float32")

    kind = PositiveMean()
    state = kind.update(kind.init(), jnp.array([1.0, -2.0, 4.0], jnp.float32))
    state = kind.merge(state, kind.of(jnp.array([4.0], jnp.float32)))
    assert kind.result(state) == 3.0


_DEVICES = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from mlax import metric

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("hosts", "devices"))
names = ("hosts", "devices")
random = np.random.default_rng(0)
x = jnp.asarray(random.normal(size=64) * 1e4, jnp.float32)
y = x + 1.0
labels = jnp.asarray(random.integers(0, 3, 64))
guesses = jnp.asarray(random.integers(0, 3, 64))
cases = [
    (metric.Mean(), (x,)),
    (metric.R2(), (x, y)),
    (metric.Variance(), (x,)),
    (metric.F1(3), (guesses, labels)),
    (metric.AUC(), (x / 1e5, labels)),
]
for kind, arrays in cases:
    def of(*batch):
        return kind.reduce(kind.of(*batch), names)

    # The result is the same on all devices, as `out_specs=P()` demands.
    spread = jax.jit(
        jax.shard_map(of, mesh=mesh, in_specs=(P(names),) * len(arrays), out_specs=P())
    )
    result, whole = kind.result(spread(*arrays)), kind.result(kind.of(*arrays))
    np.testing.assert_allclose(result, whole, rtol=1e-6)
    parts = [a.reshape(8, 8) for a in arrays]
    mapped = jax.pmap(lambda *b: kind.reduce(kind.of(*b), "i"), axis_name="i")(*parts)
    mapped = jax.tree.map(lambda a: a[3], mapped)
    np.testing.assert_allclose(kind.result(mapped), whole, rtol=1e-6)

# What is a count may be summed by `psum` itself, and stays exact.
full = metric.Count(jnp.full(8, 2**20), jnp.full(8, 2**16 - 1))
summed = jax.pmap(lambda c: jax.lax.psum(c, "i"), axis_name="i")(full)
again = metric.Count(*(a[0] for a in summed)).add(metric.Count.zeros())
assert int(again.high) * 2**16 + int(again.low) == 8 * (2**36 + 2**16 - 1)

# A sum over devices keeps what float32 would lose.
total = metric.Total(jnp.asarray([2.0**24] + [1.0] * 7, jnp.float32), jnp.zeros(8))
summed = jax.pmap(lambda t: t.reduce("i"), axis_name="i")(total)
assert float(summed.high[0]) + float(summed.low[0]) == 2.0**24 + 7
print("equal on", len(jax.devices()))
"""


def test_over_devices_the_state_is_that_of_all_examples():
    assert run_on_devices(_DEVICES) == "equal on 8\n"
