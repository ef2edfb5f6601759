"""Multi-head attention with its options against flax and equinox: values and gradients."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
from numerics_adapter import apply_layer
from numerics_arrays import assert_same_vjp, draw

from mlax.functional import rotary_embedding

PARTS = ("to_query", "to_key", "to_value", "to_output")


def draw_weights(sizes: Any, dtype: Any, use_bias: bool = True) -> dict[str, Any]:
    """Kernels and biases of the maps, of these sizes of input and output."""
    return {
        part: {
            "kernel": draw(i, size, dtype, scale=0.5),
            **({"bias": draw(10 + i, size[1:], dtype)} if use_bias else {}),
        }
        for i, (part, size) in enumerate(sizes.items())
    }


@pytest.mark.parametrize(
    ("options", "masked"),
    [
        ({"head_features": 3, "out_features": 5}, True),
        ({"use_bias": False, "context_features": 5, "value_features": 3}, True),
        ({"head_features": 5, "qk_norm": "layer", "chunk_size": 2}, True),
    ],
)
def test_flax(options: dict[str, Any], masked: bool, dtype: Any):
    heads, size = 2, options.get("head_features", 2)
    source, out = options.get("context_features", 4), options.get("out_features", 4)
    value_source = options.get("value_features", source)
    use_bias, norm = options.get("use_bias", True), "qk_norm" in options
    inner = heads * size
    weights = draw_weights(
        dict(
            zip(
                PARTS,
                ((4, inner), (source, inner), (value_source, inner), (inner, out)),
                strict=True,
            )
        ),
        dtype,
        use_bias,
    )
    if norm:
        weights["query_scale"] = draw(20, (size,), dtype)
        weights["key_scale"] = draw(21, (size,), dtype)
    x = draw(30, (3, 4, 4), dtype)
    context = draw(31, (3, 5, source), dtype) if source != 4 else x
    values = draw(32, (3, 5, value_source), dtype) if value_source != 4 else x
    keys = context.shape[1]
    mask = jnp.arange(4)[:, None] + 1 >= jnp.arange(keys) if masked else None
    module = nn.MultiHeadDotProductAttention(
        heads,
        dtype=dtype,
        param_dtype=dtype,
        precision="highest",
        qkv_features=inner,
        out_features=out,
        use_bias=use_bias,
        normalize_qk=norm,
    )

    def theirs(weights, x, context, values):
        params = {}
        for name, part in zip(("query", "key", "value"), PARTS, strict=False):
            shape = {"kernel": (-1, heads, size), "bias": (heads, size)}
            params[name] = {k: v.reshape(shape[k]) for k, v in weights[part].items()}
        shape = {"kernel": (heads, size, out), "bias": (out,)}
        params["out"] = {
            k: v.reshape(shape[k]) for k, v in weights["to_output"].items()
        }
        if norm:
            params["query_ln"] = {"scale": weights["query_scale"]}
            params["key_ln"] = {"scale": weights["key_scale"]}
        own = "context_features" not in options
        others = (x, x) if own else (context, values)
        return module.apply({"params": params}, x, *others, mask=mask)

    def ours(weights, x, context, values):
        own = "context_features" not in options
        others = {} if own else {"context": context, "values": values}
        hyper = {"features": 4, "heads": heads, "precision": "highest", **options}
        return apply_layer(
            "nn/multi_head_attention", hyper, weights, x, mask=mask, **others
        )[0]

    assert_same_vjp(ours, theirs, (weights, x, context, values), dtype)


def with_weights(module: Any, weights: Any) -> Any:
    """The module of equinox with these weights."""
    names = ("query", "key", "value", "output")
    arrays = [weights[p]["kernel"].T for p in PARTS]
    arrays += [weights[p]["bias"] for p in PARTS]

    def where(module):
        maps = [getattr(module, f"{name}_proj") for name in names]
        return [linear.weight for linear in maps] + [linear.bias for linear in maps]

    return eqx.tree_at(where, module, arrays)


def test_equinox(dtype: Any):
    """Queries, keys and values of three sizes, and a mask of each head."""
    sizes = dict(zip(PARTS, ((4, 6), (5, 6), (7, 4), (4, 3)), strict=True))
    weights = draw_weights(sizes, dtype)
    x, context = draw(30, (4, 4), dtype), draw(31, (3, 5), dtype)
    values = draw(32, (3, 7), dtype)
    mask = jnp.array([True, False] * 12).reshape(2, 4, 3).at[:, :, 0].set(True)
    module = eqx.nn.MultiheadAttention(
        2,
        4,
        5,
        7,
        3,
        qk_size=3,
        vo_size=2,
        use_query_bias=True,
        use_key_bias=True,
        use_value_bias=True,
        use_output_bias=True,
        key=jax.random.key(0),
    )

    def theirs(weights, x, context, values):
        return with_weights(module, weights)(x, context, values, mask=mask)

    def ours(weights, x, context, values):
        hyper = {
            "features": 4,
            "heads": 2,
            "context_features": 5,
            "value_features": 7,
            "head_features": 3,
            "value_head_features": 2,
            "out_features": 3,
            "precision": "highest",
        }
        others = {"context": context, "values": values, "mask": mask}
        return apply_layer("nn/multi_head_attention", hyper, weights, x, **others)[0]

    with jax.default_matmul_precision("highest"):
        assert_same_vjp(ours, theirs, (weights, x, context, values), dtype)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_rotary_embedding_of_queries_and_keys(chunk_size: int | None, dtype: Any):
    """Equinox calls its rotary embedding in the place of `rotary`."""
    sizes = dict.fromkeys(PARTS, (8, 8))
    weights, x = draw_weights(sizes, dtype), draw(30, (4, 8), dtype)
    rope = eqx.nn.RotaryPositionalEmbedding(4, dtype=dtype)
    module = eqx.nn.MultiheadAttention(
        2,
        8,
        use_query_bias=True,
        use_key_bias=True,
        use_value_bias=True,
        use_output_bias=True,
        key=jax.random.key(0),
    )

    def process_heads(q, k, v):
        return jax.vmap(rope, 1, 1)(q), jax.vmap(rope, 1, 1)(k), v

    def theirs(weights, x):
        return with_weights(module, weights)(x, x, x, process_heads=process_heads)

    def ours(weights, x):
        hyper = {
            "features": 8,
            "heads": 2,
            "rotary": rotary_embedding,
            "chunk_size": chunk_size,
            "precision": "highest",
        }
        return apply_layer("nn/multi_head_attention", hyper, weights, x)[0]

    with jax.default_matmul_precision("highest"):
        assert_same_vjp(ours, theirs, (weights, x), dtype)
