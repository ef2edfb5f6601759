"""Layers of equinox: modules, modules with their state, and their arrays in files."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from weights_compare import KEY, applied, assert_same, drawn_like, loaded, shaped

from mlax import block, nn

X = np.random.default_rng(9).normal(size=(2, 5, 6))
IMAGES = np.random.default_rng(8).normal(size=(2, 4, 6, 5))


def made(make: Any, *given: Any, **options: Any) -> Any:
    """A module with drawn arrays of float64."""
    return with_arrays(eqx.filter_eval_shape(make, *given, **options))


def with_arrays(shapes: Any) -> Any:
    """A tree with drawn arrays in the place of shapes, and all else as it is."""
    arrays, rest = eqx.partition(shapes, lambda x: isinstance(x, jax.ShapeDtypeStruct))
    return eqx.combine(drawn_like(arrays), rest)


def over(axes: int, module: Any, *inputs: Any) -> Any:
    """What a module makes of each element of the first axes."""

    def apply(function: Any, *inputs: Any) -> Any:
        for _ in range(axes):
            function = jax.vmap(function)
        return function(*inputs)

    return eqx.filter_jit(apply)(module, *inputs)


def test_linear():
    module = made(eqx.nn.Linear, 6, 6, key=KEY)
    model = loaded(module, shaped(nn.Linear.init, KEY, 6, 6))
    assert_same(applied(model, X), over(2, module, X))


def test_convolutions():
    """Biases have an axis for each spatial one there; equinox flips no transposed kernel."""
    module = made(eqx.nn.Conv2d, 4, 6, (3, 2), groups=2, key=KEY)
    ours = shaped(nn.Conv.init, KEY, 2, 4, 6, (3, 2), padding="VALID", groups=2)
    y = applied(loaded(module, ours), IMAGES)
    assert_same(y, over(1, module, IMAGES))
    module = made(eqx.nn.ConvTranspose2d, 4, 6, (3, 2), 2, groups=2, key=KEY)
    ours = shaped(nn.ConvTranspose.init, KEY, 2, 4, 6, (3, 2), 2, padding=0, groups=2)
    y = applied(loaded(module, ours), IMAGES)
    assert_same(y, over(1, module, IMAGES))


def test_norms_and_tables():
    module = made(eqx.nn.LayerNorm, 6)
    model = loaded(module, shaped(nn.LayerNorm.init, KEY, 6))
    assert_same(applied(model, X), over(2, module, X))
    module = made(eqx.nn.GroupNorm, 2, 4)
    model = loaded(module, shaped(nn.GroupNorm.init, KEY, 2, 4))
    assert_same(applied(model, IMAGES), over(1, module, IMAGES))
    module = made(eqx.nn.Embedding, 5, 5, key=KEY)
    places = np.array([[0, 4], [2, 2]])
    model = loaded(module, shaped(nn.Embed.init, KEY, 5, 5))
    assert_same(applied(model, places), over(2, module, places))


@pytest.mark.parametrize("mode", ["batch", "ema"])
def test_batch_norm_with_its_state(mode):
    """The statistics lie in a state of their own, which the module points into."""
    module, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(
        4, axis_name="batch", mode=mode, inference=True, dtype=jnp.float64
    )
    module = eqx.tree_at(
        lambda m: (m.weight, m.bias), module, tuple(drawn_like([module.weight] * 2))
    )
    index = module.batch_state_index if mode == "batch" else module.ema_state_index
    mean, var = drawn_like(state.get(index), 3)
    state = state.set(index, (jnp.asarray(mean), jnp.asarray(var)))
    if mode == "ema":
        state = state.set(module.ema_first_time_index, jnp.array(False))
    y, _ = eqx.filter_jit(
        jax.vmap(module, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    )(IMAGES, state)
    model = loaded((module, state), shaped(nn.BatchNorm.init, KEY, 4))
    assert_same(applied(model, IMAGES), y)


def test_cells_and_attention():
    h = np.random.default_rng(1).normal(size=(2, 4))
    x = X[:, 0]
    module = made(eqx.nn.LSTMCell, 6, 4, key=KEY)
    model = loaded(module, shaped(nn.LSTMCell.init, KEY, 6, 4))
    _, (c_new, h_new) = applied(model, (x, (h[::-1], h)))
    assert_same((h_new, c_new), over(1, module, x, (h, h[::-1])))
    module = made(eqx.nn.GRUCell, 6, 4, key=KEY)
    model = loaded(module, shaped(nn.GRUCell.init, KEY, 6, 4))
    assert_same(applied(model, (x, h))[1], over(1, module, x, h))
    biases = {f"use_{n}_bias": True for n in ("query", "key", "value", "output")}
    module = made(eqx.nn.MultiheadAttention, 2, 6, **biases, key=KEY)
    model = loaded(module, shaped(nn.MultiHeadAttention.init, KEY, 6, 2))
    assert_same(applied(model, X), over(1, lambda x: module(x, x, x), X))


@pytest.mark.parametrize("how", ["module", "npz"])
def test_a_stack_of_vmap_and_a_list(how, tmp_path):
    """An MLP into a series, from the module and from a file of its arrays by name."""
    module = made(eqx.nn.MLP, 6, 3, 6, 2, key=KEY)
    model = shaped(
        lambda dtype: block.Series.init(
            [
                layer
                for out in (6, 6, 3)
                for layer in (
                    nn.Linear.init(KEY, 6, out, dtype=dtype),
                    nn.F.init(jax.nn.relu),
                )
            ][:-1]
        )
    )
    given = module
    if how == "npz":
        given = tmp_path / "mlp.npz"
        rows = jax.tree_util.tree_leaves_with_path(eqx.filter(module, eqx.is_array))
        np.savez(given, **{jax.tree_util.keystr(path): leaf for path, leaf in rows})
    assert_same(applied(loaded(given, model), X), over(2, module, X))
