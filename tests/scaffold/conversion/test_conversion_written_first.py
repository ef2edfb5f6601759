"""What people try first: a small layer, a counter, a loop, a function that is given."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax import HAIKU, LINEN, NNX

from mlax_scaffold.conversion import convert

EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"
NUMPY = "import numpy as np\n\n\n"


def test_functions_of_inner_modules_are_those_of_the_library():
    text = converted(
        """\
class State(NamedTuple):
    count: jax.Array
    mu: base.Updates


def thing(b1=0.9):
    def init_fn(params):
        return State(jnp.zeros([], jnp.int32), otu.tree_zeros_like(params))

    def update_fn(updates, state, params=None):
        mu = otu.tree_update_moment(updates, state.mu, b1, 1)
        count = numerics.safe_increment(state.count)
        return otu.tree_bias_correction(mu, b1, count), State(count, mu)

    return base.GradientTransformation(init_fn, update_fn)
""",
        "from typing import NamedTuple\nimport jax\nimport jax.numpy as jnp\n"
        "from optax import tree_utils as otu\nfrom optax._src import base, numerics\n\n\n"
        "def Thing(b1=0.9):\n    return thing(b1)\n\n\n",
        "OPTIMIZER",
    )
    assert "self.mu = moment(zeros, param.shape)" in text.text


def test_an_axis_is_not_called_almost_as_a_hyperparameter_is():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.size = size

    def __call__(self, x, mask=None):
        keys = hk.Linear(self.size, name="keys")(x)
        if mask is not None:
            keys = jnp.where(mask[..., None, :], keys, 0.0)
        return keys
""",
        HAIKU,
    ).text
    assert "in_features: Size" in text
    assert "features'] | None" not in text.replace("in_features", "")


def test_a_loop_that_splits_its_key_makes_layers():
    text = converted(
        """\
class Thing(eqx.Module):
    layers: list
    out: eqx.nn.Linear

    def __init__(self, width, depth, *, key):
        self.layers = []
        for _ in range(depth):
            key, subkey = jax.random.split(key)
            self.layers.append(eqx.nn.Linear(width, width, key=subkey))
        key, subkey = jax.random.split(key)
        self.out = eqx.nn.Linear(width, 1, key=subkey)

    def __call__(self, x):
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return self.out(x)
""",
        EQUINOX,
    ).text
    assert "for _ in range(self.depth)]" in text.replace("\n", "")
    assert "split" not in text


def test_a_number_that_calls_change_is_a_state():
    text = converted(
        """\
class Thing:
    def __init__(self, dim, prior=1e-4):
        self.mean = np.zeros(dim)
        self.count = prior
        self.calls = 0

    def __call__(self, x):
        total = self.count + x.shape[0]
        self.mean = self.mean + (x.mean(axis=0) - self.mean) * x.shape[0] / total
        self.count = total
        self.calls = self.calls + 1
        return x - self.mean
""",
        NUMPY,
    ).text
    assert "self.count = state(constant(self.prior), ())" in text
    assert "self.calls = state(zeros, (), jnp.int32)" in text


def test_what_a_call_is_always_given_is_decided_in_a_class_without_a_library():
    made = converted(
        """\
class Thing:
    def __init__(self, dim):
        self.mean = np.zeros(dim)

    def __call__(self, x, update=True):
        if update:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(axis=0)
        return x - self.mean
""",
        NUMPY,
    )
    assert "def forward(self, x: Float['*batch dim'])" in made.text
    assert "always its default, `True`" in str(made.notes)


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("for _ in range(steps):\n            x = nn.relu(x) + x", "range(2)"),
        ("x = x.repeat(steps, axis=-1)", "x.repeat(2, axis=-1)"),
    ],
)
def test_a_number_of_a_call_stays_where_no_layer_is_called(statement, written):
    text = converted(
        f"""\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, steps=2):
        x = nn.Dense(8)(x)
        {statement}
        return x
""",
        LINEN,
    ).text
    assert written in text or "for _ in [0, 1]" in text


def test_a_layer_that_every_pass_calls_takes_what_it_returns():
    text = converted(
        """\
class Thing(nn.Module):
    def setup(self):
        self.layer = nn.Dense(8)

    def __call__(self, x):
        for _ in range(2):
            x = self.layer(x)
        return x
""",
        LINEN,
    ).text
    assert "self.layer = Linear(8, 8)" in text
    assert "x: Float['*batch 8']" in text


def test_weights_of_a_list_begin_with_the_sizes_that_its_list_of_sizes_begins_with():
    text = converted(
        """\
def init_Thing(key, in_dim=2, hidden=32, out_dim=3, depth=3):
    dims = [in_dim] + [hidden] * depth + [out_dim]
    params = []
    for m, n in zip(dims[:-1], dims[1:]):
        key, sub = jax.random.split(key)
        params.append({"w": jax.random.normal(sub, (m, n)), "b": jnp.zeros((n,))})
    return params


def apply_Thing(params, x):
    for layer in params[:-1]:
        x = jnp.sin(x @ layer["w"] + layer["b"])
    last = params[-1]
    return x @ last["w"] + last["b"]
""",
        "import jax\nimport jax.numpy as jnp\n\n\n",
    ).text
    assert "x: Float['*batch in_dim']" in text


@pytest.mark.parametrize(
    ("made", "cells"),
    [
        (
            "cell = nnx.GRUCell(dim, hidden, rngs=rngs)\n        self.rnn = nnx.RNN(cell)",
            ["self.rnn_cell = GRUCell(self.dim, self.hidden)"],
        ),
        (
            "ahead = nnx.RNN(nnx.LSTMCell(dim, hidden, rngs=rngs), rngs=rngs)\n"
            "        back = nnx.RNN(nnx.LSTMCell(dim, hidden, rngs=rngs), rngs=rngs)\n"
            "        self.rnn = nnx.Bidirectional(ahead, back)",
            [
                "self.rnn_forward_cell = LSTMCell(self.dim, self.hidden)",
                "self.rnn_backward_cell = LSTMCell(self.dim, self.hidden)",
                "reverse=True",
            ],
        ),
    ],
)
def test_cells_that_nnx_runs_are_scanned(made, cells):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim, hidden, *, rngs):
        {made}

    def __call__(self, x):
        return self.rnn(x)
""",
        NNX,
    ).text
    assert all(cell in text for cell in cells)
    assert "jnp.zeros((x.shape[0], self.hidden), x.dtype)" in text


def test_places_of_a_mask_of_tokens_are_counted():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        mask = (tokens != 0)[..., None]
        x = nn.Embed(16, 8)(tokens) * mask
        return x.sum(axis=1) / jnp.maximum(mask.sum(axis=1), 1)
""",
        LINEN,
    ).text
    assert "jnp.maximum(jnp.sum(mask, axis=1), 1)" in text


def test_a_field_that_the_file_gives_a_function_is_one():
    made = converted(
        """\
class Thing(nn.Module):
    std: Any
    dim: int = 8

    @nn.compact
    def __call__(self, x, t):
        return nn.Dense(self.dim)(x) / self.std(t)[:, None]


def deviation(t, sigma):
    return jnp.sqrt(sigma**t)


std_fn = functools.partial(deviation, sigma=25.0)
model = Thing(std_fn)
""",
        "import functools\n" + LINEN,
    )
    assert "std: Activation" in made.text
    assert made.trial is not None
    assert "('std', jax.nn.softplus)" in str(made.trial.hyperparameters)


def test_channels_of_an_example_are_what_groups_divide():
    text = converted(
        """\
class Block(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return nn.relu(nn.GroupNorm()(nn.Conv(self.dim, (3, 3))(x)))


class Thing(nn.Module):
    dims: Sequence[int] = (64, 128)

    @nn.compact
    def __call__(self, x):
        for dim in self.dims:
            x = Block(dim)(x)
        return x
""",
        "from typing import Sequence\n" + LINEN,
    ).text
    assert "'dims': (32, 32)" in text
    assert "'dim': 32" in text


def test_an_image_is_as_high_as_a_convolution_makes_it_of_pixels_apart():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.Conv(8, (3, 3), (2, 2), padding="VALID")(x)
        y = nn.Conv(8, (3, 3), padding=((2, 2), (2, 2)), input_dilation=(2, 2))(h)
        return jnp.concatenate([x, y], axis=-1)
""",
        LINEN,
    ).text
    # An even side loses a pixel on the way down.
    assert "'x': (2, 5, 5, 8)" in text


def test_a_class_without_weights_that_is_given_a_size_is_a_function():
    text = converted(
        """\
class Positions(nn.Module):
    dim: int = 8

    @nn.compact
    def __call__(self, length):
        places = jnp.arange(length, dtype=jnp.float32)[:, None]
        return places / 10000 ** (jnp.arange(self.dim) / self.dim)


class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.dim)(x) + Positions(dim=self.dim)(x.shape[1])
""",
        LINEN,
    ).text
    assert "def positions(length, *, dim" in text
    assert "positions(x.shape[1], dim=self.dim)" in text


BLOCK = """\
class Block(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        h = nn.Dense(self.dim)(x)
        if x.shape[-1] != self.dim:
            x = nn.Dense(self.dim)(x)
        return nn.relu(h) + x


"""


@pytest.mark.parametrize(
    "statement",
    [
        "short = x if x.shape[-1] == self.dim else hk.Linear(self.dim)(x)",
        "if x.shape[-1] == self.dim:\n            short = x\n"
        "        else:\n            short = hk.Linear(self.dim)(x)",
    ],
)
def test_what_stays_where_sizes_are_the_same_may_have_another_size(statement):
    text = converted(
        f"""\
class Thing(hk.Module):
    def __init__(self, dim, name=None):
        super().__init__(name=name)
        self.dim = dim

    def __call__(self, x):
        {statement}
        return jax.nn.relu(hk.Linear(self.dim)(x)) + short
""",
        HAIKU,
    ).text
    assert text.count("Linear(self.in_features, self.dim)") == 2
    assert "x: Float['*batch in_features']) -> Float['*batch dim']" in text


def test_a_layer_of_a_loop_is_not_called_as_a_local_of_it_is():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, dims, name=None):
        super().__init__(name=name)
        self.dims = dims

    def __call__(self, x):
        for dim in self.dims:
            short = x if x.shape[-1] == dim else hk.Linear(dim, name="short")(x)
            x = jax.nn.relu(hk.Linear(dim)(x)) + short
        return hk.Linear(1)(x)
""",
        HAIKU,
    ).text
    assert "self.short_layers = [" in text
    assert "short = short_layer(x)" in text
    assert "Linear(self.dims[-1], 1)" in text


def test_layers_that_a_comprehension_makes_and_calls_are_a_list():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int = 8
    count: int = 2

    @nn.compact
    def __call__(self, x):
        hs = [nn.relu(nn.Dense(self.dim)(x)) for _ in range(self.count)]
        return nn.Dense(4)(jnp.concatenate(hs, axis=-1))
""",
        LINEN,
    ).text
    assert "Linear(self.in_features, self.dim) for _ in range(self.count)]" in text
    assert "Linear(self.count * self.dim, 4)" in text


def test_a_variable_under_a_name_of_the_file_is_a_state_of_integers():
    text = converted(
        """\
class Count(nnx.Variable):
    pass


class Thing(nnx.Module):
    def __init__(self, dim, *, rngs):
        self.linear = nnx.Linear(dim, dim, rngs=rngs)
        self.count = Count(jnp.array(0))
        self.limit = Count(jnp.array(5))

    def __call__(self, x):
        self.count.value += 1
        self.limit.value -= 1
        return self.linear(x)
""",
        NNX,
    ).text
    assert "self.count = state(zeros, (), jnp.int32)" in text
    assert "jnp.full(shape, 5, dtype), (), jnp.int32)" in text
    assert "self.count = self.count + 1" in text


def test_keys_and_flags_that_a_mapped_layer_is_given_are_left_out():
    text = converted(
        """\
class Block(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, dim, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.dropout = eqx.nn.Dropout(0.1)

    def __call__(self, x, enable_dropout=True, key=None):
        return self.dropout(self.linear(x), inference=not enable_dropout, key=key)


class Thing(eqx.Module):
    block: Block
    head: eqx.nn.Linear

    def __init__(self, dim, *, key):
        first, second = jax.random.split(key)
        self.block = Block(dim, first)
        self.head = eqx.nn.Linear(dim, 1, key=second)

    def __call__(self, x: Float[Array, "seq dim"], *, enable_dropout=False, key=None):
        h = jax.vmap(self.block, in_axes=(0, None, None))(x, enable_dropout, key)
        return self.head(h[0])
""",
        EQUINOX + "from jaxtyping import Array, Float\n\n\n",
    ).text
    assert "jax.vmap(self.block)(x)" in text
    assert "x: Float['seq dim']" in text


def test_an_input_with_the_name_of_a_hyperparameter_has_another_one():
    made = converted(
        """\
class Thing(nn.Module):
    hidden: int = 8

    @nn.compact
    def __call__(self, hidden, x):
        hidden = nn.tanh(nn.Dense(self.hidden)(x) + hidden)
        return hidden
""",
        LINEN,
    )
    assert "hidden_input: Float[" in made.text
    assert "`hidden` of the call is `hidden_input`" in str(made.notes)


def test_sizes_that_setup_chooses_by_what_is_none_are_told_to_others():
    text = converted(
        """\
class Block(nn.Module):
    dim: int
    out: int = None

    def setup(self):
        self.width = self.dim if self.out is None else self.out
        self.dense = nn.Dense(self.width)

    def __call__(self, x):
        return nn.relu(self.dense(x))


class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(Block(self.dim, 2 * self.dim)(Block(self.dim)(x)))
""",
        LINEN,
    ).text
    assert "Linear(2 * self.dim, 4)" in text
    assert "self.block_0 = Block(self.dim, self.dim, out=2 * self.dim)" in text


def test_loops_in_loops_beside_others_are_written_out():
    made = convert(
        "thing.py",
        LINEN
        + BLOCK
        + """\
class Thing(nn.Module):
    dim: int = 8
    mults: tuple = (1, 2)

    @nn.compact
    def __call__(self, x):
        hs = [nn.Dense(self.dim)(x)]
        for i, mult in enumerate(self.mults):
            for _ in range(2):
                hs.append(Block(self.dim * mult)(hs[-1]))
            if i != len(self.mults) - 1:
                hs.append(nn.Dense(hs[-1].shape[-1])(hs[-1]))
        h = hs[-1]
        for mult in reversed(self.mults):
            h = Block(self.dim * mult)(jnp.concatenate([h, hs.pop()], axis=-1))
        return h
""",
        "Thing",
        "FromThing",
        run=1,
    )
    assert made.whole, made.notes
    assert "`mults` is always its default, `(1, 2)`" in str(made.notes)
    assert "self.block_4 = Block(2 * (self.dim * 2), dim=self.dim * 2)" in made.text
    assert "hs.append(self.block_3(hs[-1]))" in made.text


def test_an_image_that_is_resized_has_the_channels_that_are_told():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (3, 3))(x)
        b, h, w, c = x.shape
        x = jax.image.resize(x, (b, 2 * h, 2 * w, c), method="nearest")
        return nn.Conv(4, (3, 3))(x)
""",
        LINEN,
    ).text
    assert "self.conv_1 = Conv(2, 8, 4, (3, 3), channel_last=True)" in text


def test_an_image_that_is_padded_by_widths_under_a_name_has_its_channels():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (3, 3))(x)
        widths = ((0, 0), (0, 1), (0, 1), (0, 0))
        x = jnp.pad(x, pad_width=widths)
        return nn.Conv(4, (3, 3), strides=(2, 2), padding="VALID")(x)
""",
        LINEN,
    ).text
    assert "self.conv_1 = Conv(2, 8, 4, (3, 3), strides=(2, 2), padding" in text
    assert "x: Float['batch height width in_channels']" in text


@pytest.mark.parametrize(
    ("final", "initializer"),
    [
        ("init()", "kernel_initializer=xavier_uniform())"),
        ("zero", "kernel_initializer=zeros if i + 1 == len(self.dims) else xavier"),
    ],
)
def test_a_layer_that_both_branches_make_is_one(final, initializer):
    text = converted(
        f"""\
init = nn.initializers.xavier_uniform
zero = nn.initializers.zeros


class Thing(nn.Module):
    dims: Sequence[int]

    @nn.compact
    def __call__(self, x):
        for i, dim in enumerate(self.dims):
            if i + 1 == len(self.dims):
                x = nn.Dense(dim, kernel_init={final})(x)
            else:
                x = nn.Dense(dim, kernel_init=init())(x)
        return x
""",
        "from typing import Sequence\n" + LINEN,
    ).text
    assert "self.linears_2" not in text
    assert initializer in text
