"""Forms in which people write for libraries of jax: sizes of branches, lists, numbers of calls, pairs."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nfrom typing import Any, Optional\n\n\n"
NNX = "from flax import nnx\nimport jax\nimport jax.numpy as jnp\n\n\n"
HAIKU = "import haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (
            "if self.out is None:\n            dim = x.shape[-1]\n        else:\n            dim = self.out",
            "self.in_features if self.out is None else self.out",
        ),
        (
            "dim = self.out\n        if dim is None:\n            dim = x.shape[-1]",
            "self.in_features if self.out is None else self.out",
        ),
        ("dim = self.out or x.shape[-1]", "self.out or self.in_features"),
        (
            "dim = 4\n        if self.wide:\n            dim = 8",
            "8 if self.wide else 4",
        ),
    ],
)
def test_sizes_that_branches_of_a_body_set_are_chosen_in_setup(lines, size):
    text = converted(
        f"""\
class Thing(nn.Module):
    out: Optional[int] = None
    wide: bool = False

    @nn.compact
    def __call__(self, x):
        {lines}
        return nn.Dense(dim)(x)
""",
        LINEN,
    ).text
    assert f"Linear(self.in_features, {size})" in text


def test_a_number_of_hidden_units_is_one_size():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, num_hiddens, name=None):
        super().__init__(name=name)
        self._linear = hk.Linear(num_hiddens)

    def __call__(self, x):
        return self._linear(x)
""",
        HAIKU,
    ).text
    assert "num_hiddens: Size\n" in text


def test_attention_of_nnx_drops_in_training_where_it_is_told_so():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, heads: int, rate: float, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(
            heads, dim, dropout_rate=rate, broadcast_dropout=False, deterministic=False,
            decode=False, rngs=rngs,
        )

    def __call__(self, x):
        return self.attention(x)
""",
        NNX,
    ).text
    assert "MultiHeadAttention(self.dim, self.heads, dropout_rate=self.rate" in text


EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\nimport jax.random as jr\n\n\n"


def stack(lines: str) -> str:
    """A stack whose constructor fills its list by these lines."""
    return f"""\
class Thing(eqx.Module):
    layers: list

    def __init__(self, dim, width, depth, *, key):
        keys = jr.split(key, depth + 1)
{lines}
    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return self.layers[-1](x)
"""


PARTS = (
    "for layers_in_features, layers_out_features in "
    "[(self.dim, self.width), *[(self.width, self.width) for {} in range(self.depth - 1)], "
    "(self.width, self.dim)]"
)


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (
            """\
        layers = [eqx.nn.Linear(dim, width, key=keys[0])]
        for i in range(depth - 1):
            layers.append(eqx.nn.Linear(width, width, key=keys[i + 1]))
        layers.append(eqx.nn.Linear(width, dim, key=keys[-1]))
        self.layers = layers
""",
            PARTS.format("i"),
        ),
        (
            """\
        self.layers = (
            [eqx.nn.Linear(dim, width, key=keys[0])]
            + [eqx.nn.Linear(width, width, key=k) for k in keys[1:-1]]
            + [eqx.nn.Linear(width, dim, key=keys[-1])]
        )
""",
            PARTS.format("_"),
        ),
        (
            """\
        self.layers = []
        size = dim
        for k in keys[:-1]:
            self.layers.append(eqx.nn.Linear(size, width, key=k))
            size = width
        self.layers.append(eqx.nn.Linear(width, dim, key=keys[-1]))
""",
            "[*[(self.dim if i == 0 else self.width, self.width) for i in range(self.depth)], "
            "(self.width, self.dim)]",
        ),
    ],
)
def test_a_list_of_one_class_is_a_comprehension_over_what_each_is_given(lines, parts):
    text = converted(stack(lines), EQUINOX).text
    assert parts in text
    assert "x: Float['*batch dim']" in text


def test_a_number_for_all_examples_is_beside_one_example():
    text = converted(
        """\
class Thing(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, *, key):
        self.linear = eqx.nn.Linear(dim + 1, dim, key=key)

    def __call__(self, t, y, args):
        return self.linear(jnp.concatenate([jnp.asarray(t)[None], y]))
""",
        EQUINOX,
    ).text
    assert "def forward(self, t: Float['']" in text
    assert "args" not in text


def test_a_loop_over_layers_decides_what_literals_tell():
    text = converted(
        """\
class Thing(eqx.Module):
    layers: list
    skip: int

    def __init__(self, dim, *, key):
        k1, k2 = jr.split(key)
        self.layers = [eqx.nn.Linear(dim, dim, key=k1), eqx.nn.Linear(2 * dim, dim, key=k2)]
        self.skip = 1

    def __call__(self, x):
        h = x
        for i, layer in enumerate(self.layers):
            if i == self.skip:
                h = jnp.concatenate([h, x])
            h = layer(h)
            if i < len(self.layers) - 1:
                h = jax.nn.relu(h)
        return h
""",
        EQUINOX,
    ).text
    assert "== self.skip" not in text
    assert "if 0 < 2 - 1:" in text or "h = self.layers_0(h)\n        h = jax" in text
    assert "x: Float['dim']" in text


def test_a_number_that_a_call_may_be_given_is_a_hyperparameter():
    made = converted(
        """\
class Thing(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x, temperature: float = 1.0):
        return nn.Dense(self.features)(x) / temperature
""",
        LINEN,
    )
    assert "temperature: Positive = 1.0" in made.text
    assert "return self.linear_0(x) / self.temperature" in made.text
    assert "`temperature` of the call is a hyperparameter" in {
        n.what for n in made.notes
    }


def test_layers_of_a_loop_that_may_not_be_there_are_asked_for_by_number():
    text = converted(
        """\
class Thing(nn.Module):
    widths: tuple[int, ...]
    rate: Optional[float] = None

    @nn.compact
    def __call__(self, x, train: bool = False):
        for size in self.widths:
            x = nn.Dense(size)(x)
            if self.rate is not None:
                x = nn.Dropout(self.rate)(x, deterministic=not train)
        return x
""",
        LINEN,
    ).text
    assert (
        "for (number, size), linear in zip(enumerate(self.widths), self.linears):"
        in text
    )
    assert "x = self.dropouts[number](x)" in text


def test_recurrent_layers_of_setup_are_run_where_they_are_called():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    def setup(self):
        self.encoder = nn.Bidirectional(
            nn.RNN(nn.OptimizedLSTMCell(self.size)), nn.RNN(nn.OptimizedLSTMCell(self.size))
        )

    def __call__(self, x):
        return self.encoder(x)
""",
        LINEN,
    ).text
    assert text.count("= LSTMCell(self.in_features, self.size)") == 2
    assert "reverse=True" in text


PLAIN = "import jax\nimport jax.numpy as jnp\n\n\n"


def test_functions_that_make_weights_are_written_out():
    text = converted(
        """\
def init_Thing(key, dim: int, hidden: int):
    def dense(key, n_in, n_out):
        scale = jnp.sqrt(2.0 / n_in)
        return {"w": scale * jax.random.normal(key, (n_in, n_out)), "b": jnp.zeros(n_out)}

    k1, k2 = jax.random.split(key)
    return {"up": dense(k1, dim, hidden), "down": dense(k2, hidden, dim)}


def Thing(params, x):
    h = jnp.tanh(x @ params["up"]["w"] + params["up"]["b"])
    return h @ params["down"]["w"] + params["down"]["b"]
""",
        PLAIN,
    ).text
    assert (
        "'w': trainable(normal(math.sqrt(2.0 / self.dim)), (self.dim, self.hidden))"
        in text
    )
    assert "'b': trainable(zeros, (self.dim,))" in text


def test_what_chooses_rows_of_a_weight_is_an_index():
    text = converted(
        """\
def init_Thing(key, entries: int, dim: int):
    return {"table": 0.1 * jax.random.normal(key, (entries, dim))}


def Thing(params, tokens_of):
    return params["table"][tokens_of]
""",
        PLAIN,
    ).text
    assert "tokens_of: Int['*shape']" in text


def test_a_core_of_haiku_is_scanned_over_time():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, vocab, size, name=None):
        super().__init__(name=name)
        self.vocab = vocab
        self.size = size

    def __call__(self, tokens):
        core = hk.LSTM(self.size)
        x = jax.nn.one_hot(tokens, self.vocab)
        ys, _ = hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))
        return hk.BatchApply(hk.Linear(self.vocab))(ys)
""",
        HAIKU,
    ).text
    assert "_, ys = jax.lax.scan(step_0, (jnp.zeros((x.shape[1], self.size)" in text
    assert "jax.nn.one_hot(tokens, self.vocab, dtype=self.core.kernel.dtype)" in text
    assert "return self.linear_0(ys)" in text


def test_the_state_that_a_core_is_given_is_a_pair():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.core = hk.LSTM(size)

    def __call__(self, x, state):
        return self.core(x, state)
""",
        HAIKU,
    ).text
    assert "state: tuple[Float['*batch size'], Float['*batch size']]" in text


def test_images_are_as_high_as_what_is_flattened_says():
    text = converted(
        """\
class Thing(eqx.Module):
    conv: eqx.nn.Conv2d
    linear: eqx.nn.Linear

    def __init__(self, *, key):
        k1, k2 = jr.split(key)
        self.conv = eqx.nn.Conv2d(1, 4, 3, stride=2, padding=1, key=k1)
        self.linear = eqx.nn.Linear(4 * 14 * 14, 10, key=k2)

    def __call__(self, x):
        return self.linear(jnp.ravel(jax.nn.relu(self.conv(x))))
""",
        EQUINOX,
    ).text
    assert "'x': (1, 28, 28)" in text


def test_a_configuration_may_be_a_mapping_and_there_may_be_several():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, config, global_config, name=None):
        super().__init__(name=name)
        self.config = config
        self.global_config = global_config

    def __call__(self, x):
        size = self.config.get("size", int(x.shape[-1]))
        if self.global_config.zero_init:
            init = hk.initializers.Constant(0.0)
        else:
            init = hk.initializers.RandomNormal(0.1)
        w = hk.get_parameter("w", (x.shape[-1], size * self.config["heads"]), init=init)
        return x @ w
""",
        HAIKU,
    ).text
    assert "config_size: Size | None = None" in text
    assert "zero_init: bool\n" in text
    assert "heads: Size\n" in text
    assert "trainable(constant(0.0) if self.zero_init else normal(0.1)" in text


def test_what_is_asserted_of_hyperparameters_is_required_in_setup():
    text = converted(
        """\
class Thing(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x):
        dim = x.shape[-1]
        assert dim % self.heads == 0
        w = self.param("w", nn.initializers.normal(), (self.heads, dim // self.heads))
        return x * w.reshape(-1)
""",
        LINEN,
    ).text
    assert (
        "def setup(self):\n        require(self.in_features % self.heads == 0" in text
    )


def test_a_function_of_haiku_takes_its_defaults_as_hyperparameters():
    text = converted(
        """\
def Thing(obs, actions=6, hidden=64):
    x = jax.nn.relu(hk.Linear(hidden)(obs))
    return hk.Linear(actions)(x)
""",
        HAIKU,
    ).text
    assert "actions: Size = 6\n    hidden: Size = 64\n" in text
    assert "Linear(self.hidden, self.actions)" in text


def test_a_loop_over_several_numbers_for_each_layer_is_written_out():
    text = converted(
        """\
def Thing(x):
    for channels, kernel, stride in ((16, 8, 4), (32, 4, 2)):
        x = jax.nn.relu(hk.Conv2D(channels, kernel, stride, padding="VALID")(x))
    return hk.Linear(3)(hk.Flatten()(x))
""",
        HAIKU,
    ).text
    assert "Conv(2, self.in_channels, 16, 8, strides=4" in text
    assert "Conv(2, 16, 32, 4, strides=2" in text
    assert "'height': 28" in text


@pytest.mark.parametrize(
    "product",
    [
        "int(jnp.prod(jnp.array(shape)))",
        "int(np.prod(shape))",
        "int(jnp.prod(jnp.asarray(shape)))",
    ],
)
def test_products_of_sizes_are_numbers_of_python(product):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim: int, shape: tuple[int, ...], rngs: nnx.Rngs):
        self.shape = shape
        self.out = nnx.Linear(dim, {product}, rngs=rngs)

    def __call__(self, x):
        return self.out(x).reshape((-1, *self.shape))
""",
        NNX + "import numpy as np\n\n\n",
    ).text
    assert "Linear(self.dim, math.prod(self.shape))" in text


def test_what_is_flattened_for_a_layer_of_the_file_is_as_large_as_that_says():
    text = converted(
        """\
class Encoder(nnx.Module):
    def __init__(self, din: int, rngs: nnx.Rngs):
        self.linear = nnx.Linear(din, 4, rngs=rngs)
        self.rngs = rngs

    def __call__(self, x):
        x = x.reshape((x.shape[0], -1))
        mean = self.linear(x)
        key = self.rngs.noise()
        return mean + 0.1 * jax.random.normal(key, mean.shape)


class Thing(nnx.Module):
    def __init__(self, din: int, rngs: nnx.Rngs):
        self.encoder = Encoder(din, rngs=rngs)

    def __call__(self, x):
        return self.encoder(x)
""",
        NNX,
    ).text
    assert text.count("'x': (2, 8)") == 2
    assert "noise" not in text


def test_what_is_cut_of_one_example_has_one_axis():
    text = converted(
        """\
class Thing(eqx.Module):
    mlp: eqx.nn.MLP
    size: int

    def __init__(self, dim: int, size: int, *, key):
        self.size = size
        self.mlp = eqx.nn.MLP(dim, 2 * size, 8, depth=1, key=key)

    def __call__(self, x):
        params = self.mlp(x)
        return params[: self.size] * params[self.size :]
""",
        EQUINOX,
    ).text
    assert "x: Float['dim']" in text


def test_an_array_that_begins_as_another_one_is_declared_as_that_is():
    made = converted(
        """\
class Thing:
    def __init__(self, dim, key=None):
        self.scale = jnp.ones((dim,))
        self.average = self.scale

    def __call__(self, x, training=False):
        if training:
            self.average = 0.9 * self.average + 0.1 * x.mean(0)
        return x * self.scale - self.average
""",
        PLAIN,
    )
    assert "self.average = state(ones, (self.dim,))" in made.text


def test_what_is_pooled_over_the_second_axis_is_a_sequence():
    text = converted(
        """\
class Thing(nn.Module):
    hidden: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(self.hidden)(x))
        return nn.Dense(3)(x.mean(axis=1))
""",
        LINEN,
    ).text
    assert "x: Float['batch positions in_features']" in text
    assert "Linear(self.hidden, 3)" in text


def test_another_name_of_the_size_of_an_input_is_that_size():
    made = converted(
        """\
def Thing(out_dim):
    def init_fun(rng, input_shape):
        in_dim = input_shape[-1]
        W = jax.random.normal(rng, (in_dim, out_dim)) / jnp.sqrt(in_dim)
        return input_shape[:-1] + (out_dim,), (W, jnp.zeros((out_dim,)))

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return inputs @ W + b

    return init_fun, apply_fun
""",
        PLAIN,
    )
    assert "inputs: Float['*batch in_features']" in made.text
    assert made.trial is not None


RESET = """\
class Core(nn.Module):
    @functools.partial(
        nn.scan,
        variable_broadcast="params",
        in_axes={axes},
        out_axes={axes},
        split_rngs={{"params": False}},
    )
    @nn.compact
    def __call__(self, carry, x):
        ins, resets = x
        start = self.initialize_carry(ins.shape[0], ins.shape[1])
        carry = jnp.where(resets[:, None], start, carry)
        return nn.GRUCell(ins.shape[1])(carry, ins)

    @staticmethod
    def initialize_carry(batch, size):
        cell = nn.GRUCell(size)
        return cell.initialize_carry(jax.random.key(0), (batch, size))


class Thing(nn.Module):
    actions: int

    @nn.compact
    def __call__(self, carry, x):
        obs, resets = x
        y = nn.Dense(16)(obs)
        carry, y = Core()(carry, (y, resets))
        return carry, nn.Dense(self.actions)(y)
"""


@pytest.mark.parametrize("axes", [0, 1])
def test_a_method_that_is_scanned_resets_what_it_carries(axes):
    made = converted(RESET.format(axes=axes), "import functools\n" + LINEN)
    text, turned = made.text, "jnp.swapaxes(x_0, 0, 1), jnp.swapaxes(x_1, 0, 1)"
    assert "jnp.zeros((ins.shape[0], ins.shape[1]), dtype=carry.dtype)" in text
    assert "carry = self.gru_cell_0(ins, carry)[::-1]" not in text
    assert "return self.gru_cell_0(ins, carry)[::-1]" in text
    assert (f"lax.scan(step, carry, ({turned}))" in text) == bool(axes)
    assert ("return (carry, jnp.swapaxes(y, 0, 1))" in text) == bool(axes)
    if not axes:
        given = "tuple[Float['time batch in_features'], Float['time batch']]"
        assert f"carry: Float['batch 16'], x: {given}" in text
        assert made.trial is not None
        assert dict(made.trial.inputs) == {"carry": (2, 16), "x": ((5, 2, 8), (5, 2))}


def test_a_function_of_a_layer_is_scanned_as_a_step():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, carry, xs):
        cell = nn.GRUCell(self.size)
        return nn.scan(lambda layer, c, x: layer(c, x), variable_broadcast="params")(
            cell, carry, xs
        )
""",
        LINEN,
    ).text
    assert "def step_0(c, x):\n            return self.cell(x, c)[::-1]" in text
    assert "return lax.scan(step_0, carry, xs)" in text


def test_a_tuple_that_a_method_takes_apart_is_one_of_arrays():
    made = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, inputs):
        (user, item), bias = inputs
        return nn.Dense(4)(user) * nn.Dense(4)(item) + bias
""",
        LINEN,
    )
    assert made.trial is not None
    assert made.trial.inputs == (("inputs", (((2, 8), (2, 8)), (2, 4))),)


def test_masks_of_pairs_and_of_all_that_are_there_are_written_out():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, tokens, mask=None):
        pad = nn.make_attention_mask(tokens > 0, tokens > 0)
        own = nn.make_attention_mask(tokens, tokens, pairwise_fn=jnp.equal)
        mask = nn.combine_masks(pad, nn.make_causal_mask(tokens), own, mask)
        x = nn.Embed(8, 16)(tokens)
        return nn.SelfAttention(num_heads=2)(x, mask=mask)
""",
        LINEN,
    ).text
    both = "jnp.logical_and((tokens > 0)[..., None], (tokens > 0)[..., None, :])"
    assert f"pad = {both}[..., None, :, :]" in text
    assert "jnp.equal(tokens[..., None], tokens[..., None, :])[..., None, :, :]" in text
    assert "if mask is None else jnp.logical_and(" in text


@pytest.mark.parametrize(
    "lines",
    [
        "rate = self.rate if is_training else 0.0\n"
        "        return hk.dropout(hk.next_rng_key(), rate, hk.Linear(4)(x))",
        "x = hk.Linear(4)(x)\n"
        "        return hk.dropout(hk.next_rng_key(), self.rate if is_training else 0.0, x)",
    ],
)
def test_a_rate_that_is_zero_in_inference_is_that_of_a_dropout(lines):
    text = converted(
        f"""\
class Thing(hk.Module):
    def __init__(self, rate, name=None):
        super().__init__(name=name)
        self.rate = rate

    def __call__(self, x, is_training):
        {lines}
""",
        HAIKU,
    ).text
    assert "Dropout(self.rate)" in text
    assert "rate =" not in text.partition("def forward")[2]


def test_a_module_of_haiku_may_be_a_dataclass():
    text = converted(
        """\
@dataclasses.dataclass
class Thing(hk.Module):
    size: int
    name: Optional[str] = None

    def __call__(self, x):
        return hk.Linear(self.size)(x)
""",
        "import dataclasses\nfrom typing import Optional\n" + HAIKU,
    ).text
    assert "    size: Size\n" in text
    assert "Linear(self.in_features, self.size)" in text


def test_indices_of_rows_and_of_segments_are_integers():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, nodes, edges, senders, receivers):
        sent = jnp.concatenate([nodes[senders], edges], axis=-1)
        got = nn.Dense(self.size)(sent)
        got = jax.ops.segment_sum(got, receivers, num_segments=nodes.shape[0])
        return nn.Dense(self.size)(jnp.concatenate([nodes, got], axis=-1))
""",
        LINEN,
    ).text
    assert "edges: Float['items edges_features']" in text
    assert "senders: Int['items'], receivers: Int['items']" in text


def test_what_a_call_says_of_its_arrays_is_taken_to_hold():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, inputs, x):
        assert inputs.ndim == 2
        assert len(x.shape) == 3
        return nn.Embed(8, 4)(jnp.roll(inputs.astype("int32"), 1)), nn.Dense(4)(x)
""",
        LINEN,
    ).text
    assert "inputs: Int['batch positions'], x: Float['batch2 positions2 " in text


def test_classes_of_layers_that_fields_are_by_default_are_written_in_their_places():
    made = converted(
        """\
class Block(nn.Module):
    size: int
    conv: Any
    norm: Any

    @nn.compact
    def __call__(self, x):
        return nn.relu(self.norm()(self.conv(self.size, (3, 3))(x)))


class Net(nn.Module):
    sizes: Any
    block: Any = Block
    conv: Any = nn.Conv

    @nn.compact
    def __call__(self, x, train=True):
        conv = partial(self.conv, use_bias=False)
        norm = partial(nn.BatchNorm, use_running_average=not train)
        for i, count in enumerate(self.sizes):
            for _ in range(count):
                x = self.block(8 * 2**i, conv=conv, norm=norm)(x)
        return jnp.mean(x, axis=(1, 2))


Thing = partial(Net, sizes=[2, 2], block=Block)
""",
        "from functools import partial\n" + LINEN,
    )
    assert "sizes: Sizes = (2, 2)" in made.text
    assert "class Block(Layer)" in made.text
    assert "class Net(" not in made.text
    assert [n.what for n in made.notes] == [
        "`block` of Thing is Block",
        "`conv` of Thing is nn.Conv",
    ]


def test_a_function_that_makes_a_module_is_that_module():
    text = converted(
        """\
class Net(nn.Module):
    sizes: Any
    classes: int = 10

    @nn.compact
    def __call__(self, x):
        for size in self.sizes:
            x = nn.relu(nn.Dense(size)(x))
        return nn.Dense(self.classes)(x)


def Thing(classes):
    return Net([32, 16], classes=classes)
""",
        LINEN,
    ).text
    assert "sizes: Sizes = (32, 16)" in text
    assert "classes: Size = 10" in text


def test_sizes_that_every_pass_halves_are_halved_as_often():
    text = converted(
        """\
class Thing(nn.Module):
    widths: tuple = (8, 16)

    @nn.compact
    def __call__(self, x):
        for width in self.widths:
            x = nn.max_pool(nn.Conv(width, (3, 3))(x), (2, 2), strides=(2, 2))
        return nn.Dense(4)(x.reshape((x.shape[0], -1)))
""",
        LINEN,
    ).text
    assert "self.height // 2 ** len(self.widths)" in text


def test_several_layers_that_flax_maps_are_a_list():
    text = converted(
        """\
class Critic(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, a):
        return nn.Dense(1)(nn.relu(nn.Dense(self.size)(jnp.concatenate([x, a], -1))))


class Thing(nn.Module):
    size: int
    count: int = 2

    @nn.compact
    def __call__(self, x, a):
        many = nn.vmap(
            Critic,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            in_axes=None,
            out_axes=0,
            axis_size=self.count,
        )
        return many(self.size)(x, a)
""",
        LINEN,
    ).text
    made = "Critic(self.in_features, size=self.size, a_features=self.a_features)"
    assert f"self.critics = [{made} for _ in range(self.count)]" in text
    assert "members_0.append(critic(x, a))" in text
    assert "return jnp.stack(members_0, axis=0)" in text


def test_what_scans_numbers_goes_over_times_of_several_examples():
    made = converted(
        """\
def thing(rewards, last, gamma=0.9):
    def step(carry, reward):
        carry = reward + gamma * carry
        return carry, carry

    return jax.lax.scan(step, last, rewards, reverse=True)
""",
        LINEN,
        "FUNCTION",
    )
    assert "rewards: Float['time batch']" in made.text
    assert "last: Float['batch']" in made.text


def test_a_function_that_is_mapped_is_mapped_where_it_is_used():
    text = converted(
        """\
@jax.vmap
def combine(one, other):
    return one[0] * other[0], other[0] * one[1] + other[1]


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        decay = self.param("decay", nn.initializers.ones, (x.shape[-1],))
        steps = jnp.broadcast_to(decay, x.shape)
        return jax.lax.associative_scan(combine, (steps, x))[1]
""",
        LINEN,
    ).text
    assert "@" not in text.partition("def combine")[0].partition("Layer")[2]
    assert "jax.lax.associative_scan(jax.vmap(combine), (steps, x))" in text


def test_a_rule_that_is_none_is_left_out_and_tables_are_set_part_by_part():
    made = converted(
        """\
def table(length, size):
    made = np.zeros((length, size), dtype=np.float32)
    made[:, ::2] = np.sin(np.arange(length))[:, None]
    made[:, 1::2] += 1.0
    return jnp.array(made)


class Thing(nn.Module):
    length: int
    pos_init: Optional[Any] = None

    @nn.compact
    def __call__(self, x):
        if self.pos_init is None:
            where = table(self.length, x.shape[-1])
        else:
            where = self.param("where", self.pos_init, (self.length, x.shape[-1]))
        return x + where[: x.shape[1]]
""",
        "import numpy as np\n" + LINEN,
    )
    assert "made = made.at[:, ::2].set(jnp.sin(" in made.text
    assert "made = made.at[:, 1::2].add(1.0)" in made.text
    assert "self.where" not in made.text
    assert [n.what for n in made.notes] == [
        "`pos_init` of Thing, which is None, is left out"
    ]


def test_a_mask_that_is_multiplied_by_numbers_is_compared():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, mask):
        n = x.shape[1]
        causal = jnp.tril(jnp.ones((1, 1, n, n)))
        mask = mask[:, None, None, :] * causal
        return nn.SelfAttention(num_heads=2)(x, mask=mask)
""",
        LINEN,
    ).text
    assert "mask=mask != 0" in text


def test_a_number_of_what_makes_a_pair_is_read_by_both():
    text = converted(
        """\
def Thing(size, eps=1e-5):
    def init_fun(rng, input_shape):
        w = jax.random.normal(rng, (input_shape[-1], size))
        return input_shape[:-1] + (size,), {"w": w}

    def apply_fun(params, x, **kwargs):
        return x @ params["w"] / (1 + eps)

    return init_fun, apply_fun
""",
        "import jax\nimport jax.numpy as jnp\n\n\n",
    ).text
    assert "x @ self.w / (1 + self.eps)" in text


def test_layers_that_flax_scans_one_after_another_are_a_list():
    text = converted(
        """\
class Block(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, _):
        return x + nn.Dense(self.size)(x), None


class Thing(nn.Module):
    size: int
    depth: int

    @nn.compact
    def __call__(self, x):
        block = nn.remat(Block, prevent_cse=False)
        x, _ = nn.scan(
            block,
            variable_axes={"params": 0},
            split_rngs={"params": True},
            length=self.depth,
        )(self.size, name="layers")(x, None)
        return x
""",
        LINEN,
    ).text
    assert "self.layers = [Block(self.size) for _ in range(self.depth)]" in text
    assert "for layer in self.layers:\n            x, _ = layer(x)\n" in text
    assert "def forward(self, x: Float['*batch size']):" in text


def test_a_rate_that_is_divided_by_one_less_of_is_below_one():
    text = converted(
        """\
class Depth(nn.Module):
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, deterministic):
        if deterministic:
            return x
        keep = 1.0 - self.rate
        mask = jax.random.bernoulli(self.make_rng("dropout"), keep, (x.shape[0], 1))
        return x / keep * mask


class Thing(nn.Module):
    drop_rate: float = 0.1

    @nn.compact
    def __call__(self, x, train):
        return Depth(0.5 * self.drop_rate)(x, deterministic=not train)
""",
        LINEN,
    ).text
    assert "    rate: Decay = 0.0" in text
    assert "    drop_rate: Decay = 0.1" in text


def test_what_equinox_scans_is_one_example():
    made = converted(
        """\
class Thing(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, size: int, *, key):
        self.linear = eqx.nn.Linear(size, size, key=key)

    def __call__(self, x):
        def step(x, _):
            x = x + self.linear(x)
            return x, x

        return jax.lax.scan(step, x, None, length=3)[1]
""",
        "import equinox as eqx\nimport jax\n\n\n",
    )
    assert "x: Float['size']" in made.text
    assert made.trial is not None
    assert made.trial.mapped == 0


def test_a_part_that_a_loop_counts_has_the_other_axes():
    text = converted(
        """\
class Thing:
    def __init__(self, size, hidden):
        self.w = np.ones((size + hidden, hidden))

    def forward(self, x):
        n, t, _ = x.shape
        h = np.zeros((n, self.w.shape[1]))
        for i in range(t):
            h = np.tanh(np.concatenate([x[:, i, :], h], axis=1) @ self.w)
        return h
""",
        "import numpy as np\n\n\n",
    ).text
    assert "x: Float['n t size']" in text


def test_a_lambda_that_branches_choose_is_made_in_each_branch():
    text = converted(
        """\
class Thing(nn.Module):
    norm: str = "layer"

    @nn.compact
    def __call__(self, x):
        if self.norm == "layer":
            normalize = lambda x: nn.LayerNorm()(x)
        else:
            normalize = lambda x: x
        x = nn.Dense(8)(x)
        x = normalize(x)
        x = nn.Dense(4)(x)
        x = normalize(x)
        return x
""",
        LINEN,
    ).text
    assert "self.layer_norm_0 = LayerNorm(8, epsilon=1e-06) if self.norm ==" in text
    assert "self.layer_norm_1 = LayerNorm(4, epsilon=1e-06) if self.norm ==" in text
    assert "x = self.layer_norm_1(x)" in text


def test_a_size_is_told_by_the_default_of_what_a_layer_is_not_given():
    text = converted(
        """\
class Heads(nn.Module):
    size: int
    heads: int = 2

    @nn.compact
    def __call__(self, x):
        b, n, _ = x.shape
        return nn.Dense(self.heads * self.size)(x).reshape(b, n, self.heads * self.size)


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(Heads(self.size)(x))
""",
        LINEN,
    ).text
    assert "Linear(2 * self.size, 4)" in text
