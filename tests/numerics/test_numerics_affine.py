"""Affine layers against flax, and against NumPy from their equations."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax import lax
from numerics_adapter import apply_layer, init_layer
from numerics_arrays import assert_close, assert_same_vjp, draw, numpy

EXACT = {"precision": "highest"}


@pytest.mark.parametrize(
    ("sizes", "theirs", "x"),
    [
        ({"in_features": (3,), "out_features": (2, 4)}, {"axis": -1}, (5, 3)),
        ({"in_features": (2, 3), "out_features": (4,)}, {"axis": (1, 3)}, (5, 2, 4, 3)),
        (
            {"in_features": (3,), "out_features": (2,), "batch_features": (4,)},
            {"axis": -1, "batch_dims": (0,)},
            (4, 5, 3),
        ),
    ],
)
def test_linear_general(sizes: dict, theirs: dict, x: tuple[int, ...], dtype: Any):
    batch, out = sizes.get("batch_features", ()), sizes["out_features"]
    weights = {
        "kernel": draw(0, (*batch, *sizes["in_features"], *out), dtype),
        "bias": draw(1, (*batch, *out), dtype),
    }
    module = nn.DenseGeneral(
        out, param_dtype=dtype, dtype=dtype, precision="highest", **theirs
    )
    hyper = {**sizes, **EXACT, "axis": theirs["axis"]}
    hyper["batch_axis"] = theirs.get("batch_dims", ())

    def ours(weights, x):
        return apply_layer("nn/linear_general", hyper, weights, x)[0]

    def expected(weights, x):
        return module.apply({"params": weights}, x)

    assert_same_vjp(ours, expected, (weights, draw(2, x, dtype)), dtype)


def test_linear_general_draws_the_kernel_of_flax():
    key = jax.random.key(3)
    sizes = {"in_features": (2, 3), "out_features": (4, 2), "axis": (-2, -1)}
    weights, *_ = init_layer("nn/linear_general", sizes, key)
    kernel = nn.initializers.lecun_normal()(jax.random.split(key)[0], (6, 8))
    np.testing.assert_allclose(
        weights.kernel, kernel.reshape(2, 3, 4, 2), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize(
    ("equation", "kernel", "bias", "x"),
    [
        ("nta,hab->nthb", (2, 3, 4), (2, 4), (2, 5, 3)),
        ("nha,hab->nhb", (2, 3, 4), (2, 4), (5, 2, 3)),
        ("abc,cd->adb", (4, 2), (2,), (3, 5, 4)),
    ],
)
def test_einsum(equation: str, kernel: tuple, bias: tuple, x: tuple, dtype: Any):
    weights = {"kernel": draw(0, kernel, dtype), "bias": draw(1, bias, dtype)}
    module = nn.Einsum(
        kernel, equation, dtype=dtype, param_dtype=dtype, precision="highest"
    )
    hyper = {"equation": equation, "kernel_shape": kernel, "use_bias": True, **EXACT}

    def ours(weights, x):
        return apply_layer("nn/einsum", hyper, weights, x)[0]

    def expected(weights, x):
        return module.apply({"params": weights}, x)

    assert_same_vjp(ours, expected, (weights, draw(2, x, dtype)), dtype)


def test_einsum_with_an_ellipsis(dtype: Any):
    weights = {"kernel": draw(0, (2, 3), dtype), "bias": draw(1, (3,), dtype)}
    hyper = {"equation": "a...,ab->...b", "kernel_shape": (2, 3), "use_bias": True}
    x = draw(2, (2, 4, 5), dtype)
    y, _ = apply_layer("nn/einsum", {**hyper, **EXACT}, weights, x)
    w = numpy(weights)
    assert_close(y, np.tensordot(numpy(x), w["kernel"], (0, 0)) + w["bias"], dtype)


@pytest.mark.parametrize(
    ("equation", "kernel", "x"),
    [
        ("...a,ab->...b", (3, 2), (4, 5, 3)),
        ("nacn,ab->bn", (3, 2), (4, 3, 5, 4)),
        ("a...,ab->b", (3, 2), (3, 2, 2)),
        ("hat, hab -> bth", (2, 3, 4), (2, 3, 5)),
    ],
)
def test_einsum_of_another_product(equation: str, kernel: tuple, x: tuple, dtype: Any):
    """As jnp.einsum has it with the same product in the place of its own."""

    def halved(lhs: Any, rhs: Any, dims: Any, precision: Any = None, **options: Any):
        return lax.dot_general(lhs * 0.5, rhs, dims, precision)

    weights = {"kernel": draw(0, kernel, dtype)}
    hyper = {"equation": equation, "kernel_shape": kernel, "dot_general": halved}

    def ours(weights, x):
        return apply_layer("nn/einsum", hyper | EXACT, weights, x)[0]

    def expected(weights, x):
        kernel = weights["kernel"]
        plain = jnp.einsum(
            equation, x, kernel, _dot_general=halved, precision="highest"
        )
        return plain.astype(dtype)

    assert_same_vjp(ours, expected, (weights, draw(2, x, dtype)), dtype)


@pytest.mark.parametrize("use_bias", [True, False])
def test_bilinear(use_bias: bool, dtype: Any):
    """y_o = x1^T A_o x2 + b_o, as torch.nn.Bilinear has it; gradients from that equation."""
    weights = {"kernel": draw(0, (3, 4, 2), dtype)}
    weights |= {"bias": draw(1, (2,), dtype)} if use_bias else {}
    left, right = draw(2, (5, 3), dtype), draw(3, (5, 4), dtype)
    cotangent = draw(4, (5, 2), dtype)
    hyper = {"left_features": 3, "right_features": 4, "out_features": 2, **EXACT}

    @jax.jit
    def run(weights, left, right):
        def ours(weights, left, right):
            given = {**hyper, "use_bias": use_bias}
            return apply_layer("nn/bilinear", given, weights, (left, right))[0]

        y, vjp = jax.vjp(ours, weights, left, right)
        return y, vjp(cotangent)

    a = numpy(weights)["kernel"]
    x1, x2, g = numpy((left, right, cotangent))
    y = np.stack([[x1[n] @ a[:, :, o] @ x2[n] for o in range(2)] for n in range(5)])
    y = y + numpy(weights).get("bias", 0.0)
    kernel = sum(np.multiply.outer(np.outer(x1[n], x2[n]), g[n]) for n in range(5))
    to_left = np.stack([(a @ g[n]) @ x2[n] for n in range(5)])
    to_right = np.stack([x1[n] @ (a @ g[n]) for n in range(5)])
    gradients = {"kernel": kernel} | ({"bias": g.sum(0)} if use_bias else {})
    # Trees are compared in the order of their keys.
    assert_close(run(weights, left, right), (y, (gradients, to_left, to_right)), dtype)


def lora_weights(dtype: Any) -> dict[str, Any]:
    return {"down": draw(0, (4, 2), dtype), "up": draw(1, (2, 3), dtype)}


def test_lora(dtype: Any):
    module = nnx.LoRA(4, 2, 3, dtype=dtype, param_dtype=dtype, rngs=nnx.Rngs(0))
    graph, state = nnx.split(module)
    _, structure = jax.tree.flatten(state)

    def ours(weights, x):
        hyper = {"in_features": 4, "out_features": 3, "rank": 2, **EXACT}
        return apply_layer("nn/lo_ra", hyper, weights, x)[0]

    def theirs(weights, x):
        state = jax.tree.unflatten(structure, [weights["down"], weights["up"]])
        return nnx.merge(graph, state)(x)

    with jax.default_matmul_precision("highest"):
        assert_same_vjp(
            ours, theirs, (lora_weights(dtype), draw(2, (5, 4), dtype)), dtype
        )


def test_lora_linear(dtype: Any):
    """The equation is x W + b + x A B alpha / rank; at the beginning it is the linear map."""
    linear = {"kernel": draw(3, (4, 3), dtype), "bias": draw(4, (3,), dtype)}
    weights = {"linear": linear, "lora": lora_weights(dtype)}
    hyper = {"in_features": 4, "out_features": 3, "rank": 2, "alpha": 6.0, **EXACT}

    def ours(weights, x):
        return apply_layer("nn/lo_ra_linear", hyper, weights, x)[0]

    def theirs(weights, x):
        low = weights["lora"]
        kernel = weights["linear"]["kernel"] + 3.0 * jnp.dot(
            low["down"], low["up"], precision="highest"
        )
        return jnp.dot(x, kernel, precision="highest") + weights["linear"]["bias"]

    x = draw(2, (2, 5, 4), dtype)
    assert_same_vjp(ours, theirs, (weights, x), dtype)
    fresh, *_ = init_layer("nn/lo_ra_linear", hyper, jax.random.key(0), dtype)
    assert not np.any(fresh.lora.up)
    assert np.any(fresh.lora.down)
