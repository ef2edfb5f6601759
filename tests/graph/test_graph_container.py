"""Params under transformations, in compiled functions, in other libraries."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_strategies import examples, params_of, same
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

import mlax.graph as bx

few = settings(examples, max_examples=8)
WEIGHT, COUNT = ("m", "weight"), ("m", "count")


def facts(params: bx.Params) -> list[tuple[object, ...]]:
    """What is static about parameters."""
    return [(path, p.trainable, dict(p.metadata)) for path, p in params.items()]


def model(**changes: bx.Param) -> bx.Params:
    weight = bx.Param(jnp.ones(3), metadata={"sharding": P("model")})
    entries = {WEIGHT: weight, COUNT: bx.Param(jnp.zeros(()), trainable=False)}
    return bx.Params(entries | {("m", name): p for name, p in changes.items()})


@few
@given(params_of())
def test_transformations_give_what_they_got(params):
    twice = jax.jit(lambda p: jax.tree.map(lambda x: 2 * x, p))(params)
    stacked = jax.vmap(lambda _: params, out_axes=0)(jnp.arange(2))
    (carried, ys) = jax.lax.scan(lambda p, _: (p, p), params, None, length=2)
    trainable, rest = params.split()

    def loss(part):
        whole = part.merge(rest)
        assert facts(whole) == facts(params)
        return sum(jnp.sum(x**2) for x in jax.tree.leaves(whole))

    gradients = jax.grad(lambda part: jnp.asarray(loss(part), jnp.float32))(trainable)
    for after in (twice, stacked, carried, ys):
        assert facts(after) == facts(params)
        assert after.is_locked == params.is_locked
    assert facts(gradients) == facts(trainable)
    for path, param in params.items():
        np.testing.assert_array_equal(twice[path].value, 2 * param.value)
        np.testing.assert_array_equal(stacked[path].value, [param.value] * 2)
        np.testing.assert_array_equal(ys[path].value, [param.value] * 2)
        if param.trainable:
            np.testing.assert_array_equal(gradients[path].value, 2 * param.value)


@examples
@given(params_of(), st.randoms(use_true_random=False))
def test_any_predicate_splits_and_any_order_merges(params, random):
    parts = [params]
    for _ in range(3):
        part = parts.pop(random.randrange(len(parts)))
        parts += part.split(lambda path, param: random.random() < 0.5)
    random.shuffle(parts)
    assert same(parts[0].merge(*parts[1:]), params)
    assert all(part.is_locked == params.is_locked for part in parts)


def test_merged_params_are_locked_if_all_of_them_are():
    first, rest = model().split()
    assert not first.locked().merge(rest).is_locked
    assert not first.merge(rest.locked()).is_locked
    assert first.locked().merge(rest.locked()).is_locked


@pytest.mark.parametrize(
    "changed",
    [
        model().locked(),
        model().unlocked().add(("m", "new"), jnp.ones(())).remove([WEIGHT]),
        model(weight=bx.Param(jnp.ones(3))),
        model(weight=bx.Param(jnp.ones(3), metadata={"sharding": P("data")})),
        model(count=bx.Param(jnp.zeros(()), trainable=True)),
        model().changing([COUNT]),
    ],
    ids=["locked", "path", "no metadata", "metadata", "trainable", "changing"],
)
def test_what_is_static_is_traced_again(changed):
    """A compiled function asks for each of these, so that a stale one would be wrong."""
    traced = []

    @jax.jit
    def ask(params):
        traced.append(facts(params))
        return params

    ask(model())
    after = ask(changed)
    assert len(traced) == 2
    assert facts(after) == facts(changed) == traced[1]
    assert jax.tree.structure(changed) != jax.tree.structure(model())


def test_equal_layouts_are_not_traced_again():
    traced = []
    ask = jax.jit(lambda params: traced.append(1))
    later = bx.Params({("m", "old"): jnp.zeros(())}).unlocked()
    for path, param in model().items():
        later = later.add(
            path, param.value, trainable=param.trainable, metadata=param.metadata
        )
    for params in (model(), model(), model().locked().unlocked()):
        ask(params)
    ask(
        later.remove([("m", "old")])
    )  # Equal, though made in other places of the order.
    assert len(traced) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.set(WEIGHT, jnp.zeros(3)),
        lambda p: p.locked(),
        lambda p: p.locked().unlocked(),
        lambda p: p.split()[0],
        lambda p: p.remove([COUNT]),
        lambda p: p.add(("m", "new"), 1.0),
        lambda p: p.merge(bx.Params({("n",): 1.0})),
        jax.jit(lambda q: q),
        lambda p: jax.tree.map(jnp.cos, p),
        lambda p: jax.eval_shape(lambda: p),
    ],
)
def test_metadata_is_kept(change):
    changed = change(model())
    assert changed[WEIGHT].metadata == {"sharding": P("model")}
    assert bx.partition_specs(bx.Params({WEIGHT: changed[WEIGHT]}))[WEIGHT].value == P(
        "model"
    )


@pytest.mark.parametrize("name", ["a/b", "ä", "名前", "it's", '"', "a b", "[0]", "\n"])
def test_names_are_any_that_are_not_empty(name):
    graph = bx.Graph(name)
    linear = bx.Linear(graph.child(name), 2, rng=bx.Rng(graph.child("rng")))
    params = bx.Params({(name, "rng", "seed"): jax.random.key(0)})
    params = params.add((name, "rng", "counter"), jnp.uint32(0), trainable=False)
    _, params = linear(params, jnp.ones((1, 3)))
    [(keys, _)] = jax.tree_util.tree_leaves_with_path(
        params.split(lambda path, _: path[-1] == "kernel")[0]
    )
    assert jax.tree_util.keystr(keys) == f"[{(name, name, 'kernel')!r}]"
    assert keys[0].key == linear.param_path("kernel")
    assert bx.Params({("a", "b"): 1, ("a/b",): 2})["a", "b"].value == 1
    with pytest.raises(TypeError, match="not empty"):
        linear.get_param(params, "", (), jax.nn.initializers.zeros)


def test_values_stay_as_created_where_only_some_change():
    params = model().changing([COUNT])
    after = params.update({WEIGHT: jnp.zeros(3), COUNT: 5.0}).add(("m", "new"), 1.0)
    after = after.set(("m", "new"), 2.0).locked().unlocked()
    for part in (after, *after.split(), after.split()[0].merge(after.split()[1])):
        assert part.layout.changing == {COUNT}
    assert (after[WEIGHT].value == 1).all()
    assert (after[COUNT].value, after["m", "new"].value) == (5.0, 1.0)
    assert after.changing(None).set(("m", "new"), 2.0)["m", "new"].value == 2.0


def network() -> tuple[bx.Params, bx.Sequential]:
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    layers = [
        bx.Linear(graph.child("in"), 4, rng=rng),
        bx.BatchNorm(graph.child("norm"), channel_last=True, rng=rng),
        bx.Linear(graph.child("out"), 2, rng=rng),
    ]
    net = bx.Sequential(graph.child("all"), layers)
    return net(rng.seed(bx.Params(), seed=3), jnp.ones((5, 3)))[1].locked(), net


def test_an_optimizer_is_chosen_by_path():
    optax = pytest.importorskip("optax")
    trainable, _ = network()[0].split()
    labels = trainable.update(
        {path: "matrix" if path[-1] == "kernel" else "other" for path in trainable}
    )
    optimizer = optax.multi_transform(
        {"matrix": optax.sgd(0.5), "other": optax.set_to_zero()}, labels
    )
    ones = jax.tree.map(jnp.ones_like, trainable)
    updates, _ = jax.jit(optimizer.update)(ones, optimizer.init(trainable), trainable)
    assert facts(updates) == facts(trainable)
    for path, param in updates.items():
        assert (param.value == (-0.5 if path[-1] == "kernel" else 0)).all(), path
    decayed = optax.masked(
        optax.add_decayed_weights(0.1),
        lambda tree: tree.update({path: path[1] == "out" for path in tree}),
    )
    updates, _ = decayed.update(ones, decayed.init(trainable), trainable)
    out = ("net", "out", "kernel")
    np.testing.assert_allclose(updates[out].value, 1 + 0.1 * trainable[out].value)
    assert (updates["net", "in", "kernel"].value == 1).all()


def test_all_parameters_are_saved_and_restored(tmp_path):
    checkpoint = pytest.importorskip("orbax.checkpoint")
    params, net = network()
    _, trained = net(params, jnp.ones((5, 3)), is_training=True)
    with checkpoint.StandardCheckpointer() as saver:
        saver.save(tmp_path / "saved", trained)
        saver.wait_until_finished()
        abstract = jax.tree.map(checkpoint.utils.to_shape_dtype_struct, params)
        restored = saver.restore(tmp_path / "saved", abstract)
    assert jax.tree.structure(restored) == jax.tree.structure(params)
    for path, param in restored.items():
        assert (param.value == trained[path].value).all(), path
        assert param.value.dtype == trained[path].value.dtype
    x = jax.random.normal(jax.random.key(1), (5, 3))
    np.testing.assert_array_equal(net(restored, x)[0], net(trained, x)[0])
