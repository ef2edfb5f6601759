"""What sizes of layers are told by: lists before them, functions by name, inputs beside others."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax import HAIKU, LINEN, NNX
from test_conversion_modules import EQUINOX

JAX = "import jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    "function",
    [
        '{"relu": nn.relu, "tanh": nn.tanh}[self.activation]',
        "nn.relu if self.deep else nn.tanh",
    ],
)
def test_a_function_that_is_chosen_by_name_keeps_shapes(function):
    text = converted(
        f"""\
class Thing(nn.Module):
    sizes: tuple[int, ...]
    activation: str = "relu"
    deep: bool = False

    @nn.compact
    def __call__(self, x):
        fn = {function}
        for size in self.sizes:
            x = fn(nn.Dense(size)(x))
        return x
""",
        LINEN,
    ).text
    assert "x: Float['*batch in_features']" in text
    assert "(self.in_features, *self.sizes)" in text


def test_what_an_axis_was_put_in_for_has_that_axis():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, query, keys, values):
        energy = nn.tanh(nn.Dense(self.size)(query)[:, None, :] + keys)
        scores = nn.softmax(nn.Dense(1)(energy).squeeze(-1), axis=-1)
        return jnp.sum(scores[:, :, None] * values, axis=1)
""",
        LINEN,
    ).text
    assert "keys: Float['batch positions size']" in text
    assert "values: Float['batch positions axis2']" in text


def test_numbers_of_math_are_no_arrays():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int):
        self.dim = dim

    def __call__(self, t):
        freqs = jnp.exp(-math.log(100.0) * jnp.arange(self.dim // 2))
        args = t[:, None] * freqs[None]
        return jnp.concatenate([jnp.cos(args), jnp.sin(args)], axis=-1)
""",
        "import math\n" + NNX,
    ).text
    assert "def forward(self, t: Float['batch']):" in text


@pytest.mark.parametrize(
    ("lines", "items"),
    [
        ("sizes = [dim + 1] + [8] * 2 + [dim]", "zip(sizes[:-1], sizes[1:])"),
        (
            "sizes = [dim + 1] + [8]\n        pairs = list(zip(sizes[:-1], sizes[1:]))",
            "pairs",
        ),
        (
            "sizes = [w for w in (dim + 1, 8)]",
            "zip(sizes[:-1], sizes[1:])",
        ),
    ],
)
def test_lists_of_sizes_tell_what_the_first_layer_takes(lines, items):
    text = converted(
        f"""\
class Thing(eqx.Module):
    layers: list

    def __init__(self, dim, *, key):
        {lines}
        self.layers = [eqx.nn.Linear(a, b, key=key) for a, b in {items}]

    def __call__(self, t, x):
        h = jnp.concatenate([t[None], x])
        for layer in self.layers:
            h = jnp.tanh(layer(h))
        return h
""",
        EQUINOX,
    ).text
    assert "x: Float['dim']" in text


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        ("jnp.full((self.dim,), 0.1)", "constant(0.1)"),
        ("0.1 * jnp.ones((self.dim,))", "constant(0.1)"),
        ("jnp.zeros((self.dim,), jnp.float32)", "zeros"),
        ("jax.random.normal(key, (self.dim,)) * 0.02", "normal(0.02)"),
    ],
)
def test_a_weight_that_a_function_of_a_key_makes_has_an_initializer(made, rule):
    text = converted(
        f"""\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return x * self.param("scale", lambda key: {made})
""",
        LINEN,
    ).text
    assert f"self.scale = trainable({rule}, (self.dim,))" in text


def test_sizes_that_layers_of_flax_hand_to_each_other_are_read_of_arrays():
    text = converted(
        """\
class Mix(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x, H, W):
        B, N, C = x.shape
        x = nn.Conv(self.dim, (3, 3))(x.reshape(B, H, W, C))
        return x.reshape(B, H * W, C)


class Thing(nn.Module):
    dim: int = 8

    @nn.compact
    def __call__(self, x):
        B, H, W, C = x.shape
        x = nn.Dense(self.dim)(x.reshape(B, H * W, C))
        return Mix(self.dim)(x, H, W)
""",
        LINEN,
    ).text
    assert "H, = H.shape" in text or "(H,) = H.shape" in text
    assert "jnp.zeros(H, dtype=x.dtype), jnp.zeros(W, dtype=x.dtype)" in text


def test_keys_that_may_be_left_out_are_called_otherwise():
    text = converted(
        """\
class Attention(hk.MultiHeadAttention):
    def __call__(self, query, key=None, value=None, mask=None):
        key = key if key is not None else query
        value = value if value is not None else query
        return super().__call__(query, key, value, mask)


class Thing(hk.Module):
    def __call__(self, x):
        init = hk.initializers.VarianceScaling(1.0)
        return Attention(num_heads=2, key_size=4, w_init=init, model_size=8)(x)
""",
        HAIKU,
    ).text
    assert "key_input: " in text
    assert "context=key_input" in text


def test_weights_that_a_loop_makes_have_sizes_that_change_once():
    text = converted(
        """\
def init_Thing(rng, dim=4, hidden=8, depth=2):
    params = {"layers": [], "head": None}
    d = dim
    for _ in range(depth):
        rng, key = jax.random.split(rng)
        params["layers"].append({"w": jax.random.normal(key, (d, hidden))})
        d = hidden
    params["head"] = jax.random.normal(rng, (hidden, 3))
    return params


def apply_Thing(params, x):
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"])
    return x @ params["head"]
""",
        JAX,
    ).text
    assert "for d in (self.dim, *[self.hidden] * (self.depth - 1))" in text
    assert "self.head = trainable(normal(1.0), (self.hidden, 3))" in text


def test_a_mask_of_numbers_that_a_base_is_given_by_its_place_is_compared():
    text = converted(
        """\
class Attention(hk.MultiHeadAttention):
    def __call__(self, query, key, value, mask=None):
        causal = jnp.tril(jnp.ones((query.shape[1], query.shape[1])))
        mask = mask * causal if mask is not None else causal
        return super().__call__(query, key, value, mask)


class Thing(hk.Module):
    def __call__(self, x):
        init = hk.initializers.VarianceScaling(1.0)
        layer = Attention(num_heads=2, key_size=4, w_init=init, model_size=8)
        return layer(x, x, x)
""",
        HAIKU,
    ).text
    assert "mask=mask != 0" in text


@pytest.mark.parametrize("local", ["out_channels", "outs"])
def test_a_size_that_setup_chooses_is_told_to_what_follows(local):
    text = converted(
        f"""\
class Block(nn.Module):
    in_channels: int
    out_channels: int = None

    def setup(self):
        {local} = self.in_channels if self.out_channels is None else self.out_channels
        self.fc = nn.Dense({local})

    def __call__(self, x):
        return self.fc(x)


class Thing(nn.Module):
    dim: int = 8

    def setup(self):
        self.block = Block(self.dim, 2 * self.dim)
        self.last = nn.Dense(self.dim)

    def __call__(self, x):
        return self.last(self.block(x))
""",
        LINEN,
    ).text
    assert "self.last = Linear(2 * self.dim, self.dim)" in text


def test_rows_of_a_table_are_as_many_as_what_follows_takes():
    text = converted(
        """\
class Block(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.w = nnx.Param(jnp.ones((dim, dim)))

    def __call__(self, x):
        return jnp.einsum("BTD,DE->BTE", x, self.w.value)


class Thing(nnx.Module):
    def __init__(self, size: int, dim: int, *, rngs: nnx.Rngs):
        init = nnx.initializers.normal()
        self.table = nnx.Param(init(rngs.params(), (size, dim)))
        self.block = Block(dim, rngs=rngs)

    def __call__(self, tokens):
        return self.block(self.table.value[tokens])
""",
        NNX,
    ).text
    assert "tokens: Int['batch axis1']" in text
