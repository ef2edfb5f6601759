"""Specs compute in the dtype of their input, forward and backward."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from oracle_library import spec

from mlax_scaffold.testing.audit import assert_dtypes

KEY = jax.random.key(0)
WINDOW = {"spatial_dims": 2, "window": 2, "padding": 1}

# Name, hyperparameters, shapes of the inputs.
FUNCTIONS: list[tuple[str, dict[str, Any], tuple[tuple[int, ...], ...]]] = [
    ("sum", {"axis": 1}, ((3, 4),)),
    ("prod", {"axis": 1}, ((3, 4),)),
    ("mean", {"axis": -1, "keepdims": True}, ((3, 4),)),
    ("var", {}, ((3, 4),)),
    ("moments", {"axis": (0, 1)}, ((3, 4),)),
    ("softmax", {}, ((3, 4),)),
    ("log_softmax", {}, ((3, 4),)),
    ("logsumexp", {"axis": 0}, ((3, 4),)),
    ("normalize", {}, ((3, 4), (3, 1), (3, 1))),
    ("standardize", {}, ((3, 4),)),
    ("ema", {"decay": 0.9}, ((3,), (3,))),
    ("identity", {}, ((3,),)),
    ("max_pool", WINDOW, ((1, 4, 4),)),
    ("min_pool", WINDOW, ((1, 4, 4),)),
    ("sum_pool", WINDOW, ((1, 4, 4),)),
    ("avg_pool", WINDOW, ((1, 4, 4),)),
    ("avg_pool", {**WINDOW, "count_include_pad": False}, ((1, 4, 4),)),
    ("layer_norm", {}, ((3, 4),)),
    ("rms_norm", {}, ((3, 4),)),
    ("z_norm", {}, ((3, 4),)),
    ("group_norm", {"groups": 2}, ((3, 4, 5),)),
    ("instance_norm", {}, ((3, 4, 5),)),
    ("dot_product_attention", {"causal": True}, ((3, 2, 4),) * 3),
]

# Place, hyperparameters, shapes of the inputs (several: forward takes a tuple).
LAYERS: list[tuple[str, dict[str, Any], Any]] = [
    ("linear", {"in_features": 4, "out_features": 3}, (2, 5, 4)),
    ("bias", {"features": 4}, (2, 4)),
    ("scaler", {"features": 4}, (2, 4)),
    (
        "conv",
        {"spatial_dims": 2, "in_channels": 4, "out_channels": 2, "kernel_size": 3},
        (2, 4, 5, 5),
    ),
    ("batch_norm", {"channels": 4}, (3, 4, 5)),
    ("layer_norm", {"features": 4}, (3, 4)),
    ("group_norm", {"groups": 2, "channels": 4}, (3, 4, 5)),
    ("dropout", {"rate": 0.3, "broadcast_axis": -1}, (3, 4)),
    ("spectral_norm", {"features": 4}, (3, 4)),
    (
        "multi_head_attention",
        {"features": 4, "heads": 2, "causal": True, "dropout_rate": 0.1},
        (2, 3, 4),
    ),
    ("lstm_cell", {"in_features": 4, "features": 3}, [(2, 4), ((2, 3), (2, 3))]),
]


def _shapes(tree: Any, dtype: Any) -> Any:
    """Abstract arrays: a tuple of integers is a shape."""
    return jax.tree.map(
        lambda shape: jax.ShapeDtypeStruct(shape, dtype),
        tree,
        is_leaf=lambda t: isinstance(t, tuple) and all(isinstance(n, int) for n in t),
    )


def _audit(function: Callable[..., Any], dtype: Any, *inputs: Any) -> None:
    assert_dtypes(jax.make_jaxpr(function)(*inputs), [dtype], what="forward")

    def backward(*inputs: Any) -> Any:
        outputs, vjp = jax.vjp(function, *inputs)
        return vjp(jax.tree.map(jnp.ones_like, outputs))

    assert_dtypes(jax.make_jaxpr(backward)(*inputs), [dtype], what="backward")


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    ("name", "hyperparameters", "shapes"), FUNCTIONS, ids=lambda v: str(v)[:20]
)
def test_functions_do_not_widen(name, hyperparameters, shapes, dtype):
    function = spec(f"functional/{name}")
    _audit(lambda *x: function(*x, **hyperparameters), dtype, *_shapes(shapes, dtype))


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16], ids=["f16", "bf16"])
def test_dropout_draws_without_a_float(dtype):
    dropout = spec("functional/dropout")
    _audit(lambda x: dropout(x, KEY, rate=0.3), dtype, *_shapes(((3, 4),), dtype))


@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16], ids=["f16", "bf16"])
@pytest.mark.parametrize(
    ("place", "hyperparameters", "shapes"), LAYERS, ids=lambda v: str(v)[:20]
)
def test_layers_compute_in_the_dtype_of_the_input(
    place, hyperparameters, shapes, dtype, training
):
    layer = spec(f"nn/{place}")(**hyperparameters)
    layer.initialize(KEY, jnp.float32)
    weights, states = layer.trainables, layer.non_trainables

    def forward(weights: Any, states: Any, x: Any) -> Any:
        layer.load(weights, states)
        return layer(x, training, KEY if training else None), layer.non_trainables

    x = _shapes(shapes, dtype)
    closed_jaxpr = jax.make_jaxpr(forward)(weights, states, x)
    count, stored = len(jax.tree.leaves(states)), [jnp.float32]
    kept = [False] * (len(closed_jaxpr.jaxpr.outvars) - count) + [True] * count
    assert_dtypes(closed_jaxpr, [dtype], stored=stored, kept=kept, what="forward")

    def backward(weights: Any, states: Any, x: Any) -> Any:
        y, vjp, new_states = jax.vjp(
            lambda w, x: forward(w, states, x), weights, x, has_aux=True
        )
        return vjp(jax.tree.map(jnp.ones_like, y)), new_states

    closed_jaxpr = jax.make_jaxpr(backward)(weights, states, x)
    kept = [False] * (len(closed_jaxpr.jaxpr.outvars) - count) + [True] * count
    assert_dtypes(closed_jaxpr, [dtype], stored=stored, kept=kept, what="backward")


def test_state_keeps_its_dtype():
    layer = spec("nn/batch_norm")(2)
    layer.initialize(KEY, jnp.float32)
    layer(jnp.ones((3, 2), jnp.bfloat16), training=True)
    assert layer.non_trainables["mean"].dtype == jnp.float32


def test_moving_averages_do_not_stall_in_half_precision():
    layer = spec("nn/batch_norm")(2, momentum=0.999)
    layer.initialize(KEY, jnp.bfloat16)
    x = jnp.asarray([[1.0, 2.0], [3.0, 6.0]], jnp.bfloat16)
    for _ in range(3):
        layer(x, training=True)
    expected = jnp.asarray([2.0, 4.0]) * (1.0 - 0.999**3)
    assert jnp.allclose(layer.non_trainables["mean"], expected, rtol=1e-5)
