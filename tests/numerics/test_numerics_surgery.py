"""Surgery: other layers in a model, weights that are computed, and a look inside."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import draw

import mlax
from mlax import block, functional, nn, optim, surgery

KEYS = jax.random.split(jax.random.key(0), 8)
X: Any = np.random.default_rng(0).normal(size=(2, 5, 8))
MASK: Any = np.tril(np.ones((5, 5), bool))


def encoder(key: Any = KEYS[0], dtype: Any = jnp.float64, **more: Any) -> Any:
    init = block.TransformerEncoderLayer.init
    return jax.jit(lambda key: init(key, 8, 2, 16, **more, dtype=dtype))(key)


def with_lora(linear: Any) -> Any:
    """A LoRALinear of the weights of a Linear, whose own part is not zero."""
    weights, _, hyperparams = linear
    sizes = hyperparams.in_features, hyperparams.out_features
    made, state, new = nn.LoRALinear.init(
        KEYS[1],
        *sizes,
        rank=3,
        alpha=6.0,
        use_bias=hyperparams.use_bias,
        up_initializer=jax.nn.initializers.normal(1.0),
        dtype=weights.kernel.dtype,
    )
    return made._replace(linear=weights), state, new


def merged(lora: Any) -> Any:
    """The kernel of a Linear that computes the same as a LoRALinear."""
    return lora.linear.kernel + 2.0 * lora.lora.down @ lora.lora.up


def run(layer: Any, x: Any = X, **inputs: Any) -> Any:
    trainables, non_trainables, hyperparams = layer
    return hyperparams.apply(x, trainables, non_trainables, **inputs)[0]


PLACES = ["attention/to_query", "attention/to_output", "feed_forward/widen"]


def test_lora_in_an_encoder_is_another_kernel():
    plain = encoder()
    places = [p for p in surgery.parts(plain) if p.endswith(("query", "output"))]
    changed = surgery.replace(plain, dict.fromkeys(places, with_lora))
    weights = plain[0]
    for place in places:
        names = place.split("/")
        old = surgery.parts((weights, *plain[1:]))[place][0]
        lora = surgery.parts(changed)[place][0]
        kernel = merged(lora)
        outer = getattr(weights, names[0])
        outer = outer._replace(**{names[1]: old._replace(kernel=kernel)})
        weights = weights._replace(**{names[0]: outer})
    expected = run((weights, *plain[1:]), mask=MASK)
    np.testing.assert_allclose(run(changed, mask=MASK), expected, rtol=1e-12)
    assert not np.allclose(run(plain, mask=MASK), expected)
    # The function of its name runs it, too.
    y, _ = block.TransformerEncoderLayer.fwd(X, *changed, mask=MASK)
    np.testing.assert_array_equal(y, run(changed, mask=MASK))


def test_weights_lie_where_the_layer_is():
    changed = surgery.replace(encoder(), {"attention/to_query": with_lora})
    names = [n for n in mlax.flatten(changed[0]) if n.startswith("attention/to_query")]
    assert names == [
        "attention/to_query/linear/kernel",
        "attention/to_query/linear/bias",
        "attention/to_query/lora/down",
        "attention/to_query/lora/up",
    ]
    weights, _, hyperparams = surgery.parts(changed)["attention/to_query"]
    assert isinstance(hyperparams.hyperparams, nn.LoRALinear.LoRALinearHyperparams)
    assert weights is changed[0].attention.to_query


def test_a_change_is_a_value():
    """Equal by value, hashable, pickled, and not compiled again."""
    one, two = (surgery.replace(encoder(), {PLACES[0]: with_lora}) for _ in range(2))
    assert one[2] == two[2]
    assert hash(one[2]) == hash(two[2])
    assert one[2] != encoder()[2]
    assert pickle.loads(pickle.dumps(one[2])) == one[2]
    assert copy.deepcopy(one[2]) == one[2]
    traced = []

    @jax.jit
    def apply(x: Any, layer: Any) -> Any:
        traced.append(x)
        return run(layer, x)

    y = apply(X, one)
    np.testing.assert_array_equal(apply(X, two), y)
    fresh = pickle.loads(pickle.dumps(one[2]))
    np.testing.assert_array_equal(apply(X, (*one[:2], fresh)), y)
    assert len(traced) == 1
    np.testing.assert_allclose(y, run(one), rtol=1e-12)


def test_what_is_replaced_is_replaced_again():
    twice = surgery.replace(encoder(), {PLACES[0]: with_lora})
    plain = nn.Linear.init(KEYS[3], 8, 8, dtype=jnp.float64)
    within = surgery.replace(twice, {f"{PLACES[0]}/linear": plain})
    lora = surgery.parts(within)[PLACES[0]][0]
    assert lora.linear is plain[0]
    back = surgery.replace(twice, {PLACES[0]: plain})
    direct = surgery.replace(encoder(), {PLACES[0]: plain})
    assert back[2] == direct[2]
    np.testing.assert_array_equal(run(back), run(direct))


def test_layers_of_blocks():
    """Blocks take any layer: with a state, with random numbers, of any class."""
    layers = [
        nn.Linear.init(KEYS[0], 8, 8, dtype=jnp.float64),
        nn.F.init(jax.nn.relu),
    ]
    dropout, norm = nn.Dropout.init(0.5), nn.BatchNorm.init(KEYS[1], 8, True)
    model = block.Series.init([block.Residual.init(layers[0]), layers[1]])
    changed = surgery.replace(model, {"layers/1": dropout, "layers/0/layer": norm})
    built = block.Series.init([block.Residual.init(norm), dropout])
    assert changed[2] == built[2]
    assert jax.tree.structure(changed) == jax.tree.structure(built)
    trainables, non_trainables, hyperparams = changed
    y, state = hyperparams.apply(X, trainables, non_trainables, key=KEYS[2])
    expected, wanted = block.Series.fwd(X, *built, key=KEYS[2])
    np.testing.assert_array_equal(y, expected)
    jax.tree.map(np.testing.assert_array_equal, state, wanted)


def stacked(init: Any) -> Any:
    return jax.vmap(init)(jax.random.split(KEYS[4], 3))


def test_stacked_layers_in_a_repeat():
    model = block.Series.init([block.Repeat.init(stacked(encoder), 3)])
    path = "layers/0/layer/attention/to_query"
    linear = surgery.parts(model)[path]
    lora = jax.vmap(lambda weights: with_lora((weights, None, linear[2])))(linear[0])
    changed = surgery.replace(model, {path: lora})
    kernels = linear[0]._replace(
        kernel=jax.vmap(merged)(surgery.parts(changed)[path][0])
    )
    expected = surgery.replace(model, {path: (kernels, None, linear[2])})
    np.testing.assert_allclose(run(changed), run(expected), rtol=1e-12)
    with pytest.raises(ValueError, match="within a Repeat arrays are stacked"):
        surgery.replace(model, {path: with_lora((linear[0], None, linear[2]))})


def test_several_layers_in_a_list():
    model = block.MLP.init(KEYS[0], 8, 3, [6, 4], dtype=jnp.float64)
    changed = surgery.replace(model, {"layers/1": with_lora})
    layers = model[0].layers
    lora = surgery.parts(changed)["layers/1"][0]
    weights = model[0]._replace(
        layers=(layers[0], layers[1]._replace(kernel=merged(lora)))
    )
    np.testing.assert_allclose(run(changed), run((weights, *model[1:])), rtol=1e-12)


def test_there_is_no_such_place():
    with pytest.raises(ValueError, match=r"did you mean 'to_query'\?"):
        surgery.replace(encoder(), {"attention/to_querry": with_lora})
    with pytest.raises(ValueError, match="Linear has none"):
        surgery.replace(encoder(), {"attention/to_query/kernel": with_lora})
    with pytest.raises(ValueError, match=r"changes\['attention'\] must be what `init`"):
        surgery.replace(encoder(), {"attention": jnp.ones(3)})  # type: ignore[dict-item]


def test_a_state_needs_a_place():
    norm = nn.BatchNorm.init(KEYS[1], 8, True, dtype=jnp.float64)
    with pytest.raises(ValueError, match="has a state, for which TransformerEncoder"):
        surgery.replace(encoder(), {"attention_norm": norm})


def test_other_sizes_are_refused_by_what_runs():
    wrong = nn.Linear.init(KEYS[1], 7, 8, dtype=jnp.float64)
    changed = surgery.replace(encoder(), {"attention/to_query": wrong})
    with pytest.raises(
        ValueError, match="TransformerEncoderLayer > MultiHeadAttention"
    ):
        run(changed)


# Freezing


def test_what_is_frozen_stays_and_costs_nothing():
    trainables, state, hyperparams = surgery.replace(
        encoder(), dict.fromkeys(PLACES, with_lora)
    )
    trained, frozen = surgery.split(trainables, lambda path, _: "/lora/" in path)
    assert set(mlax.flatten(trained)) | set(mlax.flatten(frozen)) == set(
        mlax.flatten(trainables)
    )
    assert len(jax.tree.leaves(trained)) == 2 * len(PLACES)
    moments, adam = optim.Adam.init(trained, 1e-2)
    assert len(jax.tree.leaves(moments.mean)) == 2 * len(PLACES)

    def loss(trained: Any) -> Any:
        y, _ = hyperparams.apply(X, surgery.merge(trained, frozen), state)
        return functional.mean(y**2)

    value, gradients = jax.jit(jax.value_and_grad(loss))(trained)
    updates, _ = optim.Adam.step(gradients, moments, trained, adam)
    after = optim.apply_updates(trained, updates)
    assert loss(after) < value
    whole = surgery.merge(after, frozen)
    changed = {
        name
        for name, leaf in mlax.flatten(whole).items()
        if not np.array_equal(leaf, mlax.flatten(trainables)[name])
    }
    assert changed == set(mlax.flatten(trained))


def test_trees_of_bools_choose():
    tree = {"a": jnp.ones(2), "b": {"c": jnp.zeros(3), "d": jnp.zeros(1)}}
    chosen, rest = surgery.split(tree, {"a": False, "b": True})
    assert chosen["a"] is None
    assert rest["b"] == {"c": None, "d": None}
    assert jax.tree.structure(surgery.merge(chosen, rest)) == jax.tree.structure(tree)
    with pytest.raises(ValueError, match="selects no weight"):
        surgery.split(tree, lambda path, leaf: False)
    with pytest.raises(ValueError, match="both trees have a leaf at b/c"):
        surgery.merge(chosen, tree | {"a": None})


# Weights that are computed


class Dense(linen.Module):
    norm: Any = None

    @linen.compact
    def __call__(self, x: Any, **more: Any) -> Any:
        dense = linen.Dense(6, param_dtype=jnp.float64, dtype=jnp.float64)
        return dense(x) if self.norm is None else self.norm(dense)(x, **more)


def test_weight_norm_is_that_of_flax():
    linear = nn.Linear.init(KEYS[0], 8, 6, dtype=jnp.float64)
    norm = nn.WeightNorm.init(KEYS[1], 6, dtype=jnp.float64)
    layer = surgery.reparametrized(linear, {"kernel": norm})
    scale, bias = draw(1, (6,), "float64"), draw(2, (6,), "float64")
    trainables, non_trainables, hyperparams = layer
    names = ("kernel",)
    trainables = trainables._replace(
        layer=trainables.layer._replace(bias=bias),
        maps={names: trainables.maps[names]._replace(scale=scale)},
    )

    module: Any = Dense(
        lambda dense: linen.WeightNorm(dense, variable_filter={"kernel"})
    )
    shapes = module.init(jax.random.key(0), X)["params"]

    def theirs(weights: Any) -> Any:
        inner = weights.layer
        known = {(8, 6): inner.kernel, "bias": inner.bias}

        def leaf(path: Any, shape: Any) -> Any:
            last = path[-1].key
            return known.get(last, known.get(shape.shape, weights.maps[names].scale))

        given = jax.tree_util.tree_map_with_path(leaf, shapes)
        return functional.mean(jnp.sin(module.apply({"params": given}, X)))

    def ours(weights: Any) -> Any:
        y, _ = hyperparams.apply(X, weights, non_trainables)
        return functional.mean(jnp.sin(y))

    (value, slopes), (expected, wanted) = (
        jax.jit(jax.value_and_grad(f))(trainables) for f in (ours, theirs)
    )
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-14),
        slopes,
        wanted,
    )


def test_spectral_norm_is_that_of_flax():
    """Where both have converged: one step estimates with another vector of the two."""
    linear = nn.Linear.init(KEYS[0], 8, 6, dtype=jnp.float64)
    norm = nn.SpectralNorm.init(KEYS[1], 6, iterations=200, dtype=jnp.float64)
    trainables, state, hyperparams = surgery.reparametrized(linear, {"kernel": norm})
    names = ("kernel",)
    module: Any = Dense(lambda dense: linen.SpectralNorm(dense, 200, epsilon=1e-300))
    made = module.init(jax.random.key(0), X, update_stats=False)

    def theirs(weights: Any) -> Any:
        def leaf(path: Any, old: Any) -> Any:
            name = jax.tree_util.keystr(path)
            if name.endswith("u']"):
                return state.maps[names].vector[None]
            if "sigma" in name:
                return old
            return weights.layer.kernel if "kernel" in name else weights.layer.bias

        given = jax.tree_util.tree_map_with_path(leaf, made)
        both: Any = module.apply(given, X, update_stats=True, mutable=["batch_stats"])
        y, new = both
        [u] = [
            leaf
            for path, leaf in jax.tree_util.tree_leaves_with_path(new)
            if jax.tree_util.keystr(path).endswith("u']")
        ]
        return functional.mean(jnp.sin(y)), u[0]

    def ours(weights: Any) -> Any:
        y, after = hyperparams.apply(X, weights, state)
        return functional.mean(jnp.sin(y)), after.maps[names].vector

    # Operation by operation: a program of 200 iterations takes longest to compile.
    (value, u), slopes = jax.value_and_grad(ours, has_aux=True)(trainables)
    (expected, v), wanted = jax.value_and_grad(theirs, has_aux=True)(trainables)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(u, v, rtol=1e-6, atol=1e-9)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9),
        slopes,
        wanted,
    )


def test_spectral_norm_moves_in_training_alone():
    linear = nn.Linear.init(KEYS[0], 8, 6, dtype=jnp.float64)
    norm = nn.SpectralNorm.init(KEYS[1], 6, dtype=jnp.float64)
    trainables, state, hyperparams = surgery.reparametrized(linear, {"kernel": norm})
    _, after = hyperparams.apply(X, trainables, state)
    _, still = hyperparams.apply(X, trainables, state, inference_mode=True)
    u = state.maps[("kernel",)].vector
    np.testing.assert_array_equal(still.maps[("kernel",)].vector, u)
    kernel = linear[0].kernel
    u = kernel.T @ (kernel @ u)
    np.testing.assert_allclose(
        after.maps[("kernel",)].vector, u / np.linalg.norm(u), rtol=1e-12
    )


def test_it_converges_to_the_largest_singular_value():
    model = encoder()
    path = "attention/to_query/kernel"
    norm = nn.SpectralNorm.init(KEYS[1], 8, iterations=200, dtype=jnp.float64)
    trainables, state, hyperparams = surgery.reparametrized(model, {path: norm})
    y, state = hyperparams.apply(X, trainables, state, mask=MASK)
    kernel = model[0].attention.to_query.kernel
    divided = kernel / np.linalg.norm(kernel, 2)
    query = model[0].attention.to_query._replace(kernel=divided)
    attention = model[0].attention._replace(to_query=query)
    weights = model[0]._replace(attention=attention)
    np.testing.assert_allclose(
        y, run((weights, *model[1:]), mask=MASK), rtol=1e-9, atol=1e-12
    )


def test_paths_lead_to_weights_and_to_maps():
    norm = nn.WeightNorm.init(KEYS[1], 8, dtype=jnp.float64)
    trainables, _, _ = surgery.reparametrized(
        encoder(), {"attention/to_query/kernel": norm}
    )
    names = list(mlax.flatten(trainables))
    assert "layer/attention/to_query/kernel" in names
    assert "maps/attention/to_query/kernel/scale" in names


def test_random_weights():
    """What weights go through may draw: DropConnect."""
    linear = nn.Linear.init(KEYS[0], 8, 6, use_bias=False, dtype=jnp.float64)
    layer = surgery.reparametrized(linear, {"kernel": nn.Dropout.init(0.5)})
    trainables, state, hyperparams = layer
    y, _ = hyperparams.apply(X, trainables, state, key=KEYS[2])
    key = jax.random.split(KEYS[2], 2)[1]
    kernel, _ = nn.Dropout.fwd(linear[0].kernel, *nn.Dropout.init(0.5), key=key)
    np.testing.assert_allclose(y, X @ kernel, rtol=1e-12)
    with pytest.raises(ValueError, match="Reparametrized > Dropout draws random"):
        hyperparams.apply(X, trainables, state)


def test_in_blocks_and_loops():
    """It is a layer: a Repeat stacks it, a Recurrent takes a cell with it."""

    def init(key: Any) -> Any:
        linear = nn.Linear.init(key, 8, 8, dtype=jnp.float64)
        norm = nn.SpectralNorm.init(key, 8, dtype=jnp.float64)
        return surgery.reparametrized(linear, {"kernel": norm})

    layer = stacked(init)
    y, state = block.Repeat.fwd(X, *block.Repeat.init(layer, 3))
    expected = X
    for i in range(3):
        parts = jax.tree.map(lambda leaf, i=i: leaf[i], layer[:2])
        expected, new = layer[2].apply(expected, *parts)
        np.testing.assert_allclose(
            state.layer.maps[("kernel",)].vector[i], new.maps[("kernel",)].vector
        )
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    cell = nn.SimpleCell.init(KEYS[0], 8, 4, dtype=jnp.float64)
    path = next(name for name in mlax.flatten(cell[0]) if name.endswith("kernel"))
    norm = nn.WeightNorm.init(
        KEYS[1], mlax.flatten(cell[0])[path].shape[-1], dtype=jnp.float64
    )
    normed = surgery.reparametrized(cell, {path: norm})
    y, _ = block.Recurrent.fwd(X, *block.Recurrent.init(normed))
    assert y.shape == (2, 5, 4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_are_those_of_the_input(dtype, audit_dtypes):
    """In what is replaced, computed and recorded, with weights of other dtypes. Compiles nothing."""

    def make() -> Any:
        norm = nn.SpectralNorm.init(KEYS[1], 8)
        path = "attention/to_query/linear/kernel"
        places = {"attention/to_query": with_lora}
        changed = surgery.replace(encoder(dtype=jnp.float32), places)
        return surgery.reparametrized(changed, {path: norm})

    trainables, state, hyperparams = jax.eval_shape(make)
    inside = surgery.recorded(hyperparams, ["layer/attention"])
    x = jax.ShapeDtypeStruct(X.shape, dtype)
    audit_dtypes(inside.apply, x, trainables, state, compute_dtype=dtype)
    (y, found), after = jax.eval_shape(inside.apply, x, trainables, state)
    assert y.dtype == found["layer/attention"].dtype == dtype
    same = jax.tree.map(lambda a, b: a.dtype == b.dtype, after, state)
    assert jax.tree.all(same)


def test_there_is_no_such_weight():
    norm = nn.WeightNorm.init(KEYS[1], 8)
    with pytest.raises(
        ValueError, match="no weight at 'kernels'; there are kernel, bias"
    ):
        surgery.reparametrized(nn.Linear.init(KEYS[0], 8, 8), {"kernels": norm})
    with pytest.raises(TypeError, match="maps must be a dict"):
        surgery.reparametrized(nn.Linear.init(KEYS[0], 8, 8), {})
    changes = nn.F.init(lambda w: w[:1])
    layer = surgery.reparametrized(nn.Linear.init(KEYS[0], 8, 8), {"kernel": changes})
    with pytest.raises(
        ValueError, match=r"'kernel' has shape \(8, 8\), and .* \(1, 8\)"
    ):
        run(layer)


# A look inside


def test_outputs_of_layers():
    trainables, state, hyperparams = encoder()
    inside = surgery.recorded(hyperparams, ["attention", "attention/to_value"])
    (y, found), _ = inside.apply(X, trainables, state, mask=MASK)
    np.testing.assert_array_equal(y, run((trainables, state, hyperparams), mask=MASK))
    normed, _ = nn.LayerNorm.fwd(
        X, trainables.attention_norm, None, hyperparams.attention_norm
    )
    attended, _ = nn.MultiHeadAttention.fwd(
        normed, trainables.attention, state.attention, hyperparams.attention, mask=MASK
    )
    values = normed @ trainables.attention.to_value.kernel
    values = values + trainables.attention.to_value.bias
    np.testing.assert_allclose(found["attention"], attended, rtol=1e-12)
    np.testing.assert_allclose(found["attention/to_value"], values, rtol=1e-12)
    assert set(found) == {"attention", "attention/to_value"}
    (_, every), _ = surgery.recorded(hyperparams).apply(X, trainables, state)
    assert set(every) == set(surgery.parts((trainables, state, hyperparams)))


def test_in_a_repeat_outputs_are_stacked():
    layer = stacked(encoder)
    model = block.Series.init([block.Remat.init(block.Repeat.init(layer, 3))])
    trainables, state, hyperparams = model
    place = "layers/0/layer/layer"
    inside = surgery.recorded(hyperparams, lambda path: path.endswith("to_query"))
    (y, found), after = jax.jit(inside.apply)(X, trainables, state)
    np.testing.assert_allclose(y, run(model), rtol=1e-12)
    assert jax.tree.structure(after) == jax.tree.structure(state)
    [queries] = found.values()
    assert list(found) == [f"{place}/attention/to_query"]
    x = X
    look = surgery.recorded(layer[2], "attention/to_query")
    for i in range(3):
        parts = jax.tree.map(lambda leaf, i=i: leaf[i], layer[:2])
        (x, one), _ = look.apply(x, *parts)
        np.testing.assert_allclose(
            queries[i], one["attention/to_query"], rtol=1e-9, atol=1e-12
        )


def test_states_go_on_and_gradients_flow():
    norm = nn.BatchNorm.init(KEYS[0], 8, True, dtype=jnp.float64)
    linear = nn.Linear.init(KEYS[1], 8, 8, dtype=jnp.float64)
    trainables, state, hyperparams = block.Series.init([norm, linear, norm])
    inside = surgery.recorded(hyperparams, ["layers/0", "layers/1"])

    def loss(trainables: Any, look: bool) -> Any:
        if look:
            (y, found), after = inside.apply(X, trainables, state)
            return functional.sum(jnp.sin(y)) + functional.sum(found["layers/1"]), after
        y, after = hyperparams.apply(X, trainables, state)
        return functional.sum(jnp.sin(y)), after

    slopes, after = jax.grad(loss, has_aux=True)(trainables, True)
    plain, expected = jax.grad(loss, has_aux=True)(trainables, False)
    jax.tree.map(np.testing.assert_array_equal, after, expected)
    extra = slopes.layers[1].bias - plain.layers[1].bias
    np.testing.assert_allclose(extra, np.full(8, 10.0), rtol=1e-9)


def test_a_layer_that_is_called_twice_has_both_outputs():
    trainables, state, hyperparams = encoder(dropout_rate=0.5)
    inside = surgery.recorded(hyperparams, ["dropout"])
    (_, found), _ = inside.apply(X, trainables, state, key=KEYS[3])
    first, second = found["dropout"]
    assert first.shape == second.shape == X.shape
    assert not np.array_equal(first, second)


def test_there_is_nothing_to_see():
    with pytest.raises(ValueError, match="there is no layer at atention; there are"):
        surgery.recorded(encoder()[2], ["atention"])
    with pytest.raises(TypeError, match="must be those of a layer, got tuple"):
        surgery.recorded(encoder(), ["attention"])
