"""Gradients over many elements in 16 bits are in range where their results are."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax.functional as F
from mlax import nn

HALVES = ("bfloat16", "float16")
FAST = {"xla_backend_optimization_level": 0}
SIZE = 2**20


def _functions():
    """Every norm, as a function of numbers in one row."""
    image = (1, 1, 2**10, -1)
    batch_norm = nn.BatchNorm.init(jax.random.key(0), 1)
    return {
        "layer_norm": functools.partial(F.layer_norm, axis=-1),
        "rms_norm": functools.partial(F.rms_norm, axis=-1),
        "z_norm": functools.partial(F.z_norm, axis=-1),
        "standardize": F.standardize,
        "l2_normalize": functools.partial(F.l2_normalize, axis=-1),
        "group_norm": lambda x: F.group_norm(x.reshape(image), groups=1),
        "instance_norm": lambda x: F.instance_norm(x.reshape(image)),
        "batch_norm": lambda x: nn.BatchNorm.fwd(x.reshape(image), *batch_norm)[0],
    }


@functools.cache
def _gradients():
    def gradients(x, cotangents):
        found = {}
        for name, function in _functions().items():
            y, vjp = jax.vjp(function, x)
            found[name] = [vjp(c.reshape(y.shape))[0] for c in cotangents]
        return found

    return jax.jit(gradients, compiler_options=FAST)


@pytest.mark.parametrize("dtype", HALVES)
def test_norms_of_a_million_elements(dtype):
    info = jnp.finfo(dtype)
    x = jnp.asarray(np.random.default_rng(0).normal(size=SIZE)).astype(dtype)
    # Alike, of either sign, and such that the gradient cancels but for its rounding.
    cotangents = [jnp.full_like(x, 64.0), 64.0 * jnp.sign(x), 64.0 * x]
    wide = jax.tree.map(lambda v: v.astype("float64"), (x, cotangents))
    exact = _gradients()(*wide)
    for name, parts in _gradients()(x, cotangents).items():
        for part, truth, given in zip(parts, exact[name], wide[1], strict=True):
            error = np.max(np.abs(part.astype("float64") - truth))
            # In units of the terms whose sum the gradient is: it may be a difference.
            length = 2.0**10 if name == "l2_normalize" else 1.0
            terms = max(np.max(np.abs(truth)), np.max(np.abs(given)) / length)
            assert error <= 8.0 * float(info.eps) * terms, (name, error)


@pytest.mark.parametrize("dtype", HALVES)
def test_norms_have_second_derivatives(dtype):
    x = jnp.asarray([1.0, -0.5, 0.25, 2.0], dtype)
    for function in (F.layer_norm, F.rms_norm):

        @functools.partial(jax.jit, compiler_options=FAST)
        def derivatives(x, function=function):
            loss = lambda x: F.sum(function(x) ** 3)  # noqa: E731
            return jax.hessian(loss)(x), jax.jvp(loss, (x,), (x,))[1]

        exact = derivatives(x.astype("float64"))
        for part, truth in zip(derivatives(x), exact, strict=True):
            scale = np.max(np.abs(exact[0]))
            np.testing.assert_allclose(part.astype("float64"), truth, atol=0.1 * scale)


@pytest.mark.parametrize("dtype", HALVES)
def test_softmax_of_as_many_zeros_compiled(dtype):
    @functools.partial(jax.jit, compiler_options=FAST)
    def both(x):
        found = {}
        for name in ("logsumexp", "softmax", "log_softmax", "logmeanexp"):
            y, vjp = jax.vjp(functools.partial(getattr(F, name), axis=-1), x)
            found[name] = y, vjp(jnp.ones_like(y))[0], vjp(64.0 * _one_of(y))[0]
        return found

    def _one_of(y):
        return jnp.zeros_like(y).at[..., :1].set(1.0) if y.ndim else jnp.ones_like(y)

    for size in (2**16, SIZE):
        x = jnp.zeros(size, dtype)
        exact = both(x.astype("float64"))
        for name, parts in both(x).items():
            for part, truth in zip(parts, exact[name], strict=True):
                scale = max(np.max(np.abs(truth)), float(jnp.finfo(dtype).tiny))
                error = np.max(np.abs(part.astype("float64") - truth))
                limit = 4.0 * float(jnp.finfo(dtype).eps) * scale
                assert error <= limit, (name, size, error, scale)
