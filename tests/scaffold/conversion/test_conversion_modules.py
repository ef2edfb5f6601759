"""What modules of flax, haiku and equinox are made of, as people write them in whole models."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax import HAIKU, LINEN, NNX

EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    ("loop", "call"),
    [
        ("for layer in (self.first, self.second)", "layer(x)"),
        ("for i, layer in enumerate([self.first, self.second])", "layer(x) + i"),
    ],
)
def test_a_loop_over_layers_that_stand_in_it_calls_each(loop, call):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.first = nnx.Conv(dim, 8, (3, 3), rngs=rngs)
        self.second = nnx.Conv(8, 4, (3, 3), rngs=rngs)

    def __call__(self, x):
        {loop}:
            x = jax.nn.relu({call})
        return x
""",
        NNX,
    ).text
    assert "self.first(x)" in text
    assert "self.second(x)" in text
    assert "x: Float['batch height width dim']" in text


def test_a_sum_of_all_is_that_of_one_example():
    text = converted(
        """\
class Thing(eqx.Module):
    branch: eqx.nn.Linear
    trunk: eqx.nn.Linear

    def __init__(self, dim, width, *, key):
        k1, k2 = jax.random.split(key)
        self.branch = eqx.nn.Linear(dim, width, key=k1)
        self.trunk = eqx.nn.Linear(1, width, key=k2)

    def __call__(self, x, y):
        return jnp.sum(self.branch(x) * self.trunk(y), keepdims=True)[0]
""",
        EQUINOX,
    ).text
    assert "x: Float['dim'], y: Float['1']" in text


def test_weights_in_dictionaries_have_no_dtype_of_their_own():
    text = converted(
        """\
def dense(p, x):
    n = x.shape[-1]
    return x @ p["w"] * jnp.ones((n, n))


def init_thing(key, dim=8):
    return {"fc": {"w": jax.random.normal(key, (dim, dim))}}


def Thing(params, x):
    return dense(params["fc"], x)


def init_Thing(key, dim=8):
    return init_thing(key, dim)
""",
        "import jax\nimport jax.numpy as jnp\n\n\n",
    ).text
    assert "jnp.ones((n, n), dtype=x.dtype)" in text


def test_a_setting_for_a_dtype_is_none_here():
    text = converted(
        """\
@dataclass
class Config:
    dim: int = 8
    dtype: Any = jnp.float32


class Thing(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        x = x.astype(jnp.promote_types(self.config.dtype, jnp.float32))
        return nn.Dense(self.config.dim, dtype=self.config.dtype)(x)
""",
        "from dataclasses import dataclass\n" + LINEN,
    ).text
    assert "dtype" not in text


def test_tables_that_setup_computes_have_the_dtype_of_what_they_are_used_with():
    text = converted(
        """\
def table(dim, length):
    angles = jnp.outer(jnp.arange(length), 1.0 / 10.0 ** jnp.arange(dim))
    return jnp.sin(angles), jnp.cos(angles)


class Thing(nn.Module):
    dim: int
    length: int = 16

    def setup(self):
        self.fc = nn.Dense(self.dim)
        self.sin, self.cos = table(self.dim, self.length)

    def __call__(self, x):
        sin = self.sin[: x.shape[1]]
        return self.fc(x) * sin + self.cos[: x.shape[1]]
""",
        LINEN,
    ).text
    made = "sin_table, cos = table(self.dim, self.length, dtype=x.dtype)"
    assert made in text
    assert "jnp.asarray(np.sin(angles), dtype)" in text


def test_a_mask_of_one_head_is_tried_with_one():
    text = converted(
        """\
class Attention(nn.Module):
    heads: int
    kv_heads: int

    @nn.compact
    def __call__(self, x, mask=None):
        b, t, c = x.shape
        d = c // self.heads
        q = nn.Dense(self.heads * d)(x).reshape(b, t, self.heads, d)
        k = nn.Dense(self.kv_heads * d)(x).reshape(b, t, self.kv_heads, d)
        k = jnp.repeat(k, self.heads // self.kv_heads, axis=2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
        if mask is not None:
            scores = jnp.where(mask, scores, -1e9)
        y = jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), k)
        return nn.Dense(c)(y.reshape(b, t, -1))


class Thing(nn.Module):
    heads: int = 4
    kv_heads: int = 2

    @nn.compact
    def __call__(self, x, mask=None):
        return x + Attention(self.heads, self.kv_heads)(x, mask)
""",
        LINEN,
    ).text
    last = text[text.index("class FromThing") :].replace('"', "'")
    assert "mask: Bool['... #axis1 #axis1'] | None" in last
    assert "'mask': (2, 1, 4, 4)" in last


def test_rules_that_a_module_of_haiku_is_not_given_are_left_out():
    made = converted(
        """\
class Thing(hk.Module):
    def __init__(self, size, w_init=None, b_init=None, name=None):
        super().__init__(name=name)
        self.size = size
        self.w_init = w_init
        self.b_init = b_init or jnp.zeros

    def __call__(self, x):
        width = self.width = x.shape[-1]
        w_init = self.w_init
        if w_init is None:
            stddev = 1.0 / jnp.sqrt(width)
            w_init = hk.initializers.TruncatedNormal(stddev=stddev)
        w = hk.get_parameter("w", [width, self.size], x.dtype, init=w_init)
        b = hk.get_parameter("b", [self.size], x.dtype, init=self.b_init)
        return x @ w + b
""",
        HAIKU,
    )
    assert "truncated_normal(1.0 / math.sqrt(self.in_features))" in made.text
    assert "self.b = trainable(zeros, (self.size,))" in made.text
    assert "self.width" not in made.text
    assert {n.what for n in made.notes} == {
        "`w_init` of Thing, which is None, is left out",
        "`b_init` of Thing, which is None, is left out",
    }


def test_a_rule_that_a_module_of_haiku_is_given_stays():
    text = converted(
        """\
class Dense(hk.Module):
    def __init__(self, size, w_init=None, name=None):
        super().__init__(name=name)
        self.size = size
        self.w_init = w_init

    def __call__(self, x):
        w = hk.get_parameter("w", [x.shape[-1], self.size], init=self.w_init)
        return x @ w


class Thing(hk.Module):
    def __call__(self, x):
        return Dense(4, w_init=hk.initializers.RandomNormal(0.1))(x)
""",
        HAIKU,
    ).text
    assert "normal(0.1)" in text


def test_dropout_in_a_loop_over_layers_is_one_layer():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, sizes, name=None):
        super().__init__(name=name)
        self.layers = [hk.Linear(s) for s in sizes]

    def __call__(self, x, is_training=False):
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
            if is_training:
                x = hk.dropout(hk.next_rng_key(), 0.5, x)
        return x
""",
        HAIKU,
    ).text
    assert "self.dropout = Dropout(0.5)" in text


def test_what_a_matrix_of_neighbours_is_multiplied_with_has_as_many_rows():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, adj):
        adj = adj + jnp.eye(adj.shape[-1])
        scale = jax.lax.rsqrt(jnp.sum(adj, axis=-1, keepdims=True))
        return scale * jnp.matmul(adj, scale * nn.Dense(self.size)(x))
""",
        LINEN,
    ).text
    assert "x: Float['*batch axis0 in_features']" in text.replace('"', "'")
    assert "adj: Float['*batch axis0 axis0']" in text.replace('"', "'")


@pytest.mark.parametrize("split", [False, True])
def test_parts_of_an_axis_that_are_computed_with_tell_its_size(split):
    body = (
        "    a, b, c, d = jnp.split(x, 4, axis=-1)\n"
        "    x = jnp.concatenate([a - c, b - d, a + c, b + d], axis=-1)\n"
    )
    text = converted(
        "def thing(x):\n"
        + (body if split else "")
        + "    return x[..., 2:] - x[..., :2]\n",
        "import jax.numpy as jnp\n\n\n",
        "FUNCTION",
    ).text
    assert "x: Float['*batch 4']" in text


@pytest.mark.parametrize(
    ("head", "body", "weight"),
    [
        (
            NNX,
            """\
class Embedder(nnx.Module):
    def __init__(self, size: int, dim: int, *, rngs: nnx.Rngs):
        init = nnx.initializers.normal()
        self.table = nnx.Param(init(rngs.params(), (size, dim)))

    def encode(self, x):
        x = self.table.value[(x,)]
        return x * jnp.sqrt(x.shape[-1]).astype(x.dtype)

    def decode(self, x):
        return x @ self.table.value.T

    @property
    def dim(self):
        return self.table.value.shape[1]


class Thing(nnx.Module):
    def __init__(self, size: int, dim: int, *, rngs: nnx.Rngs):
        self.embedder = Embedder(size, dim=dim, rngs=rngs)
        self.fc = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, tokens):
        return self.embedder.decode(self.fc(self.embedder.encode(tokens)))
""",
            "self.embedder_table = trainable(normal(0.01), (self.size, self.dim))",
        ),
        (
            LINEN,
            """\
class Embedder(nn.Module):
    size: int
    dim: int

    def setup(self):
        self.table = self.param("table", nn.initializers.normal(), (self.size, self.dim))

    def encode(self, x):
        return self.table[x]

    def decode(self, x):
        return x @ self.table.T


class Thing(nn.Module):
    size: int
    dim: int = 8

    def setup(self):
        self.embedder = Embedder(self.size, self.dim)
        self.fc = nn.Dense(self.dim)

    def __call__(self, tokens):
        return self.embedder.decode(self.fc(self.embedder.encode(tokens)))
""",
            "self.embedder_table = trainable(normal(0.01), (self.size, self.dim))",
        ),
    ],
    ids=["nnx", "linen"],
)
def test_a_module_that_is_never_called_as_a_whole_is_part_of_another(
    head, body, weight
):
    text = converted(body, head).text
    assert weight in text
    assert "def _embedder_encode(self, x):" in text
    assert "self._embedder_decode(self.fc(self._embedder_encode(tokens)))" in text
    assert "class Embedder" not in text


def test_a_weight_gets_no_axes_before_its_own_to_be_computed_with():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.ones(dim))

    def __call__(self, x):
        scale = jnp.expand_dims(self.scale, axis=range(len(x.shape) - 1))
        return x * (1 + scale)
""",
        NNX,
    ).text
    assert "x: Float['*batch dim']" in text
    assert "expand_dims" not in text


def test_images_are_large_enough_for_windows_without_padding():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.conv1 = nnx.Conv(dim, 8, (8, 8), strides=(4, 4), padding="VALID", rngs=rngs)
        self.conv2 = nnx.Conv(8, 8, (4, 4), strides=(2, 2), padding="VALID", rngs=rngs)

    def __call__(self, x):
        return self.conv2(nnx.relu(self.conv1(x)))
""",
        NNX,
    ).text
    assert "'x': (2, 20, 20, 8)" in text.replace('"', "'")
