"""Multi-head attention against NumPy in float64, and against flax with gradients."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer, functional
from numerics_arrays import assert_close, assert_same_vjp, compiled, draw, numpy

PARTS = ("to_query", "to_key", "to_value", "to_output")
HYPER = {"features": 6, "heads": 2, "precision": "highest"}


def draw_weights(dtype, source=6):
    sizes = {"to_query": 6, "to_key": source, "to_value": source, "to_output": 6}
    return {
        part: {
            "kernel": draw(i, (sizes[part], 6), dtype),
            "bias": draw(10 + i, (6,), dtype),
        }
        for i, part in enumerate(PARTS)
    }


def reference(weights, x, source, allowed):
    """`allowed` is (batch, heads, queries, keys)."""
    w, x, source = numpy((weights, x, source))
    batch, queries, keys = x.shape[0], x.shape[1], source.shape[1]
    q, k, v = (
        (a @ w[part]["kernel"] + w[part]["bias"]).reshape(batch, -1, 2, 3)
        for a, part in zip((x, source, source), PARTS, strict=False)
    )
    y = np.zeros((batch, queries, 2, 3))
    for b in range(batch):
        for head in range(2):
            for i in range(queries):
                at = [j for j in range(keys) if allowed[b, head, i, j]]
                if not at:
                    continue
                logits = np.array([q[b, i, head] @ k[b, j, head] for j in at])
                p = np.exp(logits / np.sqrt(3) - logits.max() / np.sqrt(3))
                y[b, i, head] = (p / p.sum()) @ v[b, at, head]
    return (
        y.reshape(batch, queries, 6) @ w["to_output"]["kernel"] + w["to_output"]["bias"]
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_self_attention(causal, masked, dtype):
    weights, x = draw_weights(dtype), draw(20, (2, 4, 6), dtype)
    mask = np.random.default_rng(0).random((2, 1, 4, 4)) < 0.7 if masked else None
    allowed = (
        np.ones((2, 2, 4, 4), bool) if mask is None else np.repeat(mask, 2, axis=1)
    )
    allowed = allowed & np.tri(4, dtype=bool) if causal else allowed

    @functools.partial(compiled, dtype=dtype)
    def run(weights, x, mask):
        hyper = {**HYPER, "causal": causal}
        return apply_layer("nn/multi_head_attention", hyper, weights, x, mask=mask)[0]

    y = run(weights, x, mask)
    assert_close(y, reference(weights, x, x, allowed), dtype)


def test_cross_attention(dtype):
    weights, x = draw_weights(dtype, source=5), draw(20, (2, 4, 6), dtype)
    context = draw(21, (2, 3, 5), dtype)

    @functools.partial(compiled, dtype=dtype)
    def run(weights, x, context):
        hyper = {**HYPER, "context_features": 5}
        inputs = {"context": context}
        return apply_layer("nn/multi_head_attention", hyper, weights, x, **inputs)[0]

    y = run(weights, x, context)
    expected = reference(weights, x, context, np.ones((2, 2, 4, 3), bool))
    assert_close(y, expected, dtype)


def test_gradients_are_those_of_flax(dtype):
    weights, x = draw_weights(dtype), draw(20, (2, 4, 6), dtype)
    module = nn.MultiHeadDotProductAttention(
        2, dtype=dtype, param_dtype=dtype, precision="highest"
    )

    def theirs(weights, x):
        params = {
            name: {
                "kernel": weights[part]["kernel"].reshape(6, 2, 3),
                "bias": weights[part]["bias"].reshape(2, 3),
            }
            for name, part in zip(("query", "key", "value"), PARTS, strict=False)
        }
        out = weights["to_output"]
        params["out"] = {"kernel": out["kernel"].reshape(2, 3, 6), "bias": out["bias"]}
        return module.apply({"params": params}, x)

    def ours(weights, x):
        return apply_layer("nn/multi_head_attention", HYPER, weights, x)[0]

    assert_same_vjp(ours, theirs, (weights, x), dtype)


def test_a_row_that_may_attend_to_nothing_gives_zeros_and_finite_gradients(dtype):
    weights, x = draw_weights(dtype), draw(20, (1, 3, 6), dtype)
    mask = jnp.array([[True, True, True], [False] * 3, [True, False, True]])

    def loss(weights, x):
        y, _ = apply_layer(
            "nn/multi_head_attention", HYPER, weights, x, mask=mask[None, None]
        )
        return jnp.sum(y**2), y

    run = compiled(jax.grad(loss, argnums=(0, 1), has_aux=True), dtype)
    gradients, y = run(weights, x)
    assert_close(y[0, 1], weights["to_output"]["bias"], dtype)
    for gradient in jax.tree.leaves(gradients):
        assert np.all(np.isfinite(gradient))


def test_dot_product_attention(dtype):
    q, k, v = (draw(s, (2, 4, 2, 3), dtype) for s in range(3))

    @functools.partial(compiled, dtype=dtype)
    def attend(q, k, v):
        options = {"causal": True, "precision": "highest"}
        return functional("dot_product_attention")(q, k, v, **options)

    y = attend(q, k, v)
    a, b, c = numpy((q, k, v))
    logits = np.einsum("bqhf,bkhf->bhqk", a, b) / np.sqrt(3)
    weights = np.exp(logits) * np.tri(4)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    assert_close(y, np.einsum("bhqk,bkhf->bqhf", weights, c), dtype)
