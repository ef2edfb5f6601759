"""What plain Python and `jax.export` do with the library: pickles, copies, sizes that are symbols."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from numerics_every import create, names

from mlax import block, functional, nn, schedule

KEY = jax.random.key(0)
WEIGHTS = {"kernel": jnp.ones((8, 6)), "bias": jnp.ones(6)}
LAYERS: dict[str, tuple[Any, str]] = {
    "Linear": (nn.Linear.init(KEY, 8, 3), "b, t, 8"),
    "MLP": (block.MLP.init(KEY, 8, 3, [16]), "b, t, 8"),
    "LayerNorm": (nn.LayerNorm.init(KEY, 8), "b, t, 8"),
    "BatchNorm": (nn.BatchNorm.init(KEY, 8), "b, 8, t"),
    "GroupNorm": (nn.GroupNorm.init(KEY, 2, 8), "b, 8, t"),
    "DropPath": (nn.DropPath.init(0.5), "b, t, 8"),
    "Dropout": (nn.Dropout.init(0.5), "b, t, 8"),
    "Conv": (nn.Conv.init(KEY, 2, 3, 4, 3), "b, 3, h, w"),
    "Conv with strides": (
        nn.Conv.init(KEY, 2, 3, 4, 3, strides=2, padding="VALID"),
        "b, 3, 2*h + 1, 2*w + 1",
    ),
    "MaxPool": (nn.MaxPool.init(2, 2, strides=2), "b, 3, 2*h, 2*w"),
    "AvgPool": (nn.AvgPool.init(2, 2, strides=2), "b, 3, 2*h, 2*w"),
    "Conv with strides and SAME": (
        nn.Conv.init(KEY, 2, 3, 4, 3, strides=[2, 3], padding="SAME"),
        "b, 3, h, w",
    ),
    "Conv with gaps, strides and SAME_LOWER": (
        nn.Conv.init(
            KEY, 1, 3, 4, 4, strides=3, padding="SAME_LOWER", input_dilation=2
        ),
        "b, 3, h",
    ),
    "circular Conv": (
        nn.Conv.init(KEY, 2, 3, 4, 4, strides=2, padding_mode="circular"),
        "b, 3, h, w",
    ),
    "reflecting Conv": (
        nn.Conv.init(
            KEY, 1, 3, 4, 7, strides=2, padding_mode="reflect", input_dilation=2
        ),
        "b, 3, h",
    ),
    "circular ConvTranspose": (
        nn.ConvTranspose.init(KEY, 1, 3, 4, 7, strides=2, padding_mode="circular"),
        "b, 3, h",
    ),
    "ConvTranspose": (nn.ConvTranspose.init(KEY, 2, 3, 4, 3, strides=2), "b, 3, h, w"),
    "causal Conv": (nn.Conv.init(KEY, 1, 3, 4, 3, padding="CAUSAL"), "b, 3, t"),
    "DepthwiseConv": (nn.DepthwiseConv.init(KEY, 2, 3, 3, strides=2), "b, 3, h, w"),
    "SeparableConv": (nn.SeparableConv.init(KEY, 2, 3, 4, 3, strides=2), "b, 3, h, w"),
    "SumPool": (nn.SumPool.init(1, 3, strides=2, padding="CAUSAL"), "b, 3, t"),
    "MinPool": (nn.MinPool.init(2, 3, 2, padding="SAME"), "b, 3, h, w"),
    "dilated MaxPool with SAME": (
        nn.MaxPool.init(1, 3, 2, padding="SAME", dilation=2),
        "b, 3, 2+t",
    ),
    "AvgPool of what there is": (
        nn.AvgPool.init(2, 3, 2, padding="SAME", count_include_pad=False),
        "b, 3, h, w",
    ),
    "MaxPool of parts": (nn.MaxPool.init(2, 3, 2, ceil_mode=True), "b, 3, 2+h, 2+w"),
    "AdaptiveAvgPool": (nn.AdaptiveAvgPool.init(2, 2), "b, 3, 2*h, 2*w"),
    "AdaptiveMaxPool": (nn.AdaptiveMaxPool.init(2, 2), "b, 3, 2*h, 2*w"),
    "AdaptiveAvgPool of any size": (nn.AdaptiveAvgPool.init(2, 3), "b, 3, 2+h, 2+w"),
    "AdaptiveMaxPool of any size": (
        nn.AdaptiveMaxPool.init(2, 3, channel_last=True),
        "b, 2+h, 2+w, 3",
    ),
    "PatchEmbed": (nn.PatchEmbed.init(KEY, 2, 3, 8, 2), "b, 3, 2*h, 2*w"),
    "GlobalAvgPool": (nn.GlobalAvgPool.init(2), "b, 3, h, w"),
    "GlobalMaxPool": (nn.GlobalMaxPool.init(2), "b, 3, h, w"),
    "Recurrent": (block.Recurrent.init(nn.GRUCell.init(KEY, 8, 4)), "b, t, 8"),
    "Recurrent in reverse": (
        block.Recurrent.init(nn.LSTMCell.init(KEY, 8, 4), reverse=True),
        "b, t, 8",
    ),
    "Bidirectional": (
        block.Bidirectional.init(
            block.Recurrent.init(nn.GRUCell.init(KEY, 8, 4)),
            block.Recurrent.init(nn.GRUCell.init(KEY, 8, 4)),
        ),
        "b, t, 8",
    ),
    # Positions are b * t: an expert has room for 1.25 * 2 / 4 of them.
    "MixtureOfExperts": (block.MixtureOfExperts.init(KEY, 8, 16, 4), "b, t, 8"),
    "MixtureOfExperts without a bound": (
        block.MixtureOfExperts.init(KEY, 8, 16, 4, capacity_factor=None),
        "b, t, 8",
    ),
    "LRU": (nn.LRU.init(KEY, 8, 4), "b, t, 8"),
    "dilated MaxPool": (nn.MaxPool.init(2, 3, 2, dilation=2), "b, 3, 5+h, 5+w"),
    "attention": (nn.MultiHeadAttention.init(KEY, 8, 2, causal=True), "b, t, 8"),
    "rotary attention": (
        nn.MultiHeadAttention.init(
            KEY, 8, 2, causal=True, rotary=functional.rotary_embedding
        ),
        "b, t, 8",
    ),
    "TransformerEncoderLayer": (
        block.TransformerEncoderLayer.init(KEY, 8, 2, 16),
        "b, t, 8",
    ),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_sizes_may_be_symbols(name: str, training: bool):
    (trainables, state, hyperparams), dims = LAYERS[name]

    @jax.jit
    def apply(x: jax.Array) -> jax.Array:
        key = KEY if training else None
        y, _ = hyperparams.apply(x, trainables, state, not training, key=key)
        return y

    shape = export.symbolic_shape(dims)
    exported = export.export(apply)(jax.ShapeDtypeStruct(shape, jnp.float32))
    for size in (2, 3):
        environment = {s: size + i for i, s in enumerate("bthw")}
        actual = tuple(eval(part, environment) for part in dims.split(","))
        x = jax.random.normal(KEY, actual, jnp.float32)
        # The two are compiled for different shapes, and may add up in another order.
        np.testing.assert_allclose(exported.call(x), apply(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", LAYERS)
def test_sizes_may_be_symbols_in_16_bits(name: str, dtype: str):
    (trainables, state, hyperparams), dims = LAYERS[name]
    apply = jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])
    shape = export.symbolic_shape(dims)
    exported = export.export(apply)(jax.ShapeDtypeStruct(shape, dtype))
    environment = {s: 3 + i for i, s in enumerate("bthw")}
    actual = tuple(eval(part, environment) for part in dims.split(","))
    x = jax.random.normal(KEY, actual, dtype)
    y, error = exported.call(x), 8 * float(jnp.finfo(dtype).eps)
    assert y.dtype == dtype
    expected = np.asarray(apply(x), np.float64)
    np.testing.assert_allclose(np.asarray(y, np.float64), expected, error, error)


REDUCED = ("mean", "std", "moments", "max", "softmax", "log_softmax", "logsumexp")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", [*REDUCED, "l2_norm", "layer_norm"])
def test_gradients_of_reductions_take_sizes_that_are_symbols(name: str, dtype: str):
    reduction = getattr(functional, name)

    @jax.jit
    @jax.grad
    def slopes(x: jax.Array) -> Any:
        y = jax.tree.leaves(reduction(x, axis=(0, 1)))
        return sum(jnp.sum(part.astype(jnp.float32) ** 2) for part in y)

    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, t, 3"), dtype)
    exported = export.export(slopes)(shape)
    x = jax.random.normal(KEY, (4, 5, 3), dtype)
    y, error = exported.call(x), 16 * float(jnp.finfo(dtype).eps)
    assert y.dtype == dtype
    expected = np.asarray(slopes(x), np.float64)
    np.testing.assert_allclose(np.asarray(y, np.float64), expected, error, error)


def test_gradients_too_take_sizes_that_are_symbols():
    trainables, _, conv = nn.Conv.init(KEY, 1, 3, 4, 3, strides=2)
    _, _, pool = nn.MaxPool.init(1, 3, strides=2, padding="SAME")

    @jax.jit
    @jax.grad
    def slopes(trainables: Any, x: jax.Array) -> jax.Array:
        y, _ = conv.apply(x, trainables, None, True)
        y, _ = pool.apply(y, None, None, True)
        return jnp.sum(y * y)

    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 3, t"), jnp.float32)
    exported = export.export(slopes)(trainables, shape)
    for length in (1, 4, 7):
        x = jax.random.normal(KEY, (2, 3, length), jnp.float32)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
            exported.call(trainables, x),
            slopes(trainables, x),
        )


def test_windows_of_a_size_that_is_a_symbol_are_those_of_any_size():
    pool = nn.AdaptiveAvgPool.init(1, 4)[2]
    slopes = jax.jit(jax.grad(lambda x: jnp.sum(pool.apply(x, None, None)[0] ** 3)))
    shape = export.symbolic_shape("b, n", constraints=["n >= 4"])
    exported = export.export(slopes)(jax.ShapeDtypeStruct(shape, jnp.float32))
    for n in range(4, 13):
        x = jax.random.normal(KEY, (2, n), jnp.float32)
        np.testing.assert_allclose(exported.call(x), slopes(x), rtol=1e-5, atol=1e-6)


def test_a_size_that_patches_divide_is_one_with_a_constraint():
    trainables, state, hyperparams = nn.PatchEmbed.init(KEY, 1, 3, 8, 4)
    apply = jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])

    def exported(*constraints: str) -> Any:
        shape = export.symbolic_shape("b, 3, n", constraints=constraints)
        return export.export(apply)(jax.ShapeDtypeStruct(shape, jnp.float32))

    x = jax.random.normal(KEY, (2, 3, 12), jnp.float32)
    y = exported("mod(n, 4) == 0").call(x)
    np.testing.assert_allclose(y, apply(x), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="patch_size must divide the size"):
        exported()


def test_a_length_that_a_table_bounds_is_one_with_a_bound():
    trainables, state, hyperparams = nn.LearnedPositionalEmbedding.init(KEY, 16, 8)
    apply = jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])
    shape = export.symbolic_shape("b, t, 8", constraints=["t <= 16"])
    exported = export.export(apply)(jax.ShapeDtypeStruct(shape, jnp.float32))
    x = jax.random.normal(KEY, (2, 5, 8), jnp.float32)
    assert jnp.array_equal(exported.call(x), apply(x))


def _hyperparams() -> dict[str, Any]:
    layers = {name: layer[2] for name, (layer, _) in LAYERS.items()}
    masked = {"AdamW", "Freeze", "Masked", "WeightDecay"}
    optimizers = {n: create(n, WEIGHTS)[1] for n in names() if n not in masked}
    values = {"Cosine": schedule.Cosine(init_value=0.1, decay_steps=10)}
    nested = block.Series.init(
        [nn.Linear.init(KEY, 8, 8), nn.F.init(jax.nn.relu), nn.Dropout.init(0.1)]
    )[2]
    return {**layers, **optimizers, **values, "Series": nested}


HYPERPARAMS = _hyperparams()


@pytest.mark.parametrize("name", HYPERPARAMS)
@pytest.mark.parametrize(
    "again", [lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy, copy.copy]
)
def test_hyperparameters_are_equal_after(name: str, again: Any):
    value = HYPERPARAMS[name]
    other = again(value)
    assert other == value
    assert hash(other) == hash(value)
    traced = []
    run = jax.jit(
        lambda x, h: traced.append(h) or x, static_argnames="h"
    )  # what is compiled for one serves the other
    run(1.0, h=value)
    run(1.0, h=other)
    assert len(traced) == 1


def test_another_process_has_equal_ones(tmp_path: Path):
    """Hashes differ from process to process: none of them is in the pickle."""
    stored = {n: h for n, h in HYPERPARAMS.items() if n not in names()}
    (tmp_path / "stored").write_bytes(pickle.dumps(stored))
    program = """
import json, pickle, sys
from pathlib import Path
import test_numerics_export as here
stored = pickle.loads(Path(sys.argv[1]).read_bytes())
same = [n for n, h in stored.items() if h == here.HYPERPARAMS[n] and hash(h) == hash(here.HYPERPARAMS[n])]
print(json.dumps(same))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "stored")],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == list(stored)
