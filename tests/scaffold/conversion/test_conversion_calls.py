"""What calls of flax and haiku are given, keep for themselves, and have functions of the file compute."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

from mlax_scaffold.conversion import convert

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nfrom typing import Any, Sequence\n\n\n"
HAIKU = "import haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n\n"


def test_numbers_that_calls_hand_on_and_that_are_always_their_defaults_are_decided():
    found = converted(
        """\
class Inner(nn.Module):
    @nn.compact
    def __call__(self, x, output_attentions: bool = False):
        y = nn.Dense(4)(x)
        return (y, x) if output_attentions else (y,)


class Thing(nn.Module):
    def setup(self):
        self.inner = Inner()
        self.out = nn.Dense(2)

    def __call__(self, x, output_attentions: bool = False):
        found = self.inner(x, output_attentions=output_attentions)
        outputs = (self.out(found[0]),)
        if output_attentions:
            outputs += (found[1],)
        return outputs
""",
        LINEN,
    )
    assert found.whole
    assert "output_attentions" not in found.text
    assert "return (y,)" in found.text
    assert "Linear(4, 2)" in found.text
    assert any("always its default" in note.what for note in found.notes)


def test_a_flag_that_the_only_call_gives_is_what_that_gives():
    body = """\
class Inner(nn.Module):
    @nn.compact
    def __call__(self, x, twice: bool = False):
        y = nn.Dense(4)(x)
        return y * 2 if twice else y


class Thing(nn.Module):
    def setup(self):
        self.inner = Inner()

    def __call__(self, x):
        return self.inner(x, twice=True)
"""
    found = convert("thing.py", LINEN + body, "Thing", "FromThing")
    assert found.whole
    assert "twice" not in found.text
    assert "return y * 2" in found.text


def test_weights_of_attention_are_written_out():
    found = converted(
        """\
from flax.linen.attention import dot_product_attention_weights


class Thing(nn.Module):
    heads: int = 2
    dim: int = 4
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, deterministic: bool = True):
        q = nn.Dense(8)(x).reshape(x.shape[:2] + (self.heads, self.dim))
        k = nn.Dense(8)(x).reshape(x.shape[:2] + (self.heads, self.dim))
        dropout_rng = None
        if not deterministic and self.rate > 0.0:
            dropout_rng = self.make_rng("dropout")
        weights = dot_product_attention_weights(
            q, k, dropout_rng=dropout_rng, dropout_rate=self.rate, deterministic=deterministic,
        )
        y = jnp.einsum("...hqk,...khd->...qhd", weights, k)
        y = y.reshape(y.shape[:2] + (-1,))
        return nn.Dense(3)(y)
""",
        LINEN,
    )
    assert found.whole
    assert "rng" not in found.text
    assert "softmax(jnp.einsum('...qhd,...khd->...hqk', q, k) / math.sqrt" in found.text
    assert "Linear(self.heads * self.dim, 3)" in found.text
    assert "x: Float['batch positions in_features']" in found.text


def test_functions_of_several_lines_that_make_layers_are_written_out():
    found = converted(
        """\
def conv(width, with_bias=True):
    return hk.Linear(width, with_bias=with_bias)


def drop(x, rate=0.0):
    y = jnp.tanh(x)
    if rate > 0:
        y = hk.dropout(hk.next_rng_key(), rate, y)
    y *= 2
    return y


class Thing(hk.Module):
    def __init__(self, width, rate=0.5, name=None):
        super().__init__(name=name)
        self._width = width
        self._rate = rate

    def __call__(self, x, y):
        y = conv(self._width)(x)
        return conv(self._width, with_bias=False)(drop(y, rate=self._rate)) + y
""",
        HAIKU,
    )
    assert found.whole
    assert "def drop" not in found.text
    assert "y_2 = jnp.tanh(y)" in found.text
    assert "y_2 = self.dropout_0(y_2)" in found.text
    assert not any("windows" in note.what for note in found.notes)


def test_what_a_call_of_haiku_sets_for_itself_is_a_local():
    found = converted(
        """\
class Thing(hk.Module):
    def __init__(self, width=None, name=None):
        super().__init__(name=name)
        self._width = width

    def __call__(self, x):
        if self._width is None:
            self._width = x.shape[-1]
        return hk.Linear(self._width)(x)
""",
        HAIKU,
    )
    assert found.whole
    assert "self.in_features if self.width is None else self.width" in found.text
    assert "self.width = x" not in found.text


def test_settings_without_types_are_what_their_defaults_are():
    text = converted(
        """\
class Config:
    def __init__(self, width=8, rate=0.1, act="relu", bias=True, **kwargs):
        self.width = width
        self.rate = rate
        self.act = act
        self.bias = bias


class Thing(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        y = nn.Dense(self.config.width, use_bias=self.config.bias)(x)
        y = nn.relu(y) if self.config.act == "relu" else nn.tanh(y)
        return y * self.config.rate
""",
        LINEN,
    ).text
    for field in ("width: Size = 8", "act: str = 'relu'", "bias: bool = True"):
        assert field in text
    assert "rate: Probability = 0.1" in text


def test_a_field_that_a_layer_takes_as_its_features_is_a_size():
    text = converted(
        """\
class Thing(nn.Module):
    action_dim: Sequence[int]

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.action_dim)(x) + self.param("b", nn.initializers.zeros, (self.action_dim,))
""",
        LINEN,
    ).text
    assert "action_dim: Size\n" in text


def test_sizes_that_a_part_reckons_with_its_fields_are_read_of_it():
    found = converted(
        """\
class Patches(nn.Module):
    size: int
    patch: int = 2

    def setup(self):
        count = self.size // self.patch
        self.num_patches = count * count
        self.proj = nn.Dense(4)

    def __call__(self, x):
        return self.proj(x)


class Thing(nn.Module):
    size: int = 8

    def setup(self):
        self.patches = Patches(self.size)
        self.pos = self.param("pos", nn.initializers.zeros, (self.patches.num_patches, 4))

    def __call__(self, x):
        return self.patches(x) + self.pos
""",
        LINEN,
    )
    assert found.whole
    assert "(self.size // 2 * (self.size // 2), 4)" in found.text


def test_sizes_that_are_refused_where_they_differ_are_the_same():
    text = converted(
        """\
class Thing(nn.Module):
    channels: int = 3

    @nn.compact
    def __call__(self, x):
        given = x.shape[-1]
        if given != self.channels:
            raise ValueError("other channels")
        return nn.Dense(4)(x)
""",
        LINEN,
    ).text
    assert "x: Float['*batch channels']" in text
    assert "require(given == self.channels, 'other channels')" in text


@pytest.mark.parametrize("count", ["num_segments=n", "n"])
def test_rows_that_segments_count_are_nodes(count):
    text = converted(
        f"""\
class Inner(nn.Module):
    dim: int
    heads: int = 2
    concat: bool = True

    @nn.compact
    def __call__(self, nodes, senders, receivers):
        n = nodes.shape[0]
        h = nn.Dense(self.heads * self.dim)(nodes).reshape(n, self.heads, self.dim)
        out = jax.ops.segment_sum(h[senders], receivers, {count})
        if self.concat:
            return out.reshape(n, -1)
        return out.mean(axis=1)


class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, nodes, senders, receivers):
        x = Inner(self.dim)(nodes, senders, receivers)
        return Inner(3, concat=False)(x, senders, receivers)
""",
        LINEN,
    ).text
    assert "nodes: Float['nodes in_features']" in text
    assert "Inner(2 * self.dim, dim=3, concat=False)" in text


def test_what_a_step_computes_of_a_hyperparameter_asks_whether_it_is_there():
    body = """\
import optax


def thing(learning_rate: float, clip: Optional[float] = None):
    steps = []
    if clip is not None:
        steps.append(optax.clip_by_global_norm(clip))
    steps.append(optax.scale(-learning_rate))
    return optax.chain(*steps)
"""
    found = convert("thing.py", body, "thing", "FromThing", "OPTIMIZER")
    [line] = [s for s in found.text.splitlines() if "self.factor = " in s]
    assert line.endswith(" if self.clip is not None else 1.0")


def test_what_a_function_sums_over_several_axes_has_as_many():
    text = converted(
        """\
import jax
import jax.numpy as jnp


def thing(scores, labels):
    loss = labels * jax.nn.log_sigmoid(scores)
    return loss.sum(axis=(1, 2)) / jnp.maximum(labels.sum(axis=(1, 2)), 1.0)
""",
        "",
        "FUNCTION",
    ).text
    assert "labels: Float['batch2 axis1 axis2']" in text
    assert "scores: Float['# batch2 axis1 axis2']" in text


def test_a_weight_that_a_function_of_the_key_alone_begins_is_computed_by_numpy():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int
    state: int = 4

    def setup(self):
        A = jnp.tile(jnp.arange(1, self.state + 1, dtype=jnp.float32), (self.dim, 1))
        self.A_log = self.param("A_log", lambda key: jnp.log(A))

    def __call__(self, x):
        return x @ jnp.exp(self.A_log)
""",
        LINEN,
    ).text
    assert "A = np.tile(np.arange(1, self.state + 1), (self.dim, 1))" in text
    assert "initial_A_log = np.log(A)" in text
    assert "jnp.asarray(initial_A_log, dtype), initial_A_log.shape)" in text


def test_features_that_become_channels_of_images_are_those_that_are_left():
    text = converted(
        """\
class Thing(nn.Module):
    width: int = 4

    @nn.compact
    def __call__(self, z):
        x = nn.Dense(8 * self.width)(z)
        x = x.reshape(x.shape[0], 2, 2, -1)
        return nn.Conv(3, (1, 1))(x)
""",
        LINEN,
    ).text
    assert "Conv(2, 2 * self.width, 3, (1, 1)" in text
    assert "z: Float['batch in_features']" in text


def test_products_of_lax_over_the_last_axis_are_those_of_matrices():
    text = converted(
        """\
class Inner(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", nn.initializers.ones, (x.shape[-1], self.features))
        return jax.lax.dot_general(x, kernel, (((x.ndim - 1,), (0,)), ((), ())))


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(jnp.ones((1, 4), dtype="bool"), dtype="bool")
        return nn.Dense(3)(Inner(5)(x)) * mask[0, 0, 0, 0]
""",
        LINEN,
    ).text
    assert "Linear(5, 3)" in text


def test_a_method_that_makes_a_sequence_of_nnx_in_a_loop_is_a_class():
    found = converted(
        """\
class Block(nnx.Module):
    def __init__(self, width: int, out: int, *, rngs: nnx.Rngs):
        self.conv = nnx.Linear(width, out, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.conv(x))


class Thing(nnx.Module):
    def __init__(self, num_blocks: list[int], width: int = 8, *, rngs: nnx.Rngs):
        self.in_planes = width
        self.layer1 = self._make_layer(width, num_blocks[0], rngs=rngs)
        self.layer2 = self._make_layer(width * 2, num_blocks[1], rngs=rngs)

    def _make_layer(self, planes: int, count: int, rngs: nnx.Rngs):
        layers = []
        for _ in range(count):
            layers.append(Block(self.in_planes, planes, rngs=rngs))
            self.in_planes = planes
        return nnx.Sequential(*layers)

    def __call__(self, x):
        return self.layer2(self.layer1(x))
""",
        "from flax import nnx\n\n\n",
    )
    assert "class ThingLayer(Layer):" in found.text


def test_what_a_call_asserts_of_all_axes_but_the_last_is_taken_to_hold():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, width, name=None):
        super().__init__(name=name)
        self._width = width

    def __call__(self, nodes, edges):
        b, n, _ = nodes.shape
        assert edges.shape[:-1] == (b, n, n)
        return hk.Linear(self._width)(nodes)[:, None] + hk.Linear(self._width)(edges)
""",
        HAIKU,
    ).text
    assert "nodes: Float['b n in_features']" in text
    assert "edges: Float['b n n edges_features']" in text


def test_a_cache_that_begins_empty_is_kept_for_methods_that_are_left_out():
    text = converted(
        """\
import numpy as np


class Thing:
    def __init__(self, dim, seed=0):
        self.W = np.random.randn(dim, dim)
        self.cache = {}

    def forward(self, x):
        y = x @ self.W
        self.cache = {"x": x, "y": y}
        return y

    def backward(self, grad):
        return self.cache["x"].T @ grad
""",
        "",
    ).text
    assert "cache" not in text


def test_examples_have_one_of_each_that_sizes_count():
    text = converted(
        """\
class Thing(nn.Module):
    stage_sizes: Sequence[int]

    @nn.compact
    def __call__(self, x):
        for i, count in enumerate(self.stage_sizes):
            for j in range(count):
                x = nn.Conv(4 * 2**i, (3, 3))(x)
        return x
""",
        LINEN,
    ).text
    assert "'stage_sizes': (1, 1)" in text


def test_what_a_call_only_hands_on_is_nothing_and_names_of_initializers_are_those():
    found = converted(
        """\
default_init = nn.initializers.xavier_uniform


class Inner(nn.Module):
    @nn.compact
    def __call__(self, x, training: bool = False):
        x = nn.Dense(4, kernel_init=default_init())(x)
        return nn.Dropout(0.5)(x, deterministic=not training)


class Other(nn.Module):
    @nn.compact
    def __call__(self, x, temperature: float = 1.0):
        return x * temperature


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, *args, **kwargs):
        return nn.Dense(1, kernel_init=default_init())(Inner()(x, *args, **kwargs))
""",
        LINEN,
    )
    assert "Linear(4, 1, kernel_initializer=xavier_uniform())" in found.text
    assert "def forward(self, x: Float['*batch in_features'])" in found.text
    assert not found.notes


def test_a_number_that_a_method_gives_a_function_stays_there():
    text = converted(
        """\
import math


class Thing(nn.Module):
    def table(self, x, period=10000, axis=1):
        return jnp.sum(x * math.log(period), axis=axis)

    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(self.table(nn.Dense(4)(x)))
""",
        LINEN,
    ).text
    assert "sum(x * math.log(10000), axis=1)" in text


def test_pairs_of_widths_and_transposed_weights_tell_shapes():
    text = converted(
        """\
def shifted(x):
    return jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]


class Thing(nn.Module):
    features: int = 4

    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", nn.initializers.ones, (self.features, x.shape[-1]))
        return nn.Dense(3)((x + shifted(x)) @ kernel.transpose())
""",
        LINEN,
    ).text
    assert "x: Float['batch time in_features']" in text
    assert "Linear(self.features, 3)" in text
