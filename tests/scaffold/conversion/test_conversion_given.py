"""What is handed around: weights in containers, layers that are wrapped or given, cells that are run."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

JAX = (
    "import functools\n\nimport jax\nimport jax.numpy as jnp\nfrom jax import random\n"
)
LINEN = JAX + "import flax.linen as nn\n"
TORCH = "import torch\nimport torch.nn as nn\nfrom torch.nn.utils import spectral_norm, weight_norm\n"


def spec(body: str, head: str, thing: str = "Thing") -> str:
    made: Converted = convert("thing.py", f"{head}\n{body}", thing, "FromThing")
    assert made.whole, made.notes
    return made.text


NESTED = """
def layer_params(key, m, n):
    w_key, b_key = random.split(key)
    return {"w": 0.1 * random.normal(w_key, (m, n)), "b": jnp.zeros((n,))}


def init_thing(key, dim, hidden, depth):
    key, first = random.split(key)
    params = {"trunk": layer_params(first, dim, hidden), "blocks": []}
    for _ in range(depth):
        key, inner = random.split(key)
        params["blocks"].append(layer_params(inner, hidden, hidden))
    params["scale"] = jnp.ones((hidden,))
    return params


def dense(p, x):
    return x @ p["w"] + p["b"]


def apply_thing(params, x):
    x = dense(params["trunk"], x)
    for p in params["blocks"]:
        x = jnp.tanh(dense(p, x))
    return x * params["scale"]
"""


def test_weights_in_dictionaries_and_lists_stay_in_them():
    text = spec(NESTED, JAX, "thing")
    weights = (
        "{'w': trainable(normal(0.1), (self.hidden, self.hidden)), "
        "'b': trainable(zeros, (self.hidden,))}"
    )
    assert f"self.blocks = [{weights} for _ in range(self.depth)]" in text
    assert "self.trunk = {'w': trainable(normal(0.1), (self.dim, self.hidden))" in text
    assert "x = dense(self.trunk, x)" in text
    assert "for p in self.blocks:" in text
    # The size of the input is that of the weight that a function of the file multiplies.
    assert "x: Float['*batch dim']" in text


def test_a_list_of_weights_is_told_by_the_function_that_makes_it():
    text = spec(
        """
def layer_params(m, n, key):
    w_key, b_key = random.split(key)
    return random.normal(w_key, (n, m)), random.normal(b_key, (n,))

def init_network(sizes, key):
    keys = random.split(key, len(sizes))
    return [layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]

def predict(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(jnp.dot(w, x) + b)
    w, b = params[-1]
    return jnp.dot(w, x) + b
""",
        JAX,
        "predict",
    )
    assert "for m, n in zip(self.sizes[:-1], self.sizes[1:])]" in text
    assert "for w, b in self.layers[:-1]:" in text
    assert "w, b = self.layers[-1]" in text


def test_a_function_that_fills_weights_gives_initializers():
    text = spec(
        """
def layer_init(layer, std=1.5):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.5)
    return layer

class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.body = layer_init(nn.Linear(dim, 4))
        self.head = layer_init(nn.Linear(4, 1), std=0.01)

    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))
""",
        TORCH,
    )
    given = "kernel_initializer=orthogonal({}), bias_initializer=constant(0.5))"
    assert f"self.body = Linear(self.dim, 4, {given.format(1.5)}" in text
    assert f"self.head = Linear(4, 1, {given.format(0.01)}" in text


@pytest.mark.parametrize("kind", ["weight", "spectral"])
def test_a_norm_of_a_weight_is_a_class_beside(kind: str):
    text = spec(
        f"""
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = {kind}_norm(nn.Conv1d(dim, 4, 3, padding=1))

    def forward(self, x):
        return self.conv(x)
""",
        TORCH,
    )
    title = f"{kind.title()}NormConv1d"
    assert f"class {title}(Layer)" in text
    assert f"self.conv = {title}(self.dim, 4, 3, padding=1)" in text
    assert "x: Float['batch dim " in text
    if kind == "spectral":
        assert "self.weight_u = lax.stop_gradient(u)" in text
    else:
        assert "weight = self.weight_v * (self.weight_g / length)" in text


def test_a_stack_of_encoders_is_a_list_of_layers():
    text = spec(
        """
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, 2, 8, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=depth)

    def forward(self, x, padding):
        return self.encoder(x, src_key_padding_mask=padding)
""",
        TORCH,
    )
    assert "for _ in range(self.depth)]" in text
    # The batch is the second axis of PyTorch's layer where nothing else is said.
    assert "src = jnp.swapaxes(src, 0, 1)" in text
    assert "src = layer(src, mask=~src_key_padding_mask[:, None, None, :])" in text


def test_masks_that_are_numbers_are_compared():
    text = spec(
        """
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.attention(x, x, x, attn_mask=mask)[0]
""",
        TORCH,
    )
    assert "mask=~(mask < 0)" in text
    text = spec(
        """
def causal(n):
    return jnp.tril(jnp.ones((n, n)))

class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        attend = nn.MultiHeadDotProductAttention(num_heads=2)
        return attend(x, x, mask=causal(x.shape[1]))
""",
        LINEN,
    )
    assert "mask=causal(x.shape[1]) != 0" in text


GIVEN = """
class Block(nn.Module):
    filters: int
    conv: ModuleDef
    strides: tuple[int, int] = (1, 1)

    @nn.compact
    def __call__(self, x):
        y = self.conv(self.filters, (3, 3), self.strides)(x)
        if x.shape != y.shape:
            x = self.conv(self.filters, (1, 1), self.strides)(x)
        return x + y

class Thing(nn.Module):
    sizes: tuple[int, ...] = (2, 1)

    @nn.compact
    def __call__(self, x):
        conv = functools.partial(nn.Conv, use_bias=False)
        for i, size in enumerate(self.sizes):
            for j in range(size):
                strides = (2, 2) if i > 0 and j == 0 else (1, 1)
                x = Block(4 * 2**i, strides=strides, conv=conv)(x)
        return x
"""


def test_a_class_makes_the_layers_that_it_is_given():
    text = spec(GIVEN, LINEN)
    assert "self.filters, (3, 3), strides=self.strides, channel_last=True" in text
    assert text.count("use_bias=False") == 2
    assert "conv: " not in text
    # A tuple is no number.
    steps = "self.strides[0] != 1 or self.strides[1] != 1"
    assert f"{steps} or self.in_channels != self.filters" in text
    passes = "[(i, j) for i, size in enumerate(self.sizes) for j in range(size)]"
    assert passes in text
    assert (
        "strides=(2 if i > 0 and j == 0 else 1, 2 if i > 0 and j == 0 else 1)" in text
    )


def test_a_loop_over_literals_that_another_one_depends_on_is_written_out():
    text = spec(
        """
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width, depth in [(8, 1), (16, 2)]:
            x = nn.Dense(width)(x)
            for _ in range(depth):
                x = nn.relu(nn.Dense(width)(x))
        return x
""",
        LINEN,
    )
    assert "Linear(8, 16)" in text
    assert "for _ in range(2)]" in text


def test_cells_that_flax_runs_are_scans():
    text = spec(
        """
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        ahead = nn.RNN(nn.LSTMCell(self.dim))
        back = nn.RNN(nn.GRUCell(self.dim))
        return nn.Dense(2)(nn.Bidirectional(ahead, back)(x))
""",
        LINEN,
    )
    assert "lax.scan(step_0, (jnp.zeros((x.shape[0], self.dim), x.dtype)," in text
    assert "jnp.swapaxes(x, 0, 1), reverse=True)" in text
    assert "self.cell_1 = GRUCell(self.in_features, self.dim)" in text
    assert "self.linear_0 = Linear(2 * self.dim, 2)" in text
    assert "steps_" not in text


def test_a_parameter_that_is_indexed_holds_several_sizes():
    text = spec(
        """
class Thing(nn.Module):
    def __init__(self, dim, window):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(window[0] * window[1], dim))

    def forward(self, x):
        return x + self.bias
""",
        TORCH,
    )
    assert "window: Sizes" in text


def test_random_numbers_of_a_local_are_those_of_the_weight():
    text = spec(
        """
class Thing:
    def __init__(self, dim, low, *, key):
        u = random.uniform(key, (dim,))
        self.rate = u * jnp.log(low) + jnp.log(0.5)
        self.decay = jnp.log(0.5 * jnp.ones((dim,)))

    def __call__(self, x):
        return x * jnp.exp(self.rate) * self.decay
""",
        JAX,
    )
    drawn = "jax.random.uniform(key, shape, dtype) * math.log(self.low) + math.log(0.5)"
    assert f"trainable(lambda key, shape, dtype: {drawn}, (self.dim,))" in text
    # A logarithm of an array is none of math.
    assert "jnp.log(0.5 * jnp.ones(shape, dtype))" in text


LINEN_PRODUCTS = """\
def rounded(x, kernel, *args, **kwargs):
    return lax.conv_general_dilated(jnp.round(x), kernel, *args, **kwargs)


class Thing(nn.Module):
    features: int
    convolve: Any = lax.conv_general_dilated
    dot_general: Callable | None = None

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.features, dot_general=self.dot_general)(x)
        x = nn.DenseGeneral(self.features, dot_general=self.dot_general)(x)
        x = nn.Conv(self.features, (3, 3), conv_general_dilated=rounded)(x)
        x = nn.Conv(self.features, (3, 3), conv_general_dilated=self.convolve)(x)
        return nn.Conv(self.features, (3, 3), conv_general_dilated=None)(x)
"""
LAX = "from jax import lax\n"


def test_products_that_layers_of_linen_are_given_are_those_of_the_layers():
    text = spec(LINEN_PRODUCTS, LINEN + LAX)
    assert "convolve: ConvGeneralDilated = lax.conv_general_dilated" in text
    assert "dot_general: DotGeneral = lax.dot_general" in text
    assert (
        text.count("(self.features, self.features, dot_general=self.dot_general)") == 1
    )
    assert "(self.in_features, self.features, dot_general=self.dot_general)" in text
    assert "conv_general_dilated=rounded)" in text
    assert "conv_general_dilated=self.convolve)" in text
    assert "None" not in text


def test_products_that_layers_of_nnx_are_given_are_those_of_the_layers():
    text = spec(
        """\
class Thing(nnx.Module):
    def __init__(self, features, *, dot_general=None, rngs):
        self.dense = nnx.Linear(features, features, dot_general=dot_general, rngs=rngs)
        self.conv = nnx.Conv(
            features, features, (3,), conv_general_dilated=convolved, rngs=rngs
        )

    def __call__(self, x):
        return self.conv(self.dense(x))


def convolved(*args, **kwargs):
    return lax.conv_general_dilated(*args, **kwargs)
""",
        "from flax import nnx\n" + LAX,
    )
    assert "dot_general: DotGeneral = lax.dot_general" in text
    assert "Linear(self.features, self.features, dot_general=self.dot_general)" in text
    assert "channel_last=True, conv_general_dilated=convolved)" in text


def test_a_class_of_products_is_not_left_out_without_a_word():
    body = LINEN_PRODUCTS.replace(
        "conv_general_dilated=None", "conv_general_dilated_cls=Any"
    )
    body = body.replace("dot_general=self.", "dot_general_cls=self.")
    notes = convert("thing.py", LINEN + LAX + body, "Thing", "FromThing", "LAYER").notes
    assert [n.blocks for n in notes] == [True] * 3
    assert "`dot_general_cls=self.dot_general`" in notes[0].what


FIELDS = """\
class Mlp(nn.Module):
    width: int
    rate: float = 0.0
    name: str | None = None

    @nn.compact
    def __call__(self, x):
        y = nn.gelu(nn.Dense(self.width)(x))
        return nn.Dropout(self.rate, deterministic=True)(nn.Dense(x.shape[-1])(y))


class Block(nn.Module):
    mlp: Mlp
    norm: nn.Module

    def __call__(self, x):
        return self.norm(x + self.mlp(x))


class Thing(nn.Module):
    width: int = 16
    rate: float = 0.1
    depth: int = 2

    def setup(self):
        self.blocks = [
            Block(mlp=Mlp(width=self.width, rate=self.rate, name=f"mlp_{i}"), norm=nn.LayerNorm())
            for i in range(self.depth)
        ]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""


def test_layers_that_fields_are_given_are_made_of_what_their_maker_has():
    text = spec(FIELDS, LINEN)
    assert "Mlp(self.in_features, width=self.width, rate=self.rate)" in text
    assert "self.norm = LayerNorm(self.in_features, epsilon=1e-06)" in text
    block = text.split("class Block")[1].split("class ")[0]
    assert "    width: Size\n" in block
    assert "    rate: Probability\n" in block
    assert "Block(self.in_features, rate=self.rate, width=self.width)" in text


def test_layers_that_two_classes_give_a_field_of_what_they_have_stay():
    other = FIELDS.replace("class Thing", "class Other").partition("class Other")
    both = FIELDS + "\n\n" + other[1] + other[2].replace("self.width", "2 * self.width")
    made = convert("thing.py", LINEN + "\n\n" + both, "Thing", "Thing")
    assert any("`mlp` is a layer that is given" in n.what for n in made.notes)
