"""What tells an optimizer the axes of matrices: by functions, by trees, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax import optim

WEIGHTS = {
    "attention": {"query": jnp.ones((4, 2, 3)), "out": jnp.ones((2, 3, 4))},
    "bias": jnp.ones(4),
}
TREE = {"attention": {"query": "rcc", "out": "rrc"}, "bias": ""}


def axes_of(path, weight):
    return {"attention/query": "rcc", "attention/out": "rrc"}.get(path, "")


def step(axes, **given):
    state, hyperparams = optim.Muon.init(WEIGHTS, 0.1, axes=axes, **given)
    gradients = jax.tree.map(
        lambda w: jnp.sin(jnp.arange(w.size, dtype=w.dtype)).reshape(w.shape), WEIGHTS
    )
    updates, _ = hyperparams.apply(gradients, state, WEIGHTS)
    return state, updates


def test_a_tree_says_what_a_function_says():
    state, by_tree = step(TREE)
    _, by_function = step(axes_of)
    jax.tree.map(np.testing.assert_array_equal, by_tree, by_function)
    sizes = jax.tree.map(lambda moment: moment.size, state.square)
    assert sizes == {"attention": {"query": 0, "out": 0}, "bias": 4}


def test_a_text_stands_for_all_weights_below_it():
    _, whole = step({"attention": "rcc", "bias": ""})
    _, each = step({"attention": {"query": "rcc", "out": "rcc"}, "bias": ""})
    jax.tree.map(np.testing.assert_array_equal, whole, each)


def test_matrices_are_among_the_weights_that_may_be():
    state, _ = step(TREE, matrices=lambda path, weight: path.endswith("out"))
    assert state.square["attention"]["query"].shape == (4, 2, 3)
    assert state.square["attention"]["out"].shape == (0,)


@pytest.mark.parametrize("text", ["rc", "rrr", "rcx"])
def test_letters_that_do_not_fit_are_refused(text):
    told = rf"got '{text}' for 'attention/query' of shape \(4, 2, 3\)"
    with pytest.raises(ValueError, match=told):
        step({"attention": {"query": text, "out": "rrc"}, "bias": ""})


def test_what_is_no_text_is_refused():
    with pytest.raises(TypeError, match="got 2 for 'attention/out'"):
        step(lambda path, weight: 2)
    with pytest.raises(ValueError, match="Muon: axes must be a hashable function"):
        step({"attention": {"query": "rcc"}, "bias": ""})


def test_axes_of_no_weight_are_told():
    with pytest.warns(UserWarning, match="Muon: axes selects no weight"):
        step({"attention": "", "bias": ""})
