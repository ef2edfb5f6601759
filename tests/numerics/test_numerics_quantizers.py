"""Vector quantizers against haiku, with gradients, and by their equations."""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import apply_layer
from numerics_arrays import assert_close, compiled, draw, numpy, reference

ENTRIES, FEATURES = 5, 3
HYPER = {"entries": ENTRIES, "features": FEATURES, "commitment": 0.4}


def entropy(indices):
    share = np.bincount(np.ravel(indices), minlength=ENTRIES) / np.size(indices)
    share = share[share > 0]
    return np.exp(-np.sum(share * np.log(share)))


def losses(y, loss, cotangent):
    """A number that depends on both results."""
    return jnp.vdot(y, cotangent) + 0.7 * loss


def test_quantizer_as_of_haiku(dtype):
    table, x = draw(0, (ENTRIES, FEATURES), dtype), draw(1, (2, 4, FEATURES), dtype)
    cotangent = draw(2, x.shape, dtype)

    def make(x):
        module = hk.nets.VectorQuantizer(FEATURES, ENTRIES, 0.4, dtype=dtype)
        return module(x, is_training=True)

    theirs = hk.without_apply_rng(hk.transform(make))

    def ours(table, x):
        y = apply_layer("nn/vector_quantizer", HYPER, {"embedding": table}, x)[0]
        return losses(y.y, y.loss, cotangent), y

    def expected(table, x):
        y = theirs.apply({"vector_quantizer": {"embeddings": table.T}}, x)
        return losses(y["quantize"], y["loss"], cotangent), y

    def run(function):
        return jax.value_and_grad(function, (0, 1), has_aux=True)(table, x)

    (_, y), gradients = compiled(lambda: run(ours), dtype)()
    (_, wanted), others = reference(lambda: run(expected))()
    assert_close((y.y, y.loss), (wanted["quantize"], wanted["loss"]), dtype)
    assert_close(gradients, others, dtype)
    np.testing.assert_array_equal(y.indices, wanted["encoding_indices"])
    assert_close(y.perplexity, entropy(y.indices), dtype)


def test_values_are_those_of_the_table():
    """What a decoder sees in training is what it sees of the indices later."""
    table = draw(0, (ENTRIES, FEATURES), "float16")
    x = draw(1, (64, FEATURES), "float16", 100.0)
    y = apply_layer("nn/vector_quantizer", HYPER, {"embedding": table}, x)[0]
    np.testing.assert_array_equal(y.y, table[y.indices])


def test_moving_averages_as_of_haiku(dtype):
    """The table, the averages and the losses of three steps, and what inference sees then."""

    def make(x, is_training):
        module = hk.nets.VectorQuantizerEMA(
            FEATURES, ENTRIES, 0.4, decay=0.9, dtype=dtype
        )
        return module(x, is_training=is_training)

    theirs = hk.without_apply_rng(hk.transform_with_state(make))
    start = draw(1, (4, FEATURES), dtype)
    _, state = theirs.init(jax.random.key(0), start, is_training=True)
    table = draw(0, (ENTRIES, FEATURES), dtype)
    # `init` takes a step in haiku.
    state = jax.tree.map(jnp.zeros_like, state)
    state["vector_quantizer_ema"]["embeddings"] = table.T
    states = {
        "embedding": table,
        "counts": jnp.zeros(ENTRIES, dtype),
        "sums": jnp.zeros((ENTRIES, FEATURES), dtype),
        "steps": jnp.int32(0),
    }
    hyper = {**HYPER, "decay": 0.9}
    for step in range(4):
        training = step < 3
        x = draw(5 + step, (2, 6, FEATURES), dtype)
        y, states = apply_layer(
            "nn/vector_quantizer_ema", hyper, None, x, states=states, training=training
        )
        wanted, state = theirs.apply({}, state, x, is_training=training)
        assert_close((y.y, y.loss), (wanted["quantize"], wanted["loss"]), dtype)
        np.testing.assert_array_equal(y.indices, wanted["encoding_indices"])
        assert_close(y.perplexity, entropy(y.indices), dtype)
        new = state["vector_quantizer_ema"]["embeddings"].T
        assert_close(states["embedding"], new, dtype)
    assert states["steps"] == 3


@pytest.mark.parametrize("place", ["nn/vector_quantizer", "nn/vector_quantizer_ema"])
def test_gradients_go_to_the_input(place, dtype):
    x, table = draw(1, (4, FEATURES), dtype), draw(0, (ENTRIES, FEATURES), dtype)
    weights = states = {"embedding": table}
    if place == "nn/vector_quantizer_ema":
        weights, states = None, {"embedding": table, "counts": table[:, 0]}
        states |= {"sums": table, "steps": jnp.int32(2)}

    def run(x):
        return apply_layer(place, HYPER, weights, x, states=states)[0].y

    cotangent = draw(2, x.shape, dtype)
    assert_close(jax.vjp(run, x)[1](cotangent)[0], numpy(cotangent), dtype)


def test_devices_share_averages():
    """Two halves of a batch on two devices are the batch on one."""
    x = draw(1, (2, 4, FEATURES), "float64")
    table = draw(0, (ENTRIES, FEATURES), "float64")
    states = {"embedding": table, "counts": jnp.zeros(ENTRIES), "sums": 0 * table}
    states |= {"steps": jnp.int32(0)}

    def run(x, **options):
        return apply_layer(
            "nn/vector_quantizer_ema",
            {**HYPER, **options},
            None,
            x,
            states=states,
            training=True,
        )

    mapped = jax.vmap(lambda x: run(x, axis_name="devices"), axis_name="devices")
    y, new = mapped(x)
    whole, expected = run(x)
    assert_close(y.perplexity, np.full(2, whole.perplexity), "float64")
    for name in ("embedding", "counts", "sums"):
        assert_close(new[name][0], expected[name], "float64")


def test_an_empty_batch_leaves_the_averages_alone():
    table = draw(0, (ENTRIES, FEATURES), "float32")
    states = {"embedding": table, "counts": table[:, 0], "sums": table}
    states |= {"steps": jnp.int32(2)}
    x = jnp.zeros((0, FEATURES))
    _, new = apply_layer(
        "nn/vector_quantizer_ema", HYPER, None, x, states=states, training=True
    )
    jax.tree.map(np.testing.assert_array_equal, new, states)
