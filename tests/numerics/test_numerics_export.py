"""What plain Python and `jax.export` do with the library: pickles, copies, sizes that are symbols."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from numerics_arrays import draw
from numerics_compare import shapes_of
from numerics_every import create, names

from mlax import block, functional, nn, schedule

KEY = jax.random.key(0)
WEIGHTS = {
    "kernel": jax.ShapeDtypeStruct((8, 6), jnp.float32),
    "bias": jax.ShapeDtypeStruct((6,), jnp.float32),
}
LAYERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Linear": (lambda key: nn.Linear.init(key, 8, 3), "b, t, 8"),
    "MLP": (lambda key: block.MLP.init(key, 8, 3, [16]), "b, t, 8"),
    "LayerNorm": (lambda key: nn.LayerNorm.init(key, 8), "b, t, 8"),
    "BatchNorm": (lambda key: nn.BatchNorm.init(key, 8), "b, 8, t"),
    "GroupNorm": (lambda key: nn.GroupNorm.init(key, 2, 8), "b, 8, t"),
    "DropPath": (lambda key: nn.DropPath.init(0.5), "b, t, 8"),
    "Dropout": (lambda key: nn.Dropout.init(0.5), "b, t, 8"),
    "Conv": (lambda key: nn.Conv.init(key, 2, 3, 4, 3), "b, 3, h, w"),
    "Conv with strides": (
        lambda key: nn.Conv.init(key, 2, 3, 4, 3, strides=2, padding="VALID"),
        "b, 3, 2*h + 1, 2*w + 1",
    ),
    "MaxPool": (lambda key: nn.MaxPool.init(2, 2, strides=2), "b, 3, 2*h, 2*w"),
    "AvgPool": (lambda key: nn.AvgPool.init(2, 2, strides=2), "b, 3, 2*h, 2*w"),
    "Conv with strides and SAME": (
        lambda key: nn.Conv.init(key, 2, 3, 4, 3, strides=[2, 3], padding="SAME"),
        "b, 3, h, w",
    ),
    "Conv with gaps, strides and SAME_LOWER": (
        lambda key: nn.Conv.init(
            key, 1, 3, 4, 4, strides=3, padding="SAME_LOWER", input_dilation=2
        ),
        "b, 3, h",
    ),
    "circular Conv": (
        lambda key: nn.Conv.init(key, 2, 3, 4, 4, strides=2, padding_mode="circular"),
        "b, 3, h, w",
    ),
    "reflecting Conv": (
        lambda key: nn.Conv.init(
            key, 1, 3, 4, 7, strides=2, padding_mode="reflect", input_dilation=2
        ),
        "b, 3, h",
    ),
    "circular ConvTranspose": (
        lambda key: nn.ConvTranspose.init(
            key, 1, 3, 4, 7, strides=2, padding_mode="circular"
        ),
        "b, 3, h",
    ),
    "ConvTranspose": (
        lambda key: nn.ConvTranspose.init(key, 2, 3, 4, 3, strides=2),
        "b, 3, h, w",
    ),
    "causal Conv": (
        lambda key: nn.Conv.init(key, 1, 3, 4, 3, padding="CAUSAL"),
        "b, 3, t",
    ),
    "DepthwiseConv": (
        lambda key: nn.DepthwiseConv.init(key, 2, 3, 3, strides=2),
        "b, 3, h, w",
    ),
    "SeparableConv": (
        lambda key: nn.SeparableConv.init(key, 2, 3, 4, 3, strides=2),
        "b, 3, h, w",
    ),
    "SumPool": (
        lambda key: nn.SumPool.init(1, 3, strides=2, padding="CAUSAL"),
        "b, 3, t",
    ),
    "MinPool": (lambda key: nn.MinPool.init(2, 3, 2, padding="SAME"), "b, 3, h, w"),
    "dilated MaxPool with SAME": (
        lambda key: nn.MaxPool.init(1, 3, 2, padding="SAME", dilation=2),
        "b, 3, 2+t",
    ),
    "AvgPool of what there is": (
        lambda key: nn.AvgPool.init(2, 3, 2, padding="SAME", count_include_pad=False),
        "b, 3, h, w",
    ),
    "MaxPool of parts": (
        lambda key: nn.MaxPool.init(2, 3, 2, ceil_mode=True),
        "b, 3, 2+h, 2+w",
    ),
    "AdaptiveAvgPool": (lambda key: nn.AdaptiveAvgPool.init(2, 2), "b, 3, 2*h, 2*w"),
    "AdaptiveMaxPool": (lambda key: nn.AdaptiveMaxPool.init(2, 2), "b, 3, 2*h, 2*w"),
    "AdaptiveAvgPool of any size": (
        lambda key: nn.AdaptiveAvgPool.init(2, 3),
        "b, 3, 2+h, 2+w",
    ),
    "AdaptiveMaxPool of any size": (
        lambda key: nn.AdaptiveMaxPool.init(2, 3, channel_last=True),
        "b, 2+h, 2+w, 3",
    ),
    "PatchEmbed": (lambda key: nn.PatchEmbed.init(key, 2, 3, 8, 2), "b, 3, 2*h, 2*w"),
    "GlobalAvgPool": (lambda key: nn.GlobalAvgPool.init(2), "b, 3, h, w"),
    "GlobalMaxPool": (lambda key: nn.GlobalMaxPool.init(2), "b, 3, h, w"),
    "Recurrent": (
        lambda key: block.Recurrent.init(nn.GRUCell.init(key, 8, 4)),
        "b, t, 8",
    ),
    "Recurrent in reverse": (
        lambda key: block.Recurrent.init(nn.LSTMCell.init(key, 8, 4), reverse=True),
        "b, t, 8",
    ),
    "Bidirectional": (
        lambda key: block.Bidirectional.init(
            block.Recurrent.init(nn.GRUCell.init(key, 8, 4)),
            block.Recurrent.init(nn.GRUCell.init(key, 8, 4)),
        ),
        "b, t, 8",
    ),
    # Positions are b * t: an expert has room for 1.25 * 2 / 4 of them.
    "MixtureOfExperts": (
        lambda key: block.MixtureOfExperts.init(key, 8, 16, 4),
        "b, t, 8",
    ),
    "MixtureOfExperts without a bound": (
        lambda key: block.MixtureOfExperts.init(key, 8, 16, 4, capacity_factor=None),
        "b, t, 8",
    ),
    "LRU": (lambda key: nn.LRU.init(key, 8, 4), "b, t, 8"),
    "dilated MaxPool": (
        lambda key: nn.MaxPool.init(2, 3, 2, dilation=2),
        "b, 3, 5+h, 5+w",
    ),
    "attention": (
        lambda key: nn.MultiHeadAttention.init(key, 8, 2, causal=True),
        "b, t, 8",
    ),
    "rotary attention": (
        lambda key: nn.MultiHeadAttention.init(
            key, 8, 2, causal=True, rotary=functional.rotary_embedding
        ),
        "b, t, 8",
    ),
    "TransformerEncoderLayer": (
        lambda key: block.TransformerEncoderLayer.init(key, 8, 2, 16),
        "b, t, 8",
    ),
}


TRAINED = (
    "MLP",
    "BatchNorm",
    "DropPath",
    "Dropout",
    "Recurrent",
    "Recurrent in reverse",
    "Bidirectional",
    "MixtureOfExperts",
    "MixtureOfExperts without a bound",
    "TransformerEncoderLayer",
)
"""Those that have another program in training."""


@functools.cache
def made(name: str) -> Any:
    """The layer of that name, of one program, with weights in float32."""
    with jax.enable_x64(False):
        return jax.jit(LAYERS[name][0])(KEY)


def sizes_of(name: str, first: int) -> tuple[int, ...]:
    """The sizes of its input, where symbols stand for some from `first` on."""
    environment = {symbol: first + i for i, symbol in enumerate("bthw")}
    return tuple(eval(part, environment) for part in LAYERS[name][1].split(","))


@pytest.mark.parametrize(
    ("name", "training"),
    [*((name, False) for name in LAYERS), *((name, True) for name in TRAINED)],
)
def test_sizes_may_be_symbols(name: str, training: bool):
    trainables, state, hyperparams = made(name)

    @jax.jit
    def apply(x: jax.Array) -> jax.Array:
        key = KEY if training else None
        y, _ = hyperparams.apply(x, trainables, state, not training, key=key)
        return y

    shape = export.symbolic_shape(LAYERS[name][1])
    exported = export.export(apply)(jax.ShapeDtypeStruct(shape, jnp.float32))
    for first in (2, 3):
        x = draw(0, sizes_of(name, first), jnp.float32)
        # The two are compiled for different shapes, and may add up in another order.
        np.testing.assert_allclose(exported.call(x), apply(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", LAYERS)
def test_sizes_may_be_symbols_in_16_bits(name: str, dtype: str):
    trainables, state, hyperparams = made(name)
    apply = jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])
    shape = export.symbolic_shape(LAYERS[name][1])
    exported = export.export(apply)(jax.ShapeDtypeStruct(shape, dtype))
    x = draw(0, sizes_of(name, 3), dtype)
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
    x = draw(0, (4, 5, 3), dtype)
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
        x = draw(0, (2, 3, length), jnp.float32)
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
        x = draw(0, (2, n), jnp.float32)
        np.testing.assert_allclose(exported.call(x), slopes(x), rtol=1e-5, atol=1e-6)


def test_a_size_that_patches_divide_is_one_with_a_constraint():
    trainables, state, hyperparams = nn.PatchEmbed.init(KEY, 1, 3, 8, 4)
    apply = jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])

    def exported(*constraints: str) -> Any:
        shape = export.symbolic_shape("b, 3, n", constraints=constraints)
        return export.export(apply)(jax.ShapeDtypeStruct(shape, jnp.float32))

    x = draw(0, (2, 3, 12), jnp.float32)
    y = exported("mod(n, 4) == 0").call(x)
    np.testing.assert_allclose(y, apply(x), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="patch_size must divide the size"):
        exported()


def test_a_length_that_a_table_bounds_is_one_with_a_bound():
    trainables, state, hyperparams = nn.LearnedPositionalEmbedding.init(KEY, 16, 8)
    apply = jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])
    shape = export.symbolic_shape("b, t, 8", constraints=["t <= 16"])
    exported = export.export(apply)(jax.ShapeDtypeStruct(shape, jnp.float32))
    x = draw(0, (2, 5, 8), jnp.float32)
    assert jnp.array_equal(exported.call(x), apply(x))


def series(key: Any) -> Any:
    parts = [nn.Linear.init(key, 8, 8), nn.F.init(jax.nn.relu), nn.Dropout.init(0.1)]
    return block.Series.init(parts)


MASKED = {"AdamW", "Freeze", "Masked", "WeightDecay"}
PICKLED = [*LAYERS, "Cosine", "Series"]
OPTIMIZERS = [name for name in names() if name not in MASKED]


@functools.cache
def hyperparams_of(name: str) -> Any:
    """Those of a layer or an optimizer, or a schedule. Compiles nothing."""
    if name == "Cosine":
        return schedule.Cosine(init_value=0.1, decay_steps=10)
    if name in OPTIMIZERS:
        return jax.eval_shape(lambda weights: create(name, weights), WEIGHTS)[1]
    return shapes_of(series if name == "Series" else LAYERS[name][0])[2]


@pytest.mark.parametrize("name", [*PICKLED, *OPTIMIZERS])
@pytest.mark.parametrize(
    "again", [lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy, copy.copy]
)
def test_hyperparameters_are_equal_after(name: str, again: Any):
    value = hyperparams_of(name)
    other = again(value)
    assert other == value
    assert hash(other) == hash(value)
    traced = []
    run = jax.jit(
        lambda x, h: traced.append(h) or x, static_argnames="h"
    )  # what is traced for one serves the other
    run.trace(1.0, h=value)
    run.trace(1.0, h=other)
    assert len(traced) == 1


def test_another_process_has_equal_ones(tmp_path: Path):
    """Hashes differ from process to process: none of them is in the pickle."""
    stored = {name: hyperparams_of(name) for name in PICKLED}
    (tmp_path / "stored").write_bytes(pickle.dumps(stored))
    program = """
import json, pickle, sys
from pathlib import Path
import test_numerics_export as here
stored = pickle.loads(Path(sys.argv[1]).read_bytes())
made = {name: here.hyperparams_of(name) for name in stored}
same = [n for n, h in stored.items() if h == made[n] and hash(h) == hash(made[n])]
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
