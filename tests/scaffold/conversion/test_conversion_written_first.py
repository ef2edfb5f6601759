"""What people try first: a small layer, a counter, a loop, a function that is given."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax import HAIKU, LINEN, NNX

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
    assert "self.calls = state(constant(0), (), jnp.int32)" in text


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
