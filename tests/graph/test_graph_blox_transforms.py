"""Transformations of jax, and devices, as a program in blox uses them."""

from __future__ import annotations

from typing import Any

import graph_blox
import jax
import jax.numpy as jnp
import numpy as np
from graph_blox import differs, start
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def linear(bx: Any, **given: Any) -> tuple[Any, Any, Any]:
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=4, rng=rng, **given)
    return graph, layer, layer(params, jnp.ones((1, 3)))[1].locked()


def test_examples_are_mapped(bx: Any):
    _, layer, params = linear(bx)
    x = jnp.arange(6.0).reshape(2, 3)
    y = jax.vmap(lambda x: layer(params, x)[0])(x)
    np.testing.assert_allclose(y, layer(params, x)[0], rtol=1e-5)


def test_models_are_mapped(bx: Any):
    _, layer, params = linear(bx)
    stacked = jax.tree.map(lambda w: jnp.stack([w, w]), params)
    y, _ = jax.vmap(layer, (0, None))(stacked, jnp.ones((1, 3)))
    assert y.shape == (2, 1, 4)
    assert jnp.array_equal(y[0], y[1])


def test_seeds_are_mapped(bx: Any):
    graph, rng, _ = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=4, rng=rng)

    def init(key: jax.Array) -> Any:
        return layer(rng.seed(bx.Params(), seed=key), jnp.ones((1, 3)))[1].locked()

    params = jax.vmap(init)(jax.random.split(jax.random.key(0), 3))
    kernel = params["net", "linear", "kernel"].value
    assert kernel.shape == (3, 3, 4)
    assert not jnp.allclose(kernel[0], kernel[1])


def test_lanes_drop_the_same_where_the_key_is_the_same(bx: Any):
    graph, rng, params = start(bx)
    dropout = bx.Dropout(graph.child("dropout"), rate=0.5, rng=rng)
    y = jax.vmap(lambda x: dropout(params, x, is_training=True)[0])(jnp.ones((3, 16)))
    assert jnp.array_equal(y[0], y[2])


def test_per_example_gradients_are_mapped(bx: Any):
    _, layer, params = linear(bx)
    trainable, rest = params.split()

    def loss(trainable: Any, x: jax.Array) -> jax.Array:
        return layer(trainable.merge(rest), x)[0].sum()

    grads = jax.vmap(jax.grad(loss), (None, 0))(trainable, jnp.ones((5, 3)))
    assert grads["net", "linear", "kernel"].value.shape == (5, 3, 4)


def test_params_are_carried_by_a_loop(bx: Any):
    _, rng, params = start(bx)

    def step(params: Any, _: Any) -> Any:
        key, params = rng(params)
        return params, jax.random.uniform(key)

    params, drawn = jax.lax.scan(step, params.locked(), None, 3)
    assert rng.get_counter(params) == 3
    assert len(set(map(float, drawn))) == 3


def test_a_branch_takes_and_gives_params(bx: Any):
    _, rng, params = start(bx)
    key, after = jax.lax.cond(
        True,
        rng,
        lambda p: (rng.get_seed(p), p),
        params.locked(),
    )
    assert graph_blox.same(key, rng(params)[0])
    assert rng.get_counter(after) == 1


def test_params_are_put_where_they_belong(bx: Any):
    _, layer, params = linear(bx)
    mesh = jax.make_mesh((1,), ("model",))
    placed = jax.device_put(params, NamedSharding(mesh, P()))
    assert placed["net", "linear", "kernel"].value.sharding.mesh == mesh
    assert layer(placed, jnp.ones((2, 3)))[0].shape == (2, 4)


def test_params_are_given_to_a_map_over_devices(bx: Any):
    _, layer, params = linear(bx)
    mesh = jax.make_mesh((1,), ("batch",))
    by_rows = P("batch", None)
    apply = jax.jit(
        jax.shard_map(
            lambda p, x: layer(p, x)[0],
            mesh=mesh,
            in_specs=(P(), by_rows),
            out_specs=by_rows,
        )
    )
    x = jax.device_put(jnp.ones((2, 3)), NamedSharding(mesh, by_rows))
    np.testing.assert_allclose(apply(params, x), layer(params, x)[0], rtol=1e-5)


def specs_in_metadata(bx: Any) -> None:
    metadata = {"kernel": {"sharding": P(None, "model")}}
    _, _, params = linear(bx, metadata=metadata)
    assert params["net", "linear", "kernel"].sharding == P(None, "model")


@differs(TypeError, specs_in_metadata)
def test_a_kernel_says_how_it_lies(bx: Any):
    _, _, params = linear(bx, kernel_metadata={"sharding": (None, "model")})
    assert params["net", "linear", "kernel"].sharding == (None, "model")


def test_norms_reach_over_lanes(bx: Any):
    graph, rng, params = start(bx)
    norm = bx.BatchNorm(graph.child("norm"), axis_name="lanes", rng=rng)
    _, params = bx.BatchNorm(graph.child("other"), rng=rng)(params, jnp.ones((1, 2)))
    x = jnp.arange(8.0).reshape(2, 2, 2)
    y = jax.vmap(lambda x: norm(params, x)[0], axis_name="lanes")(x)
    # The variance of blox is the mean of those of the lanes.
    np.testing.assert_allclose(y.mean((0, 1)), 0.0, atol=1e-5)


def own_get_param_only(bx: Any) -> None:
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    calls = watched(layer)
    layer(params, jnp.ones((1, 3)))
    assert calls == []


def watched(layer: Any) -> list[str]:
    """The parameters that a module asks for by its own `get_param`."""
    plain, calls = layer.get_param, []

    def get_param(params: Any, name: str, *arguments: Any, **given: Any) -> Any:
        calls.append(name)
        return plain(params, name, *arguments, **given)

    layer.get_param = get_param
    return calls


@differs(AssertionError, own_get_param_only)
def test_layers_ask_their_own_get_param(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    calls = watched(layer)
    layer(params, jnp.ones((1, 3)))
    assert calls == ["kernel", "bias"]


def test_a_module_of_ones_own_asks_a_patched_get_param(bx: Any):
    graph, _, params = start(bx)

    class Scale(bx.Module):
        def __init__(self, graph: Any) -> None:
            super().__init__(graph)

        def __call__(self, params: Any, x: jax.Array) -> Any:
            scale, params = self.get_param(
                params, "scale", (), jax.nn.initializers.ones
            )
            return scale * x, params

    module = Scale(graph.child("scale"))
    plain = module.get_param

    def doubled(params: Any, name: str, *arguments: Any, **given: Any) -> Any:
        value, params = plain(params, name, *arguments, **given)
        return 2 * value, params

    module.get_param = doubled
    assert module(params, jnp.ones(2))[0].tolist() == [2.0, 2.0]
