"""Blocks against flax, and against NumPy and the same computation written out."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_arrays import assert_close, compiled, draw, numpy, reference
from numerics_compare import assert_same, redrawn, shapes_of

import mlax

KEY = jax.random.key(0)
BATCH, LENGTH, SIZE, HEADS = 2, 4, 6, 2
FLAX = {"dtype": jnp.float64, "param_dtype": jnp.float64}


def linear(w):
    return {"kernel": w.kernel, "bias": w.bias}


def norm(w):
    return {"scale": w.scale, "bias": w.bias}


def attention(w):
    heads = (HEADS, SIZE // HEADS)
    params = {
        name: {
            "kernel": part.kernel.reshape(-1, *heads),
            "bias": part.bias.reshape(heads),
        }
        for name, part in (
            ("query", w.to_query),
            ("key", w.to_key),
            ("value", w.to_value),
        )
    }
    out = w.to_output
    params["out"] = {"kernel": out.kernel.reshape(*heads, SIZE), "bias": out.bias}
    return params


def apply(module: Any, params, *inputs, **options):
    return module.apply({"params": params}, *inputs, **options)


def attend(w, x, context, mask):
    module = nn.MultiHeadDotProductAttention(HEADS, **FLAX)
    return apply(module, attention(w), x, context, mask=mask)


def normalize(w, x):
    return apply(nn.LayerNorm(epsilon=1e-5, **FLAX), norm(w), x)


def feed_forward(w, x):
    h = apply(nn.Dense(w.widen.kernel.shape[1], **FLAX), linear(w.widen), x)
    return apply(nn.Dense(SIZE, **FLAX), linear(w.narrow), jax.nn.gelu(h))


def made(layer, dtype, *hyperparameters, **options):
    """A layer with weights that are neither zero nor one, and its state."""

    def init(key):
        return layer.init(
            key, *hyperparameters, precision="highest", dtype=dtype, **options
        )

    trainables, _, hyper = shapes_of(init)
    state = reference(lambda key: init(key)[1])(KEY)
    return redrawn(trainables, dtype), state, hyper


@pytest.mark.parametrize(("hidden", "final"), [((), None), ((5, 7), jnp.tanh)])
def test_mlp(hidden, final, dtype):
    options = {"hidden": hidden, "final_activation": final}
    weights, _, hyper = made(mlax.block.MLP, dtype, SIZE, 3, **options)

    def of_flax(w, x):
        for layer in w.layers:
            x = nn.relu(apply(nn.Dense(layer.bias.size, **FLAX), linear(layer), x))
        y = apply(nn.Dense(3, **FLAX), linear(w.output), x)
        return y if final is None else final(y)

    def ours(w, x):
        return mlax.block.MLP.fwd(x, w, None, hyper, inference_mode=True)[0]

    assert_same(ours, of_flax, weights, draw(50, (BATCH, SIZE), dtype))


def test_mlp_drops_hidden_elements_in_training(dtype):
    weights, _, hyper = shapes_of(
        lambda key: mlax.block.MLP.init(
            key, SIZE, SIZE, (100,), dropout_rate=0.25, dtype=dtype
        )
    )
    zeros = jax.tree.map(lambda w: np.zeros(w.shape, w.dtype), weights)
    output = zeros.output._replace(kernel=np.eye(100, SIZE, dtype=dtype))
    hidden = zeros.layers[0]._replace(bias=np.ones((100,), dtype))
    weights = zeros._replace(layers=(hidden,), output=output)
    x = np.zeros((100, SIZE), dtype)

    def run(weights, x, key):
        return mlax.block.MLP.fwd(x, weights, None, hyper, key=key)[0]

    y = np.asarray(compiled(run, dtype)(weights, x, KEY))
    assert_close(np.unique(y), np.array([0.0, 1.0 / 0.75]), dtype)
    assert 0.2 < (y == 0).mean() < 0.3


def test_feed_forward(dtype):
    weights, _, hyper = made(mlax.block.FeedForward, dtype, SIZE, 8)

    def ours(w, x):
        return mlax.block.FeedForward.fwd(x, w, None, hyper, inference_mode=True)[0]

    assert_same(ours, feed_forward, weights, draw(50, (BATCH, SIZE), dtype))


@pytest.mark.parametrize(("norm_first", "causal"), [(True, False), (False, True)])
def test_transformer_encoder_layer(norm_first, causal, dtype):
    layer = mlax.block.TransformerEncoderLayer
    options = {"norm_first": norm_first, "causal": causal}
    weights, state, hyper = made(layer, dtype, SIZE, HEADS, 8, **options)
    mask = jnp.asarray(
        np.random.default_rng(0).random((BATCH, 1, LENGTH, LENGTH)) < 0.7
    )
    mask = mask | jnp.eye(LENGTH, dtype=bool)
    seen = mask & jnp.tri(LENGTH, dtype=bool) if causal else mask

    def of_flax(w, x):
        if norm_first:
            y = normalize(w.attention_norm, x)
            x = x + attend(w.attention, y, y, seen)
            return x + feed_forward(w.feed_forward, normalize(w.feed_forward_norm, x))
        x = normalize(w.attention_norm, x + attend(w.attention, x, x, seen))
        y = x + feed_forward(w.feed_forward, x)
        return normalize(w.feed_forward_norm, y)

    def ours(w, x):
        return layer.fwd(x, w, state, hyper, inference_mode=True, mask=mask)[0]

    assert_same(ours, of_flax, weights, draw(50, (BATCH, LENGTH, SIZE), dtype))


@pytest.mark.parametrize(
    ("norm_first", "with_context"), [(True, True), (True, False), (False, True)]
)
def test_transformer_decoder_layer(norm_first, with_context, dtype):
    layer = mlax.block.TransformerDecoderLayer
    options = {"norm_first": norm_first, "context_features": 5}
    weights, state, hyper = made(layer, dtype, SIZE, HEADS, 8, **options)
    seen = jnp.tri(LENGTH, dtype=bool)
    context_mask = jnp.array([True, True, False])[None, None, None]

    def of_flax(w, x, context):
        def of_context(y):
            return attend(w.context_attention, y, context, context_mask)

        if norm_first:
            y = normalize(w.attention_norm, x)
            x = x + attend(w.attention, y, y, seen)
            if with_context:
                x = x + of_context(normalize(w.context_norm, x))
            return x + feed_forward(w.feed_forward, normalize(w.feed_forward_norm, x))
        x = normalize(w.attention_norm, x + attend(w.attention, x, x, seen))
        if with_context:
            x = normalize(w.context_norm, x + of_context(x))
        return normalize(w.feed_forward_norm, x + feed_forward(w.feed_forward, x))

    def ours(w, x, context):
        given = {"context": context, "context_mask": context_mask}
        given = given if with_context else {}
        return layer.fwd(x, w, state, hyper, inference_mode=True, **given)[0]

    x, context = draw(50, (BATCH, LENGTH, SIZE), dtype), draw(51, (BATCH, 3, 5), dtype)
    assert_same(ours, of_flax, weights, x, context)


@pytest.mark.parametrize(
    ("channels", "strides", "bottleneck", "training"),
    [(8, 2, True, True), (4, 1, False, True), (8, 2, False, False)],
)
def test_res_net_block(channels, strides, bottleneck, training, dtype):
    layer = mlax.block.ResNetBlock
    options = {"bottleneck": bottleneck, "channel_last": True}
    weights, state, hyper = made(layer, dtype, 2, 4, channels, strides, **options)
    sizes = (1, 3, 1) if bottleneck else (3, 3)
    steps = (1, strides, 1) if bottleneck else (strides, 1)

    def conv(w, x, size, step):
        module = nn.Conv(
            w.kernel.shape[0],
            (size, size),
            step,
            padding=[((size - 1) // 2,) * 2] * 2,
            use_bias=False,
            **FLAX,
        )
        return apply(module, {"kernel": jnp.moveaxis(w.kernel, 0, -1)}, x)

    def batch_norm(w, moments, x):
        module = nn.BatchNorm(not training, momentum=0.9, epsilon=1e-5, **FLAX)
        stats = {"mean": moments.mean, "var": moments.var}
        variables = {"params": norm(w), "batch_stats": stats}
        y, new = module.apply(variables, x, mutable=["batch_stats"])
        return y, (new["batch_stats"]["mean"], new["batch_stats"]["var"])

    def of_flax(w, x):
        wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), state)
        y, moments = x, []
        for i, size in enumerate(sizes):
            y = conv(w.convs[i], y, size, steps[i])
            y, new = batch_norm(w.norms[i], wide.norms[i], y)
            moments.append(new)
            y = nn.relu(y) if i < len(sizes) - 1 else y
        if w.shortcut is not None:
            x = conv(w.shortcut, x, 1, strides)
            x, new = batch_norm(w.shortcut_norm, wide.shortcut_norm, x)
            moments.append(new)
        return nn.relu(x + y), jax.tree.leaves(moments)

    def ours(w, x):
        y, new = layer.fwd(x, w, state, hyper, inference_mode=not training)
        return y, jax.tree.leaves(new)

    assert_same(ours, of_flax, weights, draw(50, (BATCH, 5, 4, 4), dtype))


# Blocks of initialized layers


def stacked(dtype, depth=3):
    def init(key):
        keys = jax.random.split(key, depth)
        return jax.vmap(lambda k: mlax.nn.Linear.init(k, SIZE, SIZE, dtype=dtype))(keys)

    return redrawn(shapes_of(init), dtype)


@pytest.mark.parametrize("options", [{}, {"unroll": 3}, {"checkpoint": True}], ids=str)
def test_repeat_is_the_unrolled_stack(options, dtype):
    weights, state, hyper = mlax.block.Repeat.init(stacked(dtype), 3, **options)

    def unrolled(w, x):
        for i in range(3):
            x = x @ w.layer.kernel[i] + w.layer.bias[i]
        return x

    def ours(w, x):
        return mlax.block.Repeat.fwd(x, w, state, hyper)[0]

    assert_same(ours, unrolled, weights, draw(50, (BATCH, SIZE), dtype))


def test_a_repeated_layer_is_compiled_once():
    def equations(depth):
        weights, state, hyper = mlax.block.Repeat.init(stacked("float32", depth), depth)
        x = jnp.ones((BATCH, SIZE), "float32")
        run = lambda w: mlax.block.Repeat.fwd(x, w, state, hyper)[0]  # noqa: E731
        return str(jax.make_jaxpr(run)(weights)).count("dot_general")

    assert equations(2) == equations(50) == 1


def encoder(**options):
    return made(
        mlax.block.TransformerEncoderLayer, "float32", SIZE, HEADS, 8, **options
    )


MASK = jnp.tri(LENGTH, dtype=bool)


def test_blocks_hand_keyword_inputs_to_the_layers_that_take_them():
    block, linear = mlax.block, made(mlax.nn.Linear, "float32", SIZE, SIZE)
    first = encoder()
    last = made(block.TransformerDecoderLayer, "float32", SIZE, HEADS, 8)
    remat = block.Remat.init(block.Residual.init(first))
    weights, state, hyper = block.Series.init([remat, linear, last])
    masks = {"mask", "context_mask", "kernel_mask"}
    known = {"context", "segments", "key_segments", *masks}
    assert set(hyper.keyword_inputs) == known
    x = draw(50, (BATCH, LENGTH, SIZE), "float32")
    context = draw(51, (BATCH, 3, SIZE), "float32")
    given = {"mask": MASK, "context": context}

    @jax.jit
    def ours(x):
        return block.Series.fwd(x, weights, state, hyper, True, **given)[0]

    @reference
    def by_hand(x):
        h = x + block.TransformerEncoderLayer.fwd(x, *first, True, mask=MASK)[0]
        h, _ = mlax.nn.Linear.fwd(h, *linear)
        return block.TransformerDecoderLayer.fwd(h, *last, True, **given)[0]

    assert_close(ours(x), by_hand(x), "float32")
    for layers, message in (([linear], "they take: kernel_mask"), ([first], "mask")):
        triple = block.Parallel.init(layers)
        with pytest.raises(TypeError, match=f"'bias'; .*{message}"):
            block.Parallel.fwd((x,), *triple, True, bias=MASK)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_repeated_layer_gets_the_mask_in_each_turn(checkpoint):
    layer = mlax.block.TransformerEncoderLayer

    def init(key):
        keys = jax.random.split(key, 2)
        return jax.vmap(lambda k: layer.init(k, SIZE, HEADS, 8, dtype="float32"))(keys)

    stack = redrawn(shapes_of(init), "float32")
    weights, state, hyper = mlax.block.Repeat.init(stack, 2, checkpoint=checkpoint)
    x = draw(50, (BATCH, LENGTH, SIZE), "float32")

    def ours(w, x):
        return mlax.block.Repeat.fwd(x, w, state, hyper, True, mask=MASK)[0].sum()

    def by_hand(w, x):
        for i in range(2):
            own = jax.tree.map(lambda leaf: leaf[i], w.layer)  # noqa: B023
            x, _ = layer.fwd(x, own, stack[1], stack[2], True, mask=MASK)
        return x.sum()

    expected = reference(jax.value_and_grad(by_hand, (0, 1)))(weights, x)
    actual = jax.jit(jax.value_and_grad(ours, (0, 1)))(weights, x)
    assert_close(actual, expected, "float32")


@pytest.mark.parametrize("policy", [None, jax.checkpoint_policies.everything_saveable])
def test_remat_computes_again_unless_the_policy_keeps(policy, dtype):
    mlp = made(mlax.block.MLP, dtype, SIZE, SIZE, (8,), jnp.sin)
    block = mlax.block.Remat
    weights, state, hyper = block.init(mlp, policy=policy)
    x = draw(50, (BATCH, SIZE), dtype)

    def ours(w, x):
        return block.fwd(x, w, state, hyper, inference_mode=True)[0]

    def plain(w, x):
        (layer,), last = w.layer.layers, w.layer.output
        return jnp.sin(x @ layer.kernel + layer.bias) @ last.kernel + last.bias

    assert_same(ours, plain, weights, x)
    gradient = jax.make_jaxpr(jax.grad(lambda w: ours(w, x).sum()))(weights)
    # Two products forward, two for the weights and one for the hidden elements; and
    # where nothing is kept, those of the forward pass that gradients need once more.
    products = str(gradient).count("dot_general")
    assert (products > 5) == (policy is None)


# Mixtures of experts


def experts_by_hand(w, x, top_k, room):
    """Token by token, expert by expert."""
    logits = x @ w.router
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p = p / p.sum(-1, keepdims=True)
    chosen = np.argsort(-p, axis=-1, kind="stable")[:, :top_k]
    y, used = np.zeros_like(x), np.zeros(p.shape[1], int)
    for choice in range(top_k):
        for token, e in enumerate(chosen[:, choice]):
            used[e] += 1
            if used[e] > room:
                continue
            gate = p[token, e]
            gate = gate / p[token, chosen[token]].sum() if top_k > 1 else gate
            h = np.tanh(x[token] @ w.widen[e] + w.widen_bias[e])
            y[token] += gate * (h @ w.narrow[e] + w.narrow_bias[e])
    first = np.bincount(chosen[:, 0], minlength=p.shape[1]) / len(x)
    return y, p.shape[1] * (first * p.mean(0)).sum()


@pytest.mark.parametrize(
    ("top_k", "factor", "room"),
    [(1, None, 12), (2, None, 12), (2, 0.5, 4), (3, 1.0, 12)],
)
def test_mixture_of_experts(top_k, factor, room, dtype):
    layer, experts = mlax.block.MixtureOfExperts, 3
    weights, state, hyper = made(
        layer,
        dtype,
        SIZE,
        5,
        experts,
        top_k,
        capacity_factor=factor,
        activation=jnp.tanh,
    )
    x = draw(50, (3, 4, SIZE), dtype)

    def run(x, weights, state):
        """In training, and in inference with the state that came of it."""
        y, new = layer.fwd(x, weights, state, hyper)
        return y, new, layer.fwd(x, weights, new, hyper, inference_mode=True)[1]

    y, state, kept = compiled(run, dtype)(x, weights, state)
    tokens = numpy(x).reshape(12, SIZE)
    expected, loss = experts_by_hand(numpy(weights), tokens, top_k, room)
    assert_close((y.reshape(12, SIZE), state[0]), (expected, loss), dtype)
    assert kept[0] == state[0]


def test_gradients_of_a_mixture_of_experts(dtype):
    layer = mlax.block.MixtureOfExperts
    weights, state, hyper = made(layer, dtype, SIZE, 5, 3, 2, capacity_factor=None)

    def dense(w, x):
        p = jax.nn.softmax(x @ w.router)
        kept, _ = jax.lax.top_k(p, 2)
        gates = jnp.where(p >= kept[:, -1:], p, 0.0) / kept.sum(-1, keepdims=True)
        h = jax.nn.gelu(jnp.einsum("nf,efh->neh", x, w.widen) + w.widen_bias)
        y = jnp.einsum("neh,ehf->nef", h, w.narrow) + w.narrow_bias
        first = jax.nn.one_hot(p.argmax(-1), 3).mean(0)
        return jnp.einsum("nef,ne->nf", y, gates), 3 * (first * p.mean(0)).sum()

    def ours(w, x):
        y, new = layer.fwd(x, w, state, hyper)
        return y, new.load_balancing_loss

    assert_same(ours, dense, weights, draw(50, (7, SIZE), dtype))
