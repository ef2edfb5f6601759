"""Decoders of pairs and modules, beside models without a cache and all sequences there are."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mlax.graph as bx
from mlax import block, functional, generation, nn

_CLASSES, _FEATURES = 5, 4
_PROMPT: Any = np.array([[1, 2, 3], [4, 0, 4]])


def _drawn(layer: Any) -> Any:
    """Weights that are large enough for logits that differ."""
    random = np.random.default_rng(3)
    trainables, state, hyperparams = layer
    leaves, structure = jax.tree.flatten(trainables)
    leaves = [jnp.asarray(random.normal(size=x.shape) * 0.7, x.dtype) for x in leaves]
    return structure.unflatten(leaves), state, hyperparams


@functools.cache
def _model(dtype: Any = jnp.float64, **options: Any) -> Any:
    """A causal language model, with a norm that has a state and a stack of layers."""
    keys = jax.random.split(jax.random.key(0), 2)
    sizes = (_FEATURES, 2, 4)
    hyper = {"causal": True, "dtype": dtype, **options}

    def encoder(key: Any) -> Any:
        return block.TransformerEncoderLayer.init(key, *sizes, **hyper)

    norm = nn.BatchNorm.init(keys[0], _FEATURES, channel_last=True, dtype=dtype)
    norm = norm[0], norm[1]._replace(mean=norm[1].mean + 0.25), norm[2]
    return _drawn(
        block.Series.init(
            [
                nn.Embed.init(keys[0], _CLASSES, _FEATURES, dtype=dtype),
                norm,
                encoder(keys[0]),
                block.Repeat.init(jax.vmap(encoder)(keys), depth=2),
                nn.Linear.init(keys[0], _FEATURES, _CLASSES, dtype=dtype),
            ]
        )
    )


def _another(logits: Any, key: Any, tokens: Any) -> Any:
    """The most probable token but for the last one, so that sequences vary."""
    last = jnp.sum(tokens >= 0, axis=-1, keepdims=True) - 1
    last = jnp.take_along_axis(tokens, last, axis=-1)
    return jnp.argmax(jnp.where(jnp.arange(_CLASSES) == last, -jnp.inf, logits), -1)


def _assert_most_probable(run: Any, tokens: Any, prompt: Any = _PROMPT) -> None:
    """Each token is `_another` after all before it, by the model without a cache."""
    whole = np.concatenate([prompt, tokens], axis=1)
    y = np.asarray(run(jnp.asarray(whole)))
    y = np.where(np.arange(_CLASSES) == whole[..., None], -np.inf, y)
    best = np.argmax(y, axis=-1)[:, prompt.shape[1] - 1 : -1]
    np.testing.assert_array_equal(tokens, best)
    assert len(np.unique(best)) > 1


def _run(model: Any) -> Any:
    trainables, state, hyperparams = model
    return jax.jit(lambda x: hyperparams.apply(x, trainables, state, True)[0])


def test_it_continues_as_without_a_cache():
    """A model that was trained without a cache gets one of any size."""
    model = _model()
    given = generation.of_pair(model, rows=2, max_length=8)
    tokens, cache = generation.generate(*given, _PROMPT, 5, choose=_another)
    _assert_most_probable(_run(model), tokens)
    # What comes after goes on where the loop ended.
    last, _ = given[0].step(given[1], cache, tokens[:, -1])
    whole = np.concatenate([_PROMPT, tokens], axis=1)
    np.testing.assert_allclose(last, _run(model)(whole)[:, -1], rtol=1e-10, atol=1e-12)


def test_a_cache_of_another_size_takes_the_place_of_one():
    model = _model(max_length=2, batch=(7,))
    given = generation.of_pair(model, rows=1, max_length=8)
    tokens, _ = generation.generate(*given, _PROMPT[:1], 5, choose=_another)
    bare = _model()
    run = _run((model[0], bare[1], bare[2]))
    _assert_most_probable(run, tokens, _PROMPT[:1])


def test_rows_are_reordered_and_reset():
    decoder, weights, empty = generation.of_pair(_model(), rows=2, max_length=8)
    _, cache = decoder.prefill(weights, empty, _PROMPT)
    swapped = decoder.reorder(cache, jnp.array([1, 0]))
    one, _ = decoder.step(weights, cache, jnp.array([1, 2]))
    other, _ = decoder.step(weights, swapped, jnp.array([2, 1]))
    np.testing.assert_array_equal(one, other[::-1])
    same = decoder.reorder(cache, jnp.array([0, 0]))
    alike, _ = decoder.step(weights, same, jnp.array([1, 1]))
    np.testing.assert_array_equal(alike, jnp.stack([one[0]] * 2))
    for a, b in zip(*map(jax.tree.leaves, (decoder.reset(cache), empty)), strict=True):
        np.testing.assert_array_equal(a, b)
    # The state of the norm is none of the cache.
    assert any((x == 0.25).all() for x in jax.tree.leaves(decoder.reset(cache)))


def _modules(encoders: int = 2) -> tuple[Any, Any]:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    options: Any = {"heads": 2, "hidden_features": 4, "causal": True, "rng": rng}

    class Model(bx.Module):
        """A module of one's own, with modules in a list."""

        def __init__(self, graph: Any) -> None:
            super().__init__(graph)
            self.embed = bx.Embed(graph.child("embed"), _CLASSES, _FEATURES, rng=rng)
            self.layers = [
                bx.TransformerEncoderLayer(graph.child(f"layer{i}"), **options)
                for i in range(encoders)
            ]
            self.last = bx.Linear(graph.child("last"), _CLASSES, rng=rng)

        def __call__(self, params: Any, x: Any, is_training: bool = True) -> Any:
            y, params = self.embed(params, x, is_training=is_training)
            for layer in self.layers:
                y, params = layer(params, y, is_training=is_training)
            return self.last(params, y, is_training=is_training)

    net = Model(graph.child("net"))
    _, params = net(rng.seed(bx.Params(), seed=0), _PROMPT[:, :2])
    return net, params.locked()


def test_modules_continue_as_without_a_cache():
    net, params = _modules()
    trainables, rest = params.split()
    random = np.random.default_rng(1)
    trainables = jax.tree.map(
        lambda x: jnp.asarray(random.normal(size=x.shape), x.dtype), trainables
    )
    params = trainables.merge(rest)
    given = generation.of_module(net, params, rows=2, max_length=8)
    tokens, cache = generation.generate(*given, _PROMPT, 4, choose=_another)
    _assert_most_probable(lambda x: net(params, x, is_training=False)[0], tokens)
    decoder, weights, empty = given
    restarted, _ = generation.generate(
        decoder, weights, decoder.reset(cache), _PROMPT[::-1], 4, choose=_another
    )
    np.testing.assert_array_equal(restarted, tokens[::-1])
    _, filled = decoder.prefill(weights, empty, _PROMPT)
    swapped = decoder.reorder(filled, jnp.array([1, 0]))
    one, _ = decoder.step(weights, filled, jnp.array([1, 2]))
    other, _ = decoder.step(weights, swapped, jnp.array([2, 1]))
    np.testing.assert_array_equal(one, other[::-1])
    # The module that was given is as it was.
    assert net.layers[0].max_length is None
    net(params, jnp.asarray(_PROMPT[:1]))


def _best(model: Any, length: int, end: int | None, penalty: float) -> Any:
    """The score of every sequence, each once up to its end, best first."""
    found = {}
    for tokens in itertools.product(range(_CLASSES), repeat=length):
        size = length if end not in tokens else tokens.index(end) + 1
        kept = tokens[:size] + (end,) * (length - size)
        found.setdefault(kept, size)
    sequences = np.array([[*found]]).reshape(-1, length)
    whole = np.concatenate([np.repeat(_PROMPT[:1], len(found), 0), sequences], axis=1)
    shares = np.asarray(jax.nn.log_softmax(_run(model)(whole)[:, 2:-1]))
    each = np.take_along_axis(shares, sequences[..., None], axis=-1)[..., 0]
    sizes = np.array([*found.values()])
    scores = np.sum(each * (np.arange(length) < sizes[:, None]), axis=1)
    scores = scores / ((5.0 + sizes) / 6.0) ** penalty
    order = np.argsort(-scores)
    return sequences[order], scores[order]


@pytest.mark.parametrize(("end", "penalty"), [(None, 0.0), (2, 1.5)])
def test_beams_find_the_most_probable_sequences(end, penalty):
    model, beams = _model(), _CLASSES**2
    given = generation.of_pair(model, rows=2 * beams, max_length=8)
    tokens, scores = generation.beam_search(
        *given, _PROMPT, 3, beams=beams, end=end, length_penalty=penalty
    )
    expected, best = _best(model, 3, end, penalty)
    # The penalty orders what has the largest probability.
    count = beams if penalty == 0.0 else 1
    np.testing.assert_array_equal(tokens[0, :count], expected[:count])
    np.testing.assert_allclose(scores[0, :count], best[:count], rtol=1e-10)


def test_one_beam_is_greedy():
    given = generation.of_pair(_model(), rows=2, max_length=8)
    tokens, _ = generation.beam_search(*given, _PROMPT, 4, beams=1)
    greedy, _ = generation.generate(*given, _PROMPT, 4)
    np.testing.assert_array_equal(tokens[:, 0], greedy)


def test_rows_end():
    given = generation.of_pair(_model(), rows=2, max_length=12)
    free, _ = generation.generate(*given, _PROMPT, 8)
    end = int(free[0, 2])
    tokens, _ = generation.generate(*given, _PROMPT, 8, end=end)
    for row, whole in zip(np.asarray(tokens), np.asarray(free), strict=True):
        size = 8 if end not in whole else list(whole).index(end) + 1
        np.testing.assert_array_equal(row[:size], whole[:size])
        assert (row[size:] == end).all()


def test_samplers_are_the_functions_of_logits():
    logits = jnp.asarray(np.random.default_rng(0).normal(size=(64, 9)) * 2.0)
    known, key = jnp.zeros((64, 2), int), jax.random.key(4)
    drawn = generation.Sampler(0.8, 4, 0.9, 0.05, 1.3)(logits, key, known)
    left = functional.repetition_penalty(logits, known, penalty=1.3) / 0.8
    left = functional.top_p_logits(functional.top_k_logits(left, k=4), p=0.9)
    left = functional.min_p_logits(left, p=0.05)
    np.testing.assert_array_equal(drawn, functional.categorical(left, key))
    greedy = jnp.argmax(logits, axis=-1)
    for sampler in (generation.Sampler(0.0), generation.Sampler(top_k=1)):
        np.testing.assert_array_equal(sampler(logits, key, known), greedy)
    assert hash(generation.Sampler(top_k=1)) == hash(generation.Sampler(top_k=1))
    with pytest.raises(ValueError, match="top_p must be"):
        generation.Sampler(top_p=1.5)


def _counted(logits: Any, key: Any, tokens: Any) -> Any:
    """How many tokens there are."""
    assert key is not None
    return jnp.sum(tokens >= 0, axis=-1)


def test_a_choice_of_ones_own_knows_the_sequence():
    given = generation.of_pair(_model(), rows=2, max_length=8)
    key = jax.random.key(0)
    tokens, _ = generation.generate(*given, _PROMPT[:, :1], 4, key, choose=_counted)
    np.testing.assert_array_equal(tokens, [[1, 2, 3, 4]] * 2)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32"])
def test_prompts_are_of_any_integers(dtype):
    given = generation.of_pair(_model(), rows=2, max_length=8)
    key, prompt = jax.random.key(0), _PROMPT.astype(dtype)
    tokens, _ = generation.generate(*given, prompt, 4, key, choose=_counted)
    np.testing.assert_array_equal(tokens, [[3, 4, 5, 6]] * 2)
    # The first token of both rows ends the loop, and what follows.
    tokens, _ = generation.generate(*given, prompt, 4, key, choose=_counted, end=3)
    np.testing.assert_array_equal(tokens, [[3, 3, 3, 3]] * 2)
    beams, _ = generation.beam_search(*given, prompt, 2, beams=1, end=255)
    assert tokens.dtype == beams.dtype == jnp.int32
    assert (beams >= 0).all()


def test_it_computes_in_the_dtype_of_the_weights(audit_dtypes):
    dtype = jnp.bfloat16
    decoder, weights, cache = generation.of_pair(_model(dtype), rows=2, max_length=4)
    kept = [
        x
        for x, axis in zip(jax.tree.leaves(cache), decoder.axes, strict=True)
        if axis >= 0
    ]
    assert {x.dtype for x in kept} == {jnp.dtype(dtype)}
    audit_dtypes(lambda w, c: decoder.step(w, c, jnp.array([1, 2]))[0], weights, cache)
    _, scores = generation.beam_search(decoder, weights, cache, _PROMPT[:1], 2, beams=2)
    assert scores.dtype == dtype
    *_, narrow = generation.of_pair(
        _model(), rows=2, max_length=4, cache_dtype="float16"
    )
    assert jnp.dtype("float16") in {x.dtype for x in jax.tree.leaves(narrow)}


def test_what_does_not_fit_is_said():
    made = generation.of_pair(_model(), rows=2, max_length=4)
    decoder, _, cache = made
    with pytest.raises(ValueError, match="need 5 positions, and the cache has 4"):
        generation.generate(*made, _PROMPT, 3)
    with pytest.raises(ValueError, match=r"tokens must be of shape \(2, n\)"):
        generation.generate(*made, _PROMPT[:1], 2)
    with pytest.raises(ValueError, match="need a decoder of 6 rows, got one of 2"):
        generation.beam_search(*made, _PROMPT, 2, beams=3)
    with pytest.raises(ValueError, match="no layer of Series can have a cache"):
        generation.of_pair(
            block.Series.init([nn.F.init(jnp.tanh)]), rows=2, max_length=4
        )
    with pytest.raises(TypeError, match="params must be a Params, got dict"):
        generation.of_module(_modules(0)[0], {}, rows=2, max_length=4)
    with pytest.raises(ValueError, match="no layer of Model can have a cache"):
        generation.of_module(*_modules(0), rows=2, max_length=4)
    with pytest.raises(ValueError, match=r"rows must be of shape \(2,\)"):
        decoder.reorder(cache, jnp.array([0]))
