"""Modules of one's own, as a program in blox writes them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from graph_blox import differs, start

ONES, NORMAL = jax.nn.initializers.ones, jax.nn.initializers.normal()


def scale(bx: Any) -> Any:
    """A module with one weight."""

    class Scale(bx.Module):
        def __init__(self, graph: Any, rng: Any = None) -> None:
            super().__init__(graph)
            self.rng = rng

        def __call__(self, params: Any, x: jax.Array) -> Any:
            init = ONES if self.rng is None else NORMAL
            weight, params = self.get_param(
                params, name="weight", shape=x.shape[-1:], init=init, rng=self.rng
            )
            return weight * x, params

    return Scale


def test_a_call_creates_what_is_missing(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    y, params = module(params, jnp.arange(3.0))
    assert y.tolist() == [0.0, 1.0, 2.0]
    assert params["net", "scale", "weight"].value.tolist() == [1.0, 1.0, 1.0]


def test_a_call_uses_what_is_there(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module(params, jnp.ones(3))
    params = module.set_param(params, "weight", jnp.full(3, 2.0))
    assert module(params.locked(), jnp.ones(3))[0].tolist() == [2.0, 2.0, 2.0]


def test_a_key_is_drawn_where_an_rng_is_given(bx: Any):
    graph, rng, params = start(bx)
    module = scale(bx)(graph.child("scale"), rng)
    _, params = module(params, jnp.ones(3))
    assert rng.get_counter(params) == 1


def test_a_key_is_drawn_for_what_ignores_it(bx: Any):
    graph, rng, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES, rng=rng)
    assert rng.get_counter(params) == 1


def test_a_module_knows_the_paths_of_its_parameters(bx: Any):
    graph, _, _ = start(bx)
    module = scale(bx)(graph.child("encoder").child("scale"))
    assert module.param_path("weight") == ("net", "encoder", "scale", "weight")


def test_a_name_may_have_a_slash(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a/b", (2,), ONES)
    assert ("net", "scale", "a/b") in params


def test_what_is_there_needs_no_shape(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES)
    assert module.get_param(params, "a")[0].shape == (2,)


def test_what_is_missing_does(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    with pytest.raises(KeyError, match="scale"):
        module.get_param(params, "a")


def test_locked_params_refuse_what_is_missing(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    with pytest.raises(KeyError, match="locked"):
        module.get_param(params.locked(), "a", (2,), ONES)


def test_a_parameter_has_a_dtype(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    value, _ = module.get_param(params, "a", (2,), ONES, jnp.bfloat16)
    assert value.dtype == jnp.bfloat16


def test_a_parameter_may_be_no_weight(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES, trainable=False)
    assert module.param_path("a") in params.split()[1]


def test_a_parameter_has_metadata(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES, metadata={"tag": "x"})
    assert params[module.param_path("a")].metadata["tag"] == "x"


def test_setting_leaves_the_flag(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES, trainable=False)
    params = module.set_param(params, "a", jnp.zeros(2))
    assert not params[module.param_path("a")].trainable


def test_setting_leaves_its_params(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES)
    module.set_param(params, "a", jnp.zeros(2))
    assert params[module.param_path("a")].value.sum() == 2.0


def test_a_flag_is_set_without_a_value(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES)
    frozen = module.set_param(params, "a", None, trainable=False)
    assert module.param_path("a") not in frozen.split()[0]
    assert module.param_path("a") in params.split()[0]


def in_the_place_of_what_is_there(bx: Any) -> None:
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES, metadata={"tag": "x"})
    before = params[module.param_path("a")].metadata
    params = module.set_param(params, "a", None, metadata={**before, "other": "y"})
    assert dict(params[module.param_path("a")].metadata) == {"tag": "x", "other": "y"}


@differs(AssertionError, in_the_place_of_what_is_there)
def test_metadata_are_added_to_what_is_there(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES, metadata={"tag": "x"})
    params = module.set_param(params, "a", None, metadata={"other": "y"})
    assert params[module.param_path("a")].metadata == {"tag": "x", "other": "y"}


def setting_creates(bx: Any) -> None:
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    params = module.set_param(params, "a", jnp.ones(2), trainable=False)
    assert not params[module.param_path("a")].trainable


@differs(pytest.fail.Exception, setting_creates)
def test_what_is_set_is_there(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    with pytest.raises(KeyError, match="scale"):
        module.set_param(params, "a", jnp.ones(2))


def setting_nothing_changes_nothing(bx: Any) -> None:
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES)
    again = module.set_param(params, "a", None)
    assert again[module.param_path("a")].value.sum() == 2.0


@differs(pytest.fail.Exception, setting_nothing_changes_nothing)
def test_something_is_set(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    _, params = module.get_param(params, "a", (2,), ONES)
    with pytest.raises(ValueError, match="value"):
        module.set_param(params, "a", None)


def test_a_module_that_is_called_twice_shares_its_weights(bx: Any):
    graph, _, params = start(bx)
    module = scale(bx)(graph.child("scale"))
    x, params = module(params, jnp.ones(3))
    _, params = module(params, x)
    assert len(params) == 3


def test_a_module_in_another_keeps_its_place(bx: Any):
    graph, rng, params = start(bx)

    class Twice(bx.Module):
        def __init__(self, graph: Any, inner: Any) -> None:
            super().__init__(graph)
            self.inner = inner

        def __call__(self, params: Any, x: jax.Array) -> Any:
            x, params = self.inner(params, x)
            return self.inner(params, x)

    inner = bx.Linear(graph.child("inner"), output_size=3, rng=rng)
    outer = Twice(graph.child("outer"), inner)
    _, params = outer(params, jnp.ones((1, 3)))
    assert set(params.split()[0].keys()) == {
        ("net", "inner", "kernel"),
        ("net", "inner", "bias"),
    }


def test_a_module_below_another_has_its_path(bx: Any):
    graph, rng, params = start(bx)

    class Outer(bx.Module):
        def __init__(self, graph: Any) -> None:
            super().__init__(graph)
            self.inner = bx.Linear(graph.child("inner"), output_size=2, rng=rng)

        def __call__(self, params: Any, x: jax.Array) -> Any:
            return self.inner(params, x)

    _, params = Outer(graph.child("outer"))(params, jnp.ones((1, 3)))
    assert ("net", "outer", "inner", "kernel") in params


def test_a_module_is_shown_with_its_arguments(bx: Any):
    graph, rng, _ = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=7, rng=rng)
    assert repr(layer).startswith("Linear(")
    assert "output_size=7" in repr(layer)


def forgetful(bx: Any) -> Any:
    class Forgetful(bx.Module):
        def __init__(self, graph: Any) -> None:
            pass

        def __call__(self, params: Any, x: jax.Array) -> Any:
            return self.get_param(params, "a", (2,), ONES)

    return Forgetful(bx.Graph("net").child("a"))


def in_the_first_call(bx: Any) -> None:
    module = forgetful(bx)
    with pytest.raises(RuntimeError, match=r"super\(\).__init__"):
        module(bx.Params(), 1.0)


@differs(pytest.fail.Exception, in_the_first_call)
def test_a_module_is_asked_for_its_base(bx: Any):
    with pytest.raises(RuntimeError, match="super"):
        forgetful(bx)


def test_training_moves_weights_to_their_target(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=1, rng=rng, use_bias=False)
    x, target = jnp.array([[1.0, 2.0]]), jnp.array([[5.0]])
    _, params = layer(params, x)

    @jax.jit
    def step(params: Any) -> Any:
        trainable, rest = params.split()

        def loss(trainable: Any) -> jax.Array:
            return ((layer(trainable.merge(rest), x)[0] - target) ** 2).mean()

        grads = jax.grad(loss)(trainable)
        moved = jax.tree.map(lambda w, g: w - 0.1 * g, trainable, grads)
        return moved.merge(rest)

    params = params.locked()
    for _ in range(10):
        params = step(params)
    assert jnp.allclose(layer(params, x)[0], target, atol=1e-3)


def test_what_is_random_counts_in_training(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=4, rng=rng)
    dropout = bx.Dropout(graph.child("dropout"), rate=0.5, rng=rng)
    _, params = layer(params, jnp.ones((1, 3)))
    trainable, rest = params.locked().split()

    def loss(trainable: Any, rest: Any) -> Any:
        x, params = layer(trainable.merge(rest), jnp.ones((1, 3)))
        y, params = dropout(params, x, is_training=True)
        return y.sum(), params.split()[1]

    _, rest = jax.jit(jax.grad(loss, has_aux=True))(trainable, rest)
    assert rng.get_counter(trainable.merge(rest)) == 3


def test_what_is_computed_again_draws_the_same(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=8, rng=rng)
    dropout = bx.Dropout(graph.child("dropout"), rate=0.5, rng=rng)
    _, params = layer(params, jnp.ones((2, 3)))
    trainable, rest = params.locked().split()

    def loss(trainable: Any, body: Any) -> jax.Array:
        return body(trainable.merge(rest), jnp.ones((2, 3)))[0].sum()

    def body(params: Any, x: jax.Array) -> Any:
        x, params = layer(params, x)
        return dropout(params, x, is_training=True)

    kept = jax.grad(loss)(trainable, body)
    again = jax.grad(loss)(trainable, jax.checkpoint(body))
    assert jax.tree.all(jax.tree.map(jnp.allclose, kept, again))


def test_an_attribute_is_seen_when_it_changes_before_tracing(bx: Any):
    graph, rng, params = start(bx)
    cell = bx.LSTM(graph.child("lstm"), hidden_size=2, rng=rng)
    cell.is_static = True
    _, params = cell.apply(params, jnp.ones((1, 3, 2)))
    program = jax.make_jaxpr(cell.apply)(params.locked(), jnp.ones((1, 3, 2)))
    assert "scan[" not in str(program)


def test_a_compiled_function_does_not_see_it_later(bx: Any):
    graph, rng, params = start(bx)
    dropout = bx.Dropout(graph.child("dropout"), rate=0.5, rng=rng)
    traced = []

    def apply(params: Any, x: jax.Array) -> jax.Array:
        traced.append(1)
        return dropout(params, x)[0]

    compiled: Any = jax.jit(apply)
    compiled(params, jnp.ones(4))
    dropout.graph.metadata["note"] = 1
    compiled(params, jnp.ones(4))
    assert len(traced) == 1
    compiled.clear_cache()
    compiled(params, jnp.ones(4))
    assert len(traced) == 2
