"""Small layers written by hand: correct ones, of which the tests break variants."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.oracle import Spec
from mlax_scaffold.testing.situation import Situation

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def static(cls: type[T]) -> type[T]:
    """A frozen dataclass that is a pytree without leaves."""
    return jax.tree_util.register_static(dataclasses.dataclass(frozen=True)(cls))


@static
class LinearHyperparams:
    features: int


class LinearTrainables(NamedTuple):
    kernel: Any
    bias: Any


def linear_init(key, dtype):
    del key
    trainables = LinearTrainables(jnp.ones((3, 2), dtype), jnp.zeros((2,), dtype))
    return trainables, None, LinearHyperparams(2)


def static_mode(owner, inference_mode):
    if inference_mode is not True and inference_mode is not False:
        raise TypeError(f"{owner}: inference_mode must be True or False, and static")
    return inference_mode


def linear_fwd(x, trainables, state, hyperparams, inference_mode=False, key=None):
    static_mode("Linear", inference_mode)
    if x.shape[-1] != 3:
        raise ValueError(f"Linear: x has the shape {x.shape}, expected (*batch, 3)")
    kernel, bias = (w.astype(x.dtype) for w in trainables)
    return jnp.tanh(x @ kernel) + bias, state


LINEAR = Case(
    "Linear", linear_init, linear_fwd, jax.ShapeDtypeStruct((4, 3), jnp.float32)
)


class BatchNormState(NamedTuple):
    mean: Any
    var: Any
    steps: Any


@static
class BatchNormHyperparams:
    momentum: float


def batch_norm_init(key, dtype):
    del key
    state = BatchNormState(
        jnp.zeros((3,), dtype), jnp.ones((3,), dtype), jnp.zeros((), jnp.int32)
    )
    return (jnp.ones((3,), dtype),), state, BatchNormHyperparams(0.9)


def strict_mean(x):
    # As a product: a sum of 16-bit numbers would be rounded after each of them.
    return jnp.full(x.shape[:1], 1 / x.shape[0], x.dtype) @ x


def batch_norm_fwd(x, trainables, state, hyperparams, inference_mode=False, key=None):
    (scale,) = trainables
    if static_mode("BatchNorm", inference_mode):
        mean, var, new = state.mean.astype(x.dtype), state.var.astype(x.dtype), state
    else:
        mean = strict_mean(x)
        var = strict_mean(lax.square(x - mean))
        decay = hyperparams.momentum

        def ema(old, value):
            return (decay * old.astype(x.dtype) + (1 - decay) * value).astype(old.dtype)

        new = BatchNormState(
            ema(state.mean, mean), ema(state.var, var), state.steps + 1
        )
    return (x - mean) * lax.rsqrt(var + 1e-3) * scale.astype(x.dtype), new


BATCH_NORM = Case(
    "BatchNorm",
    batch_norm_init,
    batch_norm_fwd,
    jax.ShapeDtypeStruct((4, 3), jnp.float32),
    trains=True,
)


@static
class DropoutHyperparams:
    rate: float


def dropout_fwd(
    x, trainables, state, hyperparams, inference_mode=False, key=None, *, offset
):
    x = x + offset
    if static_mode("Dropout", inference_mode):
        return x, state
    if key is None:
        raise ValueError("Dropout: training needs a key: pass key=jax.random.key(0)")
    keep = jax.random.bits(key, x.shape, jnp.uint32) >= int(hyperparams.rate * 2**32)
    return jnp.where(keep, x / (1 - hyperparams.rate), 0.0), state


DROPOUT = Case(
    "Dropout",
    lambda key, dtype: (None, None, DropoutHyperparams(0.25)),
    dropout_fwd,
    jax.ShapeDtypeStruct((4, 3), jnp.float32),
    inputs={"offset": jax.ShapeDtypeStruct((3,), jnp.float32)},
    draws_keys=True,
)


def embedding_init(key, dtype):
    del key
    return (jnp.ones((5, 3), dtype),), None, LinearHyperparams(3)


def embedding_fwd(x, trainables, state, hyperparams, inference_mode=False, key=None):
    static_mode("Embedding", inference_mode)
    return trainables[0][x], state


EMBEDDING = Case(
    "Embedding",
    embedding_init,
    embedding_fwd,
    jax.ShapeDtypeStruct((4,), jnp.int32),
    ranges={"x": (3, 5)},
)

CASES = (LINEAR, BATCH_NORM, DROPOUT, EMBEDDING)


def situation(case, dtype=jnp.float32, weights_dtype=None, training=False):
    """A case in a situation; there is no spec."""
    weights = dtype if weights_dtype is None else weights_dtype
    spec = Spec(Path(__file__), Path(__file__).parent)
    return Situation(case, spec, jnp.dtype(dtype), jnp.dtype(weights), training)
