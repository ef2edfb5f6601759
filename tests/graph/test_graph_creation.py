"""A module's first call: what it makes, and that `init` is run once for it, and not traced before."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start

import mlax.graph as bx

X = jnp.linspace(-1.0, 1.0, 12).reshape(2, 6)


def several(graph: bx.Graph, rng: bx.Rng) -> list[tuple[Any, jax.Array]]:
    """Modules with one array, with state, with sub-layers, and with a list of them; an input each."""
    sequence = jnp.ones((2, 4, 6))
    return [
        (bx.Linear(graph.child("linear"), 3, rng=rng), X),
        (bx.BatchNorm(graph.child("norm"), rng=rng), X),
        (bx.LSTM(graph.child("lstm"), 3, rng=rng), sequence),
        (bx.MultiHeadAttention(graph.child("mha"), 2, rng=rng), sequence),
        (bx.MLP(graph.child("mlp"), 3, [5, 4], rng=rng), X),
    ]


KINDS = ["linear", "norm", "lstm", "attention", "mlp"]


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The functions that `jax.eval_shape` was asked of."""
    found: list[object] = []
    eval_shape = jax.eval_shape

    def noted(function, *args, **kwargs):
        found.append(function)
        return eval_shape(function, *args, **kwargs)

    monkeypatch.setattr(jax, "eval_shape", noted)
    return found


def values(params: bx.Params) -> dict[str, np.ndarray]:
    """All values by their paths, keys as the numbers in them."""
    return {
        "/".join(path): np.asarray(
            jax.random.key_data(param.value)
            if jnp.issubdtype(param.value.dtype, jax.dtypes.prng_key)
            else param.value
        )
        for path, param in params.items()
    }


def same(a: bx.Params, b: bx.Params) -> None:
    """Both have the same values, flags and metadata, in the same order."""
    assert list(a) == list(b)
    left, right = values(a), values(b)
    for path in left:
        np.testing.assert_array_equal(left[path], right[path], err_msg=path)
        assert left[path].dtype == right[path].dtype
    for path in a:
        assert (a[path].trainable, a[path].metadata) == (
            b[path].trainable,
            b[path].metadata,
        )


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_a_first_call_makes_what_an_outlined_one_makes(kind):
    graph, rng, params = start(seed=3)
    module, x = several(graph, rng)[kind]
    _, made = module(params, x)

    graph, rng, params = start(seed=3)
    module, x = several(graph, rng)[kind]
    module.outline(x)  # Now all shapes are known before.
    _, outlined = module(params, x)
    same(made, outlined)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_a_first_call_makes_what_a_compiled_one_makes(kind):
    graph, rng, params = start(seed=5)
    module, x = several(graph, rng)[kind]
    _, made = module(params, x)

    graph, rng, params = start(seed=5)
    module, x = several(graph, rng)[kind]
    compiled = jax.jit(lambda params, x: module(params, x)[1])(params, x)
    assert list(made) == list(compiled)
    assert {p: (v.shape, v.dtype) for p, v in values(made).items()} == {
        p: (v.shape, v.dtype) for p, v in values(compiled).items()
    }
    assert values(made)["model/rng/counter"] == values(compiled)["model/rng/counter"]


@pytest.mark.parametrize("kind", [0, 1, 2, 3], ids=KINDS[:4])
def test_init_runs_once_and_is_not_traced(kind, traced, monkeypatch):
    graph, rng, params = start()
    module, x = several(graph, rng)[kind]
    runs = []
    init = module.functions.init

    @functools.wraps(init)
    def counted(*args, **kwargs):
        runs.append(kwargs)
        return init(*args, **kwargs)

    monkeypatch.setattr(module.functions, "init", counted)
    call = getattr(module, "apply", module)  # All steps of a sequence.
    _, params = call(params, x)
    assert (len(runs), traced) == (1, [])
    call(params, x)
    assert (len(runs), traced) == (1, [])


def test_a_list_of_layers_is_outlined_since_its_length_is_not_declared(traced):
    graph, rng, params = start()
    module, x = several(graph, rng)[4]
    _, made = module(params, x)
    assert len(traced) == 1
    # Those of its arrays, which are three pairs, and that of its dropout.
    assert int(values(made)["model/rng/counter"]) == 3 * 2 + 1


def test_an_array_that_is_there_is_kept_and_takes_its_key():
    graph, rng, params = start(seed=9)
    module = bx.MultiHeadAttention(graph.child("mha"), 2, rng=rng)
    x = jnp.ones((2, 4, 6))
    _, made = module(params, x)

    path = next(path for path in made if path[:2] == ("model", "mha"))
    kept = jnp.full_like(made[path].value, 7.0)
    graph, rng, params = start(seed=9)
    module = bx.MultiHeadAttention(graph.child("mha"), 2, rng=rng)
    _, partly = module(params.add(path, kept, trainable=True), x)
    left, right = values(made), values(partly)
    assert set(left) == set(right)
    for name in left:
        expected = np.asarray(kept) if name == "/".join(path) else left[name]
        np.testing.assert_array_equal(right[name], expected, err_msg=name)


def test_a_layer_without_arrays_keeps_no_key():
    graph, rng, params = start()
    dropout = bx.Dropout(graph.child("dropout"), 0.0, rng=rng)
    # It declares a scale and a bias, and is to make none of them.
    norm = bx.LayerNorm(graph.child("norm"), use_scale=False, use_bias=False, rng=rng)
    for module in (dropout, norm):
        _, after = module(params, X, is_training=False)
        same(params, after)


@pytest.mark.parametrize("outlined", [False, True])
def test_locked_params_are_refused_before_anything_is_made(outlined, monkeypatch):
    graph, rng, params = start()
    module = bx.Linear(graph.child("linear"), 3, rng=rng)
    if outlined:
        module.outline(X)
    drawn = []
    monkeypatch.setattr(
        type(module), "_initialized", lambda *args: drawn.append(args) or 1 / 0
    )
    with pytest.raises(bx.LockedError, match="model/linear/"):
        module(params.locked(), X)
    assert drawn == []


def test_an_unseeded_generator_is_named():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    module = bx.Linear(graph.child("linear"), 3, rng=rng)
    with pytest.raises(ValueError, match="'model/rng'"):
        module(bx.Params(), X)


def test_a_module_without_a_generator_says_what_to_pass():
    module = bx.Linear(bx.Graph("model").child("linear"), 3)
    with pytest.raises(ValueError, match=r"pass rng=\.\.\., an Rng"):
        module(bx.Params(), X)


def test_another_size_after_the_first_call_is_refused():
    graph, rng, params = start()
    module = bx.Linear(graph.child("linear"), 3, rng=rng)
    _, params = module(params, X)
    with pytest.raises(ValueError, match="must have shape"):
        module(params, jnp.ones((2, 7)))


def test_new_params_of_a_known_module_are_made_alike():
    graph, rng, params = start(seed=1)
    module = bx.Linear(graph.child("linear"), 3, rng=rng)
    _, first = module(params, X)
    _, again = module(params, X)
    same(first, again)
    _, wider = module(params, jnp.ones((2, 7)))
    assert values(wider)["model/linear/kernel"].shape == (7, 3)


def test_params_that_lack_an_array_again_get_it_again():
    graph, rng, params = start(seed=4)
    module = bx.Linear(graph.child("linear"), 3, rng=rng)
    _, made = module(params, X)
    module(made, X)  # Now the module knows that these lack nothing.
    bias = ("model", "linear", "bias")
    without, _ = made.split(lambda path, _: path != bias)
    _, again = module(without, X)
    assert bias in again
    np.testing.assert_array_equal(values(again)["model/linear/bias"], 0.0)
    with pytest.raises(bx.LockedError, match="model/linear/bias"):
        module(without.locked(), X)


def test_another_attribute_after_a_call_is_seen():
    graph, rng, params = start(seed=4)
    module = bx.Linear(graph.child("linear"), 3, rng=rng, use_bias=False)
    _, params = module(params, X)
    module(params, X)
    module.use_bias = True
    _, params = module(params, X)
    assert ("model", "linear", "bias") in params
