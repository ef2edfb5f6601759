"""Gradients of each example, and the optimizers that take them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from train_models import IN, OUT, batches, equal

import mlax.graph as bx
from mlax import block, nn, optim, train

RATE, CLIP = 0.5, 0.25
MICRO = pytest.mark.parametrize("micro_batches", [1, 4])


def network(*between: Any, rate: float = 0.0) -> tuple[Any, Any, Any]:
    keys = jax.random.split(jax.random.key(7), 2)
    return block.Series.init(
        [
            nn.Linear.init(keys[0], IN, 8),
            nn.F.init(jnp.tanh),
            *between,
            nn.Dropout.init(rate),
            nn.Linear.init(keys[1], 8, OUT),
        ]
    )


def loss_of(hyperparams: Any) -> Any:
    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        x, target = batch
        y, after = hyperparams.apply(x, trainables, non_trainables, key=key)
        metrics = {"largest": jnp.max(jnp.abs(y)), "rows": len(x)}
        return jnp.mean((y - target) ** 2), after, metrics

    return loss


class Recording:
    """An optimizer that keeps the gradients it is given, and changes nothing."""

    gradients: Any = None

    def apply(self, gradients: Any, state: Any, trainables: Any, **given: Any) -> Any:
        self.gradients = gradients
        return jax.tree.map(jnp.zeros_like, trainables), state


def recorded(state: train.State, loss: Any, batch: Any, **options: Any) -> Any:
    """The gradients that the optimizer gets, the state after, and what was measured."""
    recording = Recording()
    step = train.step(loss, recording, per_example=True, **options)
    after, measured = step(state, batch)
    return recording.gradients, after, measured


def in_a_loop(loss: Any, state: train.State, batch: Any) -> tuple[Any, list[float]]:
    """Gradients and values of one example after the other, in float64."""
    wide = lambda tree: jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), tree)  # noqa: E731
    weights, (x, target) = wide(state.trainables), wide(batch)
    with jax.enable_x64(True):
        of_one = jax.value_and_grad(
            lambda *given: loss(*given, jax.random.key(0))[0], allow_int=True
        )
        rows = [
            of_one(weights, state.non_trainables, (x[i : i + 1], target[i : i + 1]))
            for i in range(len(x))
        ]
    stacked = jax.tree.map(lambda *g: np.stack(g), *(gradient for _, gradient in rows))
    return stacked, [float(value) for value, _ in rows]


def close(tree: Any, expected: Any) -> None:
    jax.tree.map(
        lambda a, e: np.testing.assert_allclose(a, e, rtol=2e-5, atol=1e-6),
        tree,
        expected,
    )


@MICRO
def test_gradients_are_those_of_a_loop_over_the_examples(micro_batches: int):
    trainables, non_trainables, hyperparams = network()
    loss = loss_of(hyperparams)
    state = train.init(
        trainables, non_trainables, (None, Recording()), jax.random.key(0)
    )
    [batch] = batches(1, size=8)
    given, _, measured = recorded(state, loss, batch, micro_batches=micro_batches)
    expected, values = in_a_loop(loss, state, batch)
    close(given, expected)
    np.testing.assert_allclose(measured["loss"], np.mean(values), rtol=1e-5)
    # The loss sees a batch of one, and metrics are means.
    assert measured["rows"] == 1
    largest = [
        jnp.max(jnp.abs(hyperparams.apply(row, trainables, non_trainables, True)[0]))
        for row in batch[0]
    ]
    np.testing.assert_allclose(measured["largest"], np.mean(largest), rtol=1e-5)


def clipped_mean(gradients: Any) -> Any:
    """The mean of gradients of which none is longer than CLIP."""
    leaves = jax.tree.leaves(gradients)
    norms = np.sqrt(sum((g.reshape(len(g), -1) ** 2).sum(1) for g in leaves))
    scale = np.minimum(1.0, CLIP / norms)
    assert scale.min() < 0.9
    return jax.tree.map(lambda g: np.tensordot(scale, g, 1) / len(g), gradients)


OPTIMIZERS = {
    "average": (
        optim.AverageExamples.init,
        lambda gradients: jax.tree.map(lambda g: g.mean(0), gradients),
    ),
    "clip": (lambda sgd: optim.ClipExamples.init(sgd, CLIP), clipped_mean),
    "private": (
        lambda sgd: optim.DifferentiallyPrivate.init(sgd, CLIP, 0.0),
        clipped_mean,
    ),
}


@MICRO
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_of_examples_step_along_them(name: str, micro_batches: int):
    make, combined = OPTIMIZERS[name]
    trainables, non_trainables, hyperparams = network()
    optimizer = make(optim.Sgd.init(trainables, RATE))
    loss = loss_of(hyperparams)
    state = train.init(trainables, non_trainables, optimizer, jax.random.key(0))
    step = train.step(loss, optimizer, per_example=True, micro_batches=micro_batches)
    step = jax.jit(step)
    for batch in batches(2, size=8):
        gradients, _ = in_a_loop(loss, state, batch)
        expected = jax.tree.map(
            lambda w, g: np.asarray(w, np.float64) - RATE * g,
            state.trainables,
            combined(gradients),
        )
        state, _ = step(state, batch)
        close(state.trainables, expected)


def test_noise_is_drawn_anew_in_each_step():
    trainables, non_trainables, hyperparams = network()
    sgd = optim.Sgd.init(trainables, 1.0)
    optimizer = optim.DifferentiallyPrivate.init(sgd, 1e-3, 1e3)
    state = train.init(trainables, non_trainables, optimizer, jax.random.key(0))
    step = jax.jit(train.step(loss_of(hyperparams), optimizer, per_example=True))
    [batch] = batches(1, size=4)
    moved = []
    for _ in range(2):
        after, _ = step(state, batch)
        kernels = (s.trainables.layers[0].kernel for s in (after, state))
        moved.append(np.subtract(*kernels))
        state = after
    # The deviation is noise_multiplier clip_norm / examples.
    np.testing.assert_allclose(np.std(moved), 0.25, rtol=0.3)
    assert abs(np.corrcoef(moved[0].ravel(), moved[1].ravel())[0, 1]) < 0.6


@MICRO
def test_each_example_has_a_key_of_its_own(micro_batches: int):
    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        drawn = jax.random.uniform(key)
        return drawn * trainables["w"], non_trainables, {"square": drawn**2}

    weights = {"w": jnp.ones(())}
    state = train.init(weights, None, (None, Recording()), jax.random.key(0))
    batch = jnp.zeros((8, 1))
    draws, after, measured = recorded(state, loss, batch, micro_batches=micro_batches)
    assert len(jnp.unique(draws["w"])) == 8
    np.testing.assert_allclose(measured["loss"], draws["w"].mean(), rtol=1e-6)
    np.testing.assert_allclose(measured["square"], (draws["w"] ** 2).mean(), rtol=1e-6)
    later, _, _ = recorded(after, loss, batch, micro_batches=micro_batches)
    assert len(jnp.unique(jnp.concatenate([draws["w"], later["w"]]))) == 16


def dropped() -> tuple[Any, bx.Rng, train.State]:
    """A loss of modules, whose gradient is what dropout leaves, and the `Rng` of it."""
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    net = bx.Sequential(
        graph.child("model"),
        [
            bx.Linear(graph.child("up"), output_size=64, rng=rng),
            bx.Dropout(graph.child("dropout"), 0.5, rng=rng),
        ],
    )

    @train.loss_of_params
    def loss(params: Any, batch: Any, key: Any) -> Any:
        y, params = net(params, batch)
        return jnp.sum(y), params

    params = net(rng.seed(bx.Params(), seed=1), jnp.ones((1, IN)))[1].locked()
    trainables, rest = params.split()
    return (
        loss,
        rng,
        train.init(trainables, rest, (None, Recording()), jax.random.key(0)),
    )


@MICRO
def test_modules_draw_for_each_example(micro_batches: int):
    loss, rng, state = dropped()
    batch = jnp.ones((8, IN))
    options = {"micro_batches": micro_batches}
    first, after, _ = recorded(state, loss, batch, **options)
    second, _, _ = recorded(after, loss, batch, **options)
    left = jnp.concatenate([g["net", "up", "bias"].value for g in (first, second)])
    assert left.shape == (16, 64)
    assert len({row.tobytes() for row in np.asarray(left)}) == 16
    # The seed is what it was, and the counter counts calls.
    before, now = (s.non_trainables for s in (state, after))
    equal(rng.get_seed(before), rng.get_seed(now))
    assert rng.get_counter(now) == rng.get_counter(before) + micro_batches


def test_modules_are_trained_by_clipped_gradients():
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    net = bx.Sequential(
        graph.child("model"),
        [
            bx.Linear(graph.child("up"), output_size=8, rng=rng),
            bx.LayerNorm(graph.child("norm")),
            bx.Dropout(graph.child("dropout"), 0.1, rng=rng),
            bx.Linear(graph.child("down"), output_size=OUT, rng=rng),
        ],
    )

    @train.loss_of_params
    def loss(params: Any, batch: Any, key: Any) -> Any:
        y, params = net(params, batch[0])
        return jnp.mean((y - batch[1]) ** 2), params

    params = net(rng.seed(bx.Params(), seed=1), jnp.ones((1, IN)))[1].locked()
    trainables, rest = params.split()
    optimizer = optim.ClipExamples.init(optim.Adam.init(trainables, 0.05), 1.0)
    state = train.init(trainables, rest, optimizer, jax.random.key(0))
    step = train.step(loss, optimizer, per_example=True, micro_batches=2)
    step, losses = jax.jit(step), []
    for batch in batches(60, size=16):
        state, measured = step(state, batch)
        losses.append(measured["loss"])
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])


@MICRO
def test_keys_and_counters_in_the_state_go_on(micro_batches: int):
    def loss(trainables: Any, state: Any, batch: Any, key: Any) -> Any:
        own, seed = jax.random.split(state["seed"])
        pair = jax.vmap(jax.random.uniform)(state["pair"])
        value = trainables["w"] * (jax.random.uniform(own) + jnp.sum(pair))
        return value, state | {"seed": seed, "calls": state["calls"] + 1}

    held = {
        "seed": jax.random.key(5),
        "pair": jax.random.split(jax.random.key(6), 2),
        "calls": jnp.zeros((), jnp.int32),
    }
    weights = {"w": jnp.ones(())}
    state = train.init(weights, held, (None, Recording()), jax.random.key(0))
    batch = jnp.zeros((4, 1))
    draws, after, _ = recorded(state, loss, batch, micro_batches=micro_batches)
    assert len(jnp.unique(draws["w"])) == 4
    equal(after.non_trainables["pair"], held["pair"])
    assert after.non_trainables["calls"] == micro_batches
    later, _, _ = recorded(after, loss, batch, micro_batches=micro_batches)
    assert len(jnp.unique(jnp.concatenate([draws["w"], later["w"]]))) == 8


def test_several_models_step_at_once():
    trainables, non_trainables, hyperparams = network(rate=0.25)
    optimizer = optim.AverageExamples.init(optim.Adam.init(trainables, 0.01))
    state = train.init(
        trainables,
        {"own": non_trainables, "calls": jnp.zeros(())},
        optimizer,
        jax.random.key(0),
    )
    inner = loss_of(hyperparams)

    def loss(trainables: Any, state: Any, batch: Any, key: Any) -> Any:
        value, own, metrics = inner(trainables, state["own"], batch, key)
        return value, {"own": own, "calls": state["calls"] + 1.0}, metrics

    step = train.step(loss, optimizer, per_example=True)
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), state)
    [batch] = batches(1, size=4)
    after, _ = jax.jit(jax.vmap(step, (0, None)))(states, batch)
    expected, _ = step(state, batch)
    assert after.non_trainables["calls"].tolist() == [1.0, 1.0]
    close(jax.tree.map(lambda leaf: leaf[1], after.trainables), expected.trainables)


@MICRO
@pytest.mark.parametrize("surface", ["pairs", "modules"])
def test_statistics_of_a_batch_are_refused(surface: str, micro_batches: int):
    if surface == "pairs":
        trainables, rest, hyperparams = network(nn.BatchNorm.init(jax.random.key(0), 8))
        loss, place = loss_of(hyperparams), "layers/2/mean, layers/2/var"
    else:
        graph = bx.Graph("net")
        rng = bx.Rng(graph.child("rng"))
        norm = bx.BatchNorm(graph.child("norm"))
        _, params = norm(rng.seed(bx.Params(), seed=1), jnp.ones((4, IN)))
        trainables, rest = params.locked().split()
        place = "net/norm/mean, net/norm/var"

        @train.loss_of_params
        def loss(params: Any, batch: Any, key: Any) -> Any:
            y, params = norm(params, batch[0])
            return jnp.mean(y), params

    state = train.init(trainables, rest, (None, Recording()), jax.random.key(0))
    [batch] = batches(1, size=8)
    with pytest.raises(ValueError, match=f"differs at {place};.*GroupNorm"):
        recorded(state, loss, batch, micro_batches=micro_batches)


def test_statistics_that_stand_still_are_none():
    trainables, rest, hyperparams = network(nn.BatchNorm.init(jax.random.key(0), 8))

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        x, target = batch
        y, after = hyperparams.apply(x, trainables, non_trainables, inference_mode=True)
        return jnp.mean((y - target) ** 2), after

    state = train.init(trainables, rest, (None, Recording()), jax.random.key(0))
    [batch] = batches(1, size=4)
    given, after, _ = recorded(state, loss, batch)
    equal(after.non_trainables, rest)
    close(given, in_a_loop(loss, state, batch)[0])


WEIGHTS = {"w": jnp.asarray([2.0, -1.0], jnp.float16)}


def scaled(weights: Any, **options: Any) -> Any:
    wide = jax.tree.map(lambda w: w.astype(jnp.float32), weights)
    return optim.DynamicLossScaling.init(optim.Sgd.init(wide, 0.5), **options)


def linear(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
    return jnp.sum(trainables["w"] * batch), non_trainables


def test_a_scaled_loss_has_the_mean_of_its_gradients():
    optimizer = optim.AverageExamples.init(scaled(WEIGHTS, initial_scale=1024))
    state = train.init(WEIGHTS, None, optimizer, jax.random.key(0))
    batch = jnp.asarray([[1.0, 0.5], [0.5, 1.0]], jnp.float16)
    step = jax.jit(train.step(linear, optimizer, per_example=True))
    after, measured = step(state, batch)
    assert after.trainables["w"].tolist() == [1.625, -1.375]
    assert measured["loss"] == 0.75


@pytest.mark.parametrize(
    "make",
    [
        lambda w: optim.ClipExamples.init(scaled(w), 1.0),
        lambda w: optim.DifferentiallyPrivate.init(scaled(w), 1.0, 1.0),
        lambda w: optim.DynamicLossScaling.init(
            optim.ClipExamples.init(optim.Sgd.init(w, 0.5), 1.0)
        ),
    ],
)
def test_a_scale_of_the_loss_is_none_of_norms(make: Any):
    weights = {"w": jnp.ones(2)}
    optimizer = make(weights)
    state = train.init(weights, None, optimizer, jax.random.key(0))
    with pytest.raises(
        ValueError, match=r"DynamicLossScaling.*clipped.*AverageExamples"
    ):
        train.step(linear, optimizer, per_example=True)(state, jnp.ones((2, 2)))


WHOLE = {"w": jnp.ones(2)}


@pytest.mark.parametrize(
    "inner",
    [
        lambda w: optim.Sam.init(optim.Sgd.init(w, 0.1)),
        lambda w: optim.ZoomSearch.init(optim.Sgd.init(w, 0.1)),
        lambda w: optim.Sophia.init(w, 0.1),
        lambda w: optim.Masked.init(
            w, optim.BacktrackingSearch.init(optim.Sgd.init(w, 0.1)), lambda p, x: True
        ),
        lambda w: optim.from_optax(optax.lbfgs(), w),
    ],
)
def test_an_optimizer_that_evaluates_the_loss_is_refused(inner: Any):
    optimizer = optim.AverageExamples.init(inner(WHOLE))
    state = train.init(WHOLE, None, optimizer, jax.random.key(0))
    with pytest.raises(ValueError, match="optimizer evaluates the loss itself"):
        train.step(linear, optimizer, per_example=True)(state, jnp.ones((2, 2)))


def test_an_optimizer_of_optax_that_does_not_is_none():
    optimizer = optim.AverageExamples.init(optim.from_optax(optax.adam(0.1), WHOLE))
    state = train.init(WHOLE, None, optimizer, jax.random.key(0))
    step = train.step(linear, optimizer, per_example=True)
    after, _ = step(state, jnp.ones((2, 2)))
    np.testing.assert_allclose(after.trainables["w"], 0.9, rtol=1e-5)


@pytest.mark.parametrize(
    ("batch", "found"),
    [
        ({"x": jnp.ones((4, 2)), "y": jnp.ones((3,))}, r"x \(4, 2\), y \(3,\)"),
        ({"x": jnp.ones((4, 2)), "weight": 1.0}, r"weight \(\), x \(4, 2\)"),
        (jnp.ones(()), r"the root \(\)"),
        (None, "no array"),
    ],
)
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_batches_have_examples_along_one_axis(
    batch: Any, found: str, micro_batches: int
):
    state = train.init(WHOLE, None, (None, Recording()), jax.random.key(0))
    with pytest.raises(ValueError, match=f"first axis, got {found}; .* non_trainables"):
        recorded(state, linear, batch, micro_batches=micro_batches)


def test_gradients_of_the_other_kind_say_what_to_do():
    sgd = optim.Sgd.init(WHOLE, 0.1)
    clipping = optim.ClipExamples.init(sgd, 1.0)
    batch = jnp.ones((3, 2))
    state = train.init(WHOLE, None, clipping, jax.random.key(0))
    with pytest.raises(
        ValueError, match=r"got \(2,\); train\.step\(\.\.\., per_example"
    ):
        train.step(linear, clipping)(state, batch)
    state = train.init(WHOLE, None, sgd, jax.random.key(0))
    with pytest.raises(ValueError, match=r"got \(3, 2\);.* are for ClipExamples"):
        train.step(linear, sgd, per_example=True)(state, batch)
    with pytest.raises(ValueError, match="per_example must be"):
        train.step(linear, sgd, per_example=2)  # type: ignore[arg-type]
