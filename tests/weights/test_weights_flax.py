"""Layers of flax: linen and nnx, each with drawn weights, and the outputs of both."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx
from weights_compare import (
    KEY,
    applied,
    assert_same,
    drawn_like,
    loaded,
    made_of,
    shaped,
)

from mlax import block, nn
from mlax_scaffold.weights import load_mapped, map_weights, parse_mapping

F64 = {"dtype": jnp.float64, "param_dtype": jnp.float64}
X = np.random.default_rng(9).normal(size=(2, 5, 6))
IMAGES = np.random.default_rng(8).normal(size=(2, 6, 5, 4))


def both(theirs: linen.Module, ours: Any, *inputs: Any, x: Any = None) -> Any:
    """Drawn variables of a module, and ours with the same; both have to say the same."""
    variables = drawn_like(jax.eval_shape(theirs.init, KEY, *inputs))
    y = jax.jit(theirs.apply)(variables, *inputs)
    assert_same(applied(loaded(variables, ours), inputs[0] if x is None else x), y)
    return variables


def test_dense():
    both(linen.Dense(6, **F64), shaped(nn.Linear.init, KEY, 6, 6), X)


def test_conv():
    theirs = linen.Conv(4, (3, 2), padding="VALID", feature_group_count=2, **F64)
    ours = shaped(
        nn.Conv.init, KEY, 2, 4, 4, (3, 2), padding="VALID", groups=2,
        channel_last=True,
    )  # fmt: skip
    both(theirs, ours, IMAGES)


def transposed(out, gradient, flip):
    """Of flax, and what it becomes."""
    theirs = linen.ConvTranspose(
        out, (3, 2), (2, 2), "VALID", transpose_kernel=gradient, **F64
    )
    ours = shaped(
        nn.ConvTranspose.init, KEY, 2, 4, out, (3, 2), 2, padding="VALID",
        channel_last=True, flip_kernel=flip,
    )  # fmt: skip
    return theirs, ours


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("flip", [True, False])
def test_conv_transpose(gradient, flip):
    both(*transposed(6, gradient, flip), IMAGES)


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("flip", [True, False])
def test_a_conv_transpose_of_as_many_outputs_is_ambiguous(gradient, flip):
    """The file says what each line takes the kernel for; one `#` less decides."""
    theirs, ours = transposed(4, gradient, flip)
    variables = drawn_like(jax.eval_shape(theirs.init, KEY, IMAGES))
    mapping = map_weights(variables, ours)
    [kernel] = mapping.ambiguous
    # First what is as in the model.
    assert kernel.readings[0] == f"transpose_kernel={flip}"
    assert "do not tell what transpose_kernel was" in str(mapping)
    lines = str(mapping).splitlines()
    [row] = [n for n in lines if n.endswith(f"  # transpose_kernel={gradient}")]
    decided = parse_mapping("\n".join([*lines, row.removeprefix("# ")]))
    model = load_mapped(decided, variables, ours)
    assert_same(applied(model, IMAGES), theirs.apply(variables, IMAGES))


def test_norms():
    theirs = linen.BatchNorm(use_running_average=True, **F64)
    both(theirs, shaped(nn.BatchNorm.init, KEY, 4, channel_last=True), IMAGES)
    ours = shaped(nn.LayerNorm.init, KEY, 6, epsilon=1e-6)
    both(linen.LayerNorm(use_fast_variance=False, **F64), ours, X)
    ours = shaped(nn.GroupNorm.init, KEY, 2, 4, channel_last=True, epsilon=1e-6)
    both(linen.GroupNorm(2, use_fast_variance=False, **F64), ours, IMAGES)


def test_embedding():
    theirs = linen.Embed(5, 6, **F64)
    both(theirs, shaped(nn.Embed.init, KEY, 5, 6), np.array([[0, 4], [2, 2]]))


def test_attention():
    theirs = linen.MultiHeadDotProductAttention(2, **F64)
    both(theirs, shaped(nn.MultiHeadAttention.init, KEY, 6, 2), X)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (linen.LSTMCell, nn.LSTMCell.init),
        (linen.GRUCell, nn.GRUCell.init),
        (linen.MGUCell, nn.MGUCell.init),
        (linen.SimpleCell, nn.SimpleCell.init),
    ],
)
def test_cells(theirs, ours):
    """Gates that are arrays of their own lie beside each other in ours."""
    h = np.random.default_rng(1).normal(size=(2, 4))
    carry = (h[::-1], h) if "LSTM" in theirs.__name__ else h
    cell = theirs(4, **F64)
    variables = drawn_like(jax.eval_shape(cell.init, KEY, carry, X[:, 0]))
    (_, y) = jax.jit(cell.apply)(variables, carry, X[:, 0])
    model = loaded(variables, shaped(ours, KEY, 6, 4))
    assert_same(applied(model, (X[:, 0], carry))[0], y)


class Layer(linen.Module):
    """A layer of a transformer, with the names that flax gives."""

    @linen.compact
    def __call__(self, x: Any, _: Any = None) -> Any:
        norm = {**F64, "use_fast_variance": False, "epsilon": 1e-5}
        y = linen.LayerNorm(name="ln_1", **norm)(x)
        x = x + linen.MultiHeadDotProductAttention(2, name="attn", **F64)(y)
        y = linen.Dense(10, **F64)(linen.LayerNorm(name="ln_2", **norm)(x))
        return x + linen.Dense(6, **F64)(linen.relu(y)), None


def encoder(dtype=jnp.float64, key=KEY):
    return block.TransformerEncoderLayer.init(
        key, 6, 2, 10, activation=jax.nn.relu, dtype=dtype
    )


@pytest.mark.parametrize("stack", [False, True])
def test_a_scan_into_a_stack_and_into_a_list(stack):
    scanned = linen.scan(Layer, {"params": 0}, split_rngs={"params": True}, length=3)()
    variables = drawn_like(jax.eval_shape(scanned.init, KEY, X, None))
    (y, _) = jax.jit(scanned.apply)(variables, X, None)
    if stack:
        model = shaped(
            lambda dtype: block.Repeat.init(
                jax.vmap(lambda k: encoder(dtype, k))(jax.random.split(KEY, 3)), 3
            )
        )
        expected = '"params/attn/query/bias"'
        expected = f"reshape({expected}, 3, 6)"
        path = "layer/attention/to_query/bias"
    else:
        model = shaped(lambda dtype: block.Series.init([encoder(dtype)] * 3))
        expected = 'reshape(pick("params/attn/query/bias", 0, 1), 6)'
        path = "layers/1/attention/to_query/bias"
    assert made_of(map_weights(variables, model), path) == expected
    assert_same(applied(loaded(variables, model), X), y)


def test_a_mapping_does_not_depend_on_where_objects_lie():
    scanned = linen.scan(Layer, {"params": 0}, split_rngs={"params": True}, length=3)()
    variables = drawn_like(jax.eval_shape(scanned.init, KEY, X, None))
    model = shaped(lambda dtype: block.Series.init([encoder(dtype)] * 3))
    random, kept, texts = np.random.default_rng(0), [], set()
    for _ in range(100):
        kept = [*kept, *(object() for _ in range(random.integers(50)))][::2]
        texts.add(str(map_weights(variables, model)))
    assert len(texts) == 1


class Network(nnx.Module):
    """Convolution, norm and two maps, a dropout that has a key."""

    def __init__(self, rngs: nnx.Rngs):
        self.conv = nnx.Conv(4, 3, (3, 2), padding="VALID", rngs=rngs, **F64)
        self.norm = nnx.BatchNorm(3, use_running_average=True, rngs=rngs, **F64)
        self.dropout = nnx.Dropout(0.5, deterministic=True, rngs=rngs)
        self.head = nnx.Sequential(
            nnx.Linear(48, 48, rngs=rngs, **F64), nnx.Linear(48, 2, rngs=rngs, **F64)
        )

    def __call__(self, x: Any) -> Any:
        x = self.dropout(self.norm(self.conv(x)))
        return self.head(x.reshape(x.shape[0], -1))


def network(dtype):
    return block.Series.init(
        [
            nn.Conv.init(
                KEY, 2, 4, 3, (3, 2), padding="VALID", channel_last=True, dtype=dtype
            ),
            nn.BatchNorm.init(KEY, 3, channel_last=True, dtype=dtype),
            nn.Flatten.init(),
            nn.Linear.init(KEY, 48, 48, dtype=dtype),
            nn.Linear.init(KEY, 48, 2, dtype=dtype),
        ]
    )


def drawn_module(make: Any) -> tuple[Any, Any]:
    """A module of nnx with drawn weights, and its state."""
    graph, shapes = nnx.split(nnx.eval_shape(lambda: make(nnx.Rngs(0))))
    state = jax.tree.map(
        lambda s: (
            jax.random.key(0)
            if jnp.issubdtype(s.dtype, jax.dtypes.prng_key)
            else drawn_like(s, s.size)
        ),
        shapes,
    )
    return nnx.merge(graph, state), state


def test_nnx_by_module_and_by_state():
    module, state = drawn_module(Network)
    y = nnx.jit(lambda module, x: module(x))(module, IMAGES)
    model = shaped(network)
    for given in (state, module, nnx.to_pure_dict(state)):
        found = loaded(given, model)
        assert made_of(map_weights(given, model), "layers/1/mean").startswith(
            '"norm/mean'
        )
    assert_same(applied(found, IMAGES), y)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (nnx.LSTMCell, nn.LSTMCell.init),
        (nnx.OptimizedLSTMCell, nn.LSTMCell.init),
        (nnx.GRUCell, nn.GRUCell.init),
        (nnx.SimpleCell, nn.SimpleCell.init),
    ],
)
def test_nnx_cells(theirs, ours):
    h = np.random.default_rng(1).normal(size=(2, 4))
    carry = (h[::-1], h) if "LSTM" in theirs.__name__ else h
    module, state = drawn_module(lambda rngs: theirs(6, 4, rngs=rngs, **F64))
    _, y = nnx.jit(lambda module, carry, x: module(carry, x))(module, carry, X[:, 0])
    model = loaded(state, shaped(ours, KEY, 6, 4))
    assert_same(applied(model, (X[:, 0], carry))[0], y)


def test_nnx_attention():
    module, state = drawn_module(
        lambda rngs: nnx.MultiHeadAttention(2, 6, decode=False, rngs=rngs, **F64)
    )
    y = nnx.jit(lambda module, x: module(x))(module, X)
    model = loaded(state, shaped(nn.MultiHeadAttention.init, KEY, 6, 2))
    # The square root of the size is in float32 there.
    assert_same(applied(model, X), y, 1e-6)


def test_states_in_a_collection_of_ones_own_belong_to_their_layer():
    theirs = linen.BatchNorm(use_running_average=True, **F64)
    ours = shaped(nn.BatchNorm.init, KEY, 4, channel_last=True)
    variables = dict(both(theirs, ours, IMAGES))
    variables["averages"] = variables.pop("batch_stats")
    mapping = map_weights(variables, ours, "flax")
    assert mapping.complete
    assert "averages/mean" in made_of(mapping, "mean")
