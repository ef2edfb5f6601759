"""Groups of weights, names of optimizers and hyperparameters that are arrays, against optax."""

import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numerics_optimizers import falling
from numerics_steps import Pair, assert_parity

from mlax import optim

WEIGHTS = {
    "layer": {"kernel": jnp.ones((3, 2)), "bias": jnp.ones(2)},
    "scale": jnp.ones(()),
}
KINDS = {"matrix": "a", "scalar": "b", "vector": "b", "zero": "a"}
"""Labels of the weights of the comparison."""


def kind(path: str, weight: Any) -> str:
    return KINDS[path]


def adam(weights: Any) -> Any:
    return optim.Adam.init(weights, 0.1, epsilon=1e-4)


def of_each(weights: Any) -> Any:
    return {"a": adam(weights), "b": optim.Sgd.init(weights, 0.1, 0.9)}


def of_optax() -> Any:
    return {"a": optax.adam(0.1, eps=1e-4), "b": optax.sgd(0.1, 0.9)}


def injected(weights: Any) -> Any:
    return optim.inject(adam(weights), learning_rate=falling, b1=0.8, epsilon=1e-3)


PAIRS = (
    Pair(
        "partition",
        lambda w: optim.partition(w, of_each(w), kind),
        lambda: optax.partition(of_optax(), KINDS),
    ),
    Pair(
        "partition_by_a_tree",
        lambda w: optim.partition(w, of_each(w), KINDS),
        lambda: optax.partition(of_optax(), KINDS),
    ),
    Pair(
        "named_chain",
        lambda w: optim.named_chain(
            {"clip": optim.ClipByGlobalNorm.init(w, 1.0), "adam": adam(w)}
        ),
        lambda: optax.named_chain(
            ("clip", optax.clip_by_global_norm(1.0)),
            ("adam", optax.adam(0.1, eps=1e-4)),
        ),
    ),
    Pair(
        "inject",
        injected,
        lambda: optax.inject_hyperparams(optax.adam)(falling, b1=0.8, eps=1e-3),
    ),
    Pair(
        "masked_by_a_tree",
        lambda w: optim.Masked.init(
            w, adam(w), {n: k == "a" for n, k in KINDS.items()}
        ),
        lambda: optax.masked(
            optax.adam(0.1, eps=1e-4), {n: k == "a" for n, k in KINDS.items()}
        ),
    ),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_takes_the_steps_of_optax(pair):
    assert_parity(pair)


def test_a_mask_may_end_above_the_weights():
    state, hyperparams = optim.Masked.init(
        WEIGHTS, adam(WEIGHTS), {"layer": True, "scale": np.False_}
    )
    updates, _ = hyperparams.apply(WEIGHTS, state, WEIGHTS)
    assert state.optimizer.mean["scale"] is None
    assert updates["scale"] == 1.0
    assert (updates["layer"]["kernel"] < 0.0).all()


def test_equal_masks_are_equal_hyperparameters():
    trees = [
        {"layer": {"kernel": k, "bias": False}, "scale": False} for k in (True, True)
    ]
    first, second = (optim.AdamW.init(WEIGHTS, 0.1, mask=t)[1] for t in trees)
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == first


@pytest.mark.parametrize(
    "mask", [{"layer": True}, {"layer": True, "scale": 1.0}, [True], "kernel", 1]
)
def test_what_is_no_mask_of_these_weights_is_refused(mask):
    with pytest.raises(ValueError, match=r"AdamW: mask must be .* or a tree of bools"):
        optim.AdamW.init(WEIGHTS, 0.1, mask=mask)


def test_a_tree_that_selects_no_weight_is_a_warning_or_an_error():
    none = jax.tree.map(lambda _: False, WEIGHTS)
    with pytest.warns(UserWarning, match="AdamW: mask selects no weight"):
        optim.AdamW.init(WEIGHTS, 0.1, mask=none)
    with pytest.raises(ValueError, match="Masked: mask selects no weight"):
        optim.Masked.init(WEIGHTS, adam(WEIGHTS), none)


def test_the_states_of_groups_are_kept_for_their_weights_alone():
    state, _ = optim.partition(
        WEIGHTS, of_each(WEIGHTS), lambda path, weight: "a" if weight.ndim == 2 else "b"
    )
    assert state["a"].mean["layer"]["bias"] is None
    assert state["b"].trace["layer"]["kernel"] is None
    assert state["b"].trace["scale"].shape == ()


def test_groups_may_have_chains_with_names():
    inner = optim.named_chain(
        {"clip": optim.Clip.init(WEIGHTS, 1.0), "adam": adam(WEIGHTS)}
    )
    optimizers = {"a": inner, "b": optim.Sgd.init(WEIGHTS, 0.1)}
    state, hyperparams = optim.partition(
        WEIGHTS, optimizers, {"layer": "a", "scale": "b"}
    )
    assert state["a"]["adam"].mean["scale"] is None
    updates, new = jax.jit(hyperparams.apply)(WEIGHTS, state, WEIGHTS)
    assert updates["scale"] == pytest.approx(-0.1)
    assert jax.tree.structure(new) == jax.tree.structure(state)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ({"layer": "a", "scale": "c"}, "label of scale is 'c', for which there is no"),
        ({"layer": "a", "scale": "a"}, "no weight has the label 'b'"),
        ({"layer": "a"}, "labels must be a hashable function"),
        (lambda path, weight: None, "label of layer/bias is None"),
    ],
)
def test_each_weight_is_in_exactly_one_group(labels, text):
    with pytest.raises(ValueError, match=text):
        optim.partition(WEIGHTS, of_each(WEIGHTS), labels)


def test_optimizers_without_names_are_refused():
    with pytest.raises(ValueError, match="named_chain: optimizers must be a mapping"):
        optim.named_chain([adam(WEIGHTS)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="what `init` of an optimizer returns"):
        optim.named_chain({"adam": adam(WEIGHTS)[0]})


def loss(weights: Any) -> Any:
    return sum(jnp.vdot(a, a) for a in jax.tree.leaves(weights))


def test_an_optimizer_of_a_group_evaluates_the_loss_with_the_other_weights():
    optimizers = {
        "a": optim.Sam.init(optim.Sgd.init(WEIGHTS, 0.1)),
        "b": optim.Sgd.init(WEIGHTS, 0.1),
    }
    state, hyperparams = optim.partition(
        WEIGHTS, optimizers, {"layer": "a", "scale": "b"}
    )
    value, gradients = jax.value_and_grad(loss)(WEIGHTS)
    updates, _ = hyperparams.apply(
        gradients,
        state,
        WEIGHTS,
        value=value,
        value_and_gradients=jax.value_and_grad(loss),
    )
    norm = float(np.sqrt(8 * 2.0**2))
    worst = 1.0 + 0.05 * 2.0 / norm
    np.testing.assert_allclose(
        updates["layer"]["kernel"], -0.1 * 2.0 * worst, rtol=1e-6
    )
    np.testing.assert_allclose(updates["scale"], -0.2, rtol=1e-6)


def test_a_number_that_is_an_array_changes_without_another_program():
    state, hyperparams = optim.inject(adam(WEIGHTS), learning_rate=0.1)
    traced = 0

    @jax.jit
    def step(state):
        nonlocal traced
        traced += 1
        return hyperparams.apply(WEIGHTS, state, WEIGHTS)

    small, _ = step(state)
    rate = jnp.full_like(state.values["learning_rate"], 0.2)
    large, new = step(state._replace(values={"learning_rate": rate}))
    np.testing.assert_allclose(large["scale"], 2.0 * small["scale"], rtol=1e-6)
    step(new)
    assert traced == 1


def test_a_traced_learning_rate_has_a_gradient_and_may_be_mapped():
    def moved(rate: Any) -> Any:
        state, hyperparams = optim.inject(
            optim.Sgd.init(WEIGHTS, 1.0), learning_rate=rate
        )
        updates, _ = hyperparams.apply(WEIGHTS, state, WEIGHTS)
        return updates["scale"]

    assert jax.grad(moved)(0.1) == -1.0
    np.testing.assert_allclose(jax.vmap(moved)(jnp.array([0.1, 0.2])), [-0.1, -0.2])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_numbers_that_are_arrays_widen_nothing(dtype):
    weights = jax.tree.map(lambda w: w.astype(dtype), WEIGHTS)
    plain, fixed = optim.Adam.init(weights, 0.1, b1=0.8)
    given = optim.Adam.init(weights, 1.0)
    state, hyperparams = optim.inject(given, learning_rate=0.1, b1=0.8)
    with jax.numpy_dtype_promotion("strict"):
        updates, new = jax.jit(hyperparams.apply)(weights, state, weights)
        expected, _ = jax.jit(fixed.apply)(weights, plain, weights)
    kinds = jax.tree.map(lambda a: (a.dtype, a.weak_type), new)
    assert kinds.optimizer == jax.tree.map(lambda a: (a.dtype, a.weak_type), plain)
    rtol = 4 * float(jnp.finfo(dtype).eps)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(
            np.float64(a), np.float64(b), rtol=rtol
        ),
        updates,
        expected,
    )


def test_the_value_of_a_schedule_is_in_the_state():
    state, hyperparams = optim.inject(adam(WEIGHTS), learning_rate=falling)
    for n in range(3):
        _, state = hyperparams.apply(WEIGHTS, state, WEIGHTS)
        np.testing.assert_allclose(state.values["learning_rate"], falling(n), rtol=1e-6)


def test_what_is_no_number_is_refused_and_named():
    with pytest.raises(ValueError, match=r"'nesterov' is no number .* Adam; those are"):
        optim.inject(adam(WEIGHTS), nesterov=True)
    with pytest.raises(
        ValueError, match="b1 must be one number, got an array of shape"
    ):
        optim.inject(adam(WEIGHTS), b1=jnp.ones(2))
    state, hyperparams = optim.inject(optim.AdaGrad.init(WEIGHTS, 0.1), epsilon=1e-3)
    with pytest.raises(ValueError, match="epsilon decides what AdaGrad computes"):
        jax.jit(hyperparams.apply)(WEIGHTS, state, WEIGHTS)


def test_an_array_is_no_number_where_hyperparameters_are_kept():
    with pytest.raises(ValueError, match="b1 must be a number"):
        optim.Adam.init(WEIGHTS, 0.1, b1=jnp.asarray(0.9))  # type: ignore[arg-type]
