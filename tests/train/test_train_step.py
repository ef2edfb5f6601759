"""A step from a loss: beside one that is written out, on both surfaces, in parts, and in float16."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from train_models import batches, created, equal, modules, pairs

from mlax import optim, train


def test_a_step_is_the_one_that_is_written_out():
    state, optimizer, loss = created()
    step = jax.jit(train.step(loss, optimizer))

    @jax.jit
    def written(trainables, non_trainables, adam, key, batch):
        def objective(trainables):
            value, after, _ = loss(trainables, non_trainables, batch, key)
            return value, after

        (value, after), gradients = jax.value_and_grad(objective, has_aux=True)(
            trainables
        )
        updates, adam = optim.Adam.step(gradients, adam, trainables, optimizer[1])
        return optim.apply_updates(trainables, updates), after, adam, value

    of_hyperparams = jax.jit(train.step(loss, optimizer[1]))
    [batch] = batches(1)
    equal(step(state, batch), of_hyperparams(state, batch))

    ours = theirs = state
    for number, batch in enumerate(batches(4)):
        ours, measured = step(ours, batch)
        key, _ = jax.random.split(jax.random.fold_in(state.key, number))
        trainables, after, adam, value = written(
            theirs.trainables, theirs.non_trainables, theirs.optimizer, key, batch
        )
        theirs = train.State(trainables, after, adam, state.key, ours.step, None)
        equal(ours, theirs)
        assert measured["loss"] == value
        assert measured["largest"] > 0
    assert int(ours.step) == 4


def test_each_step_draws_anew_and_the_same_step_the_same():
    state, optimizer, loss = created(rate=0.5)
    step = jax.jit(train.step(loss, optimizer))
    [batch] = batches(1)
    first, measured = step(state, batch)
    again, repeated = step(state, batch)
    equal((first, measured), (again, repeated))
    later = state._replace(step=state.step + 1)
    assert step(later, batch)[1]["loss"] != measured["loss"]


def test_modules_are_trained_by_the_same_function():
    net, params = modules()
    trainables, rest = params.split()
    optimizer = optim.Adam.init(trainables, 0.05)

    losses, traced = [], 0

    @train.loss_of_params
    def loss(params, batch, key):
        nonlocal traced
        traced += 1
        x, target = batch
        y, params = net(params, x)
        return jnp.mean((y - target) ** 2), params, {"size": jnp.mean(jnp.abs(y))}

    state = train.init(trainables, rest, optimizer, jax.random.key(0))
    before = np.asarray(params["net", "norm", "mean"].value)
    step = jax.jit(train.step(loss, optimizer), donate_argnums=0)
    for batch in batches(150, size=32):
        state, measured = step(state, batch)
        losses.append(measured["loss"])
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])
    after = state.trainables.merge(state.non_trainables)
    assert list(after) == list(params)
    # Averages moved with the steps.
    assert not jnp.array_equal(after["net", "norm", "mean"].value, before)
    assert traced == 1


@pytest.mark.parametrize("count", [2, 4])
def test_parts_of_a_batch_have_the_gradient_of_the_whole(count: int):
    optimizer = lambda weights: optim.Sgd.init(weights, 0.1)  # noqa: E731
    state, made, _ = created(optimizer, rate=0.0)
    kernel = state.trainables.layers[0]

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        x, target = batch
        y = x @ trainables.layers[0].kernel[:, :2]
        return jnp.mean((y - target) ** 2), non_trainables, {"rows": len(x)}

    [batch] = batches(1, size=16)
    whole, expected = jax.jit(train.step(loss, made))(state, batch)
    parts, measured = jax.jit(train.step(loss, made, micro_batches=count))(state, batch)
    np.testing.assert_allclose(
        parts.trainables.layers[0].kernel, whole.trainables.layers[0].kernel, rtol=2e-6
    )
    assert not jnp.array_equal(whole.trainables.layers[0].kernel, kernel.kernel)
    np.testing.assert_allclose(measured["loss"], expected["loss"], rtol=1e-6)
    assert measured["rows"] == 16 / count


def test_the_state_goes_from_part_to_part_and_each_part_draws_for_itself():
    state, made, _ = created()

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        drawn = jax.random.uniform(key)
        after = [*non_trainables, drawn][-4:]
        weight = jnp.sum(trainables.layers[0].kernel)
        return weight * 0.0, after, {"square": drawn**2, "drawn": drawn}

    state = state._replace(non_trainables=[jnp.zeros(())] * 4)
    step = jax.jit(train.step(loss, made, micro_batches=4))
    [batch] = batches(1)
    after, measured = step(state, batch)
    draws = jnp.stack(after.non_trainables)
    assert len(jnp.unique(draws)) == 4
    np.testing.assert_allclose(measured["drawn"], draws.mean(), rtol=1e-6)


def test_gradients_of_parts_of_16_bits_do_not_stall():
    weights = {"w": jnp.zeros((), jnp.bfloat16)}
    made = optim.Sgd.init(weights, 1.0)

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        return jnp.mean(trainables["w"] * batch), non_trainables

    # A sum in bfloat16 of 1,024 ones ends at 256.
    batch = jnp.ones((1024, 1), jnp.bfloat16)
    state = train.init(weights, None, made, jax.random.key(0))
    after, measured = jax.jit(train.step(loss, made, micro_batches=1024))(state, batch)
    assert after.trainables["w"] == -1.0
    assert after.trainables["w"].dtype == jnp.bfloat16
    assert measured["loss"].dtype == jnp.bfloat16


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16])
def test_the_average_is_that_of_the_weights(dtype: Any):
    weights = {"w": jnp.asarray([1.0, -2.0], dtype)}
    made = optim.Sgd.init(weights, 0.125)

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        return jnp.sum(trainables["w"] ** 2), non_trainables

    state = train.init(weights, None, made, jax.random.key(0), average=True)
    assert state.average["w"].dtype == jnp.float32
    step = jax.jit(train.step(loss, made, average_decay=0.999))
    expected = np.asarray(weights["w"], np.float64)
    for _ in range(20):
        state, _ = step(state, None)
        expected = 0.999 * expected + 0.001 * np.asarray(
            state.trainables["w"], np.float64
        )
    np.testing.assert_allclose(state.average["w"], expected, rtol=1e-5)
    assert train.averaged(state)["w"].dtype == dtype


def test_the_loss_is_scaled_where_the_optimizer_unscales():
    weights = {"w": jnp.asarray(2.0, jnp.float16)}

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        # Its gradient, 2 ** -26, is zero in float16.
        return trainables["w"] * batch * 2.0**-13, non_trainables

    inner = optim.Sgd.init(
        jax.tree.map(lambda w: w.astype(jnp.float32), weights), 2.0**25
    )
    made = optim.DynamicLossScaling.init(inner)
    state = train.init(weights, None, made, jax.random.key(0))
    step = jax.jit(train.step(loss, made))
    after, measured = step(state, jnp.asarray(2.0**-13, jnp.float16))
    assert after.trainables["w"] == 1.5
    # What is measured has no scale.
    assert measured["loss"] == jnp.asarray(2.0**-25, jnp.float16)
    plain = optim.Sgd.init(weights, 2.0**15)
    state = train.init(weights, None, plain, jax.random.key(0))
    unscaled, _ = jax.jit(train.step(loss, plain))(
        state, jnp.asarray(2.0**-13, jnp.float16)
    )
    assert unscaled.trainables["w"] == 2.0


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_a_line_search_evaluates_the_loss_of_this_batch(micro_batches: int):
    search = lambda weights: optim.ZoomSearch.init(optim.Sgd.init(weights, 1.0))  # noqa: E731
    state, made, loss = created(search, rate=0.0)
    step = jax.jit(train.step(loss, made, micro_batches=micro_batches))
    [batch] = batches(1)
    values = []
    for _ in range(5):
        state, measured = step(state, batch)
        values.append(float(measured["loss"]))
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.7 * values[0]


def test_parts_are_taken_across_a_batch():
    state, made, _ = created(rate=0.0)

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        return jnp.sum(trainables.layers[0].bias), [*non_trainables[1:], batch]

    state = state._replace(non_trainables=[jnp.zeros(2, jnp.int32)] * 3)
    step = jax.jit(train.step(loss, made, micro_batches=3))
    after, _ = step(state, jnp.arange(6, dtype=jnp.int32))
    assert [part.tolist() for part in after.non_trainables] == [[0, 3], [1, 4], [2, 5]]


def test_the_optimizer_draws_with_a_key_of_its_own():
    seen: list[Any] = []

    class Drawing:
        def apply(self, gradients: Any, state: Any, trainables: Any, **given: Any):
            seen.append(jax.random.key_data(given["key"]))
            return jax.tree.map(jnp.zeros_like, trainables), state

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        seen.append(jax.random.key_data(key))
        return jnp.sum(trainables.layers[0].bias), non_trainables

    state, _, _ = created()
    step = train.step(loss, Drawing())
    with jax.debug_key_reuse(True):
        state, _ = step(state, None)
        step(state, None)
    assert len({tuple(np.asarray(key).tolist()) for key in seen}) == 4


def _returning(result: Any) -> Any:
    return lambda trainables, non_trainables, batch, key: result(
        jnp.sum(trainables.layers[0].kernel), non_trainables
    )


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (_returning(lambda v, n: v), r"\(value, non_trainables\) or .* got "),
        (_returning(lambda v, n: (v,)), "got a tuple of 1"),
        (_returning(lambda v, n: (v[None], n)), r"floating scalar.* got float32\[1\]"),
        (_returning(lambda v, n: (3, n)), r"floating scalar.* got int32\[\]"),
        (_returning(lambda v, n: (v, n, v)), "metrics must be a dict"),
        (_returning(lambda v, n: (v, n, {"loss": v})), "without 'loss'"),
    ],
)
def test_a_loss_that_returns_something_else_is_told_so(loss: Any, message: str):
    state, made, _ = created()
    with pytest.raises((TypeError, ValueError), match=message):
        train.step(loss, made)(state, None)


def test_what_does_not_fit_is_named():
    state, made, loss = created()
    [batch] = batches(1, size=6)
    with pytest.raises(ValueError, match=r"micro_batches is 4.* \(6, 4\)"):
        train.step(loss, made, micro_batches=4)(state, batch)
    with pytest.raises(ValueError, match="micro_batches must be an integer"):
        train.step(loss, made, micro_batches=0)
    with pytest.raises(ValueError, match=r"no average and average_decay=0\.9"):
        train.step(loss, made, average_decay=0.9)(state, batch)
    averaged, made, loss = created(average=True)
    with pytest.raises(ValueError, match="an average and average_decay=None"):
        train.step(loss, made)(averaged, batch)
    with pytest.raises(ValueError, match="the state has no average"):
        train.averaged(state)
    with pytest.raises((TypeError, ValueError), match=r"train\.step: optimizer"):
        train.step(loss, state.optimizer)
    trainables, non_trainables, hyperparams = pairs()
    with pytest.raises((TypeError, ValueError), match=r"train\.init: optimizer"):
        train.init(trainables, non_trainables, hyperparams, jax.random.key(0))
    with pytest.raises(TypeError, match="one PRNG key"):
        train.init(trainables, non_trainables, made, 0)  # type: ignore[arg-type]
