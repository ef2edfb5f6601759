"""What people write in many ways becomes what the language says in one, whatever it stands in."""

from __future__ import annotations

import warnings

import pytest

from mlax_scaffold.conversion import convert

TORCH = """\
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Thing(nn.Module):
    def __init__(self{parameters}):
        super().__init__()
        {setup}

    def forward(self, {inputs}):
        {body}
"""

MODULES = {
    "a dictionary of layers": (
        (
            ", dim",
            'self.heads = nn.ModuleDict({"a": nn.Linear(dim, 4), "b": nn.Linear(dim, 4)})',
            "x",
            'return self.heads["a"](x) * self.heads["b"](x)',
        ),
        [
            "self.heads_a = Linear(self.dim, 4)",
            "self.heads_a(x) * self.heads_b(x)",
        ],
    ),
    "a list of sequences": (
        (
            ", dim, slope: float = 0.1",
            "self.slope = slope\n"
            "        self.stages = nn.ModuleList(\n"
            "            [nn.Sequential(nn.Linear(dim, dim), nn.LeakyReLU(self.slope)) for _ in range(2)])",
            "x",
            "for stage in self.stages:\n            x = stage(x)\n        return x",
        ),
        [
            "class ThingStage(Layer):",
            "self.stages = [ThingStage(self.dim, self.slope) for _ in range(2)]",
            "for stage in self.stages:",
        ],
    ),
    "names in a tuple": (
        (', kinds=("a", "b")', "self.kinds = kinds", "x", "return x * len(self.kinds)"),
        ['kinds: tuple[str, ...] = ("a", "b")'],
    ),
    "a parameter that is replaced where it is None": (
        (", dim, inner=None", "inner = inner or dim", "x", "return x"),
        ["own_inner = self.inner or self.dim"],
    ),
    "a parameter that a branch replaces": (
        (
            ", dim, inner=None",
            "if inner is None:\n            inner = dim\n        self.up = nn.Linear(dim, inner)",
            "x",
            "return self.up(x)",
        ),
        [
            "own_inner = self.inner",
            "if own_inner is None:",
            "Linear(self.dim, own_inner)",
        ],
    ),
    "a parameter that is reckoned with, whatever it is called": (
        (", dim, dims", "self.w = nn.Linear(dim, dim * dims)", "x", "return self.w(x)"),
        ["dims: Size\n"],
    ),
    "a bias that may be left out": (
        (
            ", dim, bias=True",
            "self.w = nn.Parameter(torch.zeros(dim, dim))\n"
            "        self.b = nn.Parameter(torch.zeros(dim)) if bias else None",
            "x",
            "return F.linear(x, self.w, self.b)",
        ),
        ["x @ self.w.T + (self.b if self.bias else 0.0)"],
    ),
    "paddings that undo each other": (
        (
            ", c",
            "self.conv = nn.Conv2d(c, c, 3, padding=1)",
            "x",
            "return self.conv(self.conv(x))",
        ),
        ['-> Float["batch c height width"]'],
    ),
    "an image as large as its flat size says": (
        (
            "",
            "self.conv = nn.Conv2d(1, 6, 5)\n        self.fc = nn.Linear(6 * 24 * 24, 10)",
            "x",
            "return self.fc(torch.flatten(self.conv(x), 1))",
        ),
        ['"x": (2, 1, 28, 28)'],
    ),
    "another sequence whose length is read": (
        (
            ", dim, heads",
            "self.heads = heads\n        self.k = nn.Linear(dim, dim)",
            "x, memory",
            "b, n, _ = x.shape\n        m = memory.shape[1]\n"
            "        return self.k(memory).view(b, m, self.heads, -1)",
        ),
        ['memory: Float["batch positions dim"]'],
    ),
    "a table of which a part is added": (
        (
            ", dim, length",
            "pe = torch.zeros(1, length, dim)\n        self.register_buffer('pe', pe)",
            "x",
            "return x + self.pe[:, : x.size(1)]",
        ),
        ['x: Float["batch positions dim"]'],
    ),
    "a width that a loop replaces": (
        (
            ", dim, widths",
            "layers = []\n        last = dim\n        for w in widths:\n"
            "            layers.append(nn.Linear(last, w))\n"
            "            layers.append(nn.ReLU())\n            last = w\n"
            "        self.net = nn.Sequential(*layers)",
            "x",
            "return self.net(x)",
        ),
        ['x: Float["*batch dim"]'],
    ),
    "nothing in the place of an activation": (
        (
            ", dim, act=True",
            "self.net = nn.Sequential(nn.Linear(dim, dim), nn.ReLU() if act else nn.Sequential())",
            "x",
            "return self.net(x)",
        ),
        ["jax.nn.relu(x) if self.act else x"],
    ),
    "one of two layers in a sequence": (
        (
            ", dim, norm=True",
            "self.net = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim) if norm else nn.Identity())",
            "x",
            "return self.net(x)",
        ),
        ["LayerNorm(self.dim) if self.norm else None", "return self.net_1(x)"],
    ),
    "noise in inference": (
        ("", "pass", "x", "return x + torch.randn_like(x)"),
        ["if self.training else jnp.zeros(x.shape, x.dtype)"],
    ),
    "layers of LSTM over time": (
        (
            ", dim, hidden",
            "self.lstm = nn.LSTM(dim, hidden, 2, batch_first=True, dropout=0.1)",
            "x",
            "y, (h, c) = self.lstm(x)\n        return y",
        ),
        [
            "LSTMCell(self.dim if layer == 0 else self.hidden, self.hidden)",
            "y = self.lstm_dropout(y)",
            'x: Float["batch time dim"]',
            '-> Float["batch time hidden"]',
        ],
    ),
    "a GRU in both directions, with states to begin with": (
        (
            ", dim, hidden",
            "self.gru = nn.GRU(dim, hidden, bidirectional=True)",
            "x, h0",
            "y, h = self.gru(x, h0)\n        return y",
        ),
        [
            "GRUCell(self.dim, self.hidden) for _ in range(1)",
            "reverse=True",
            "start[len(last)]",
            '-> Float["time batch 2*hidden"]',
        ],
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_modules_of_pytorch(case: str):
    (parameters, setup, inputs, body), wanted = MODULES[case]
    given = TORCH.format(parameters=parameters, setup=setup, inputs=inputs, body=body)
    made = convert("model.py", given, "Thing", "Thing")
    assert made.whole, made.notes
    for part in wanted:
        assert part in made.text.replace("'", '"'), made.text


def test_a_network_whose_directions_are_not_told_is_listed():
    given = TORCH.format(
        parameters=", dim, both",
        setup="self.rnn = nn.LSTM(dim, dim, bidirectional=both)",
        inputs="x",
        body="return self.rnn(x)[0]",
    )
    [note] = [n for n in convert("model.py", given, "Thing", "Thing").notes if n.blocks]
    assert note.line == 11
    assert "`bidirectional` that is not True or False" in note.what


def test_a_dictionary_whose_names_are_computed_is_listed():
    given = TORCH.format(
        parameters=", dim, act",
        setup='self.acts = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})\n'
        "        self.act = act",
        inputs="x",
        body="return self.acts[self.act](x)",
    )
    [note] = [n for n in convert("model.py", given, "Thing", "Thing").notes if n.blocks]
    assert note.line == 15
    assert "`self.acts`, a dictionary of layers" in note.what
    assert 'as in `self.acts["relu"]`' in note.todo


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ("nn.LSTM(dim, 8, proj_size=4)", "`nn.LSTM` with `proj_size=4`"),
        (
            "nn.MultiheadAttention(dim, 2, add_zero_attn=True)",
            "with `add_zero_attn=True`",
        ),
    ],
)
def test_an_option_without_a_counterpart_is_listed_with_its_line(setup, said):
    given = TORCH.format(
        parameters=", dim",
        setup=f"self.inner = {setup}",
        inputs="x",
        body="return x + self.inner(x)[0]"
        if "LSTM" in setup
        else "return self.inner(x, x, x)[0]",
    )
    noted = [n for n in convert("model.py", given, "Thing", "Thing").notes if n.blocks]
    assert [note.line for note in noted if said in note.what] == [11]


def test_the_way_to_a_cell_with_projections_is_named():
    given = TORCH.format(
        parameters=", dim",
        setup="self.inner = nn.LSTM(dim, 8, proj_size=4)",
        inputs="x",
        body="return self.inner(x)[0]",
    )
    [note] = [n for n in convert("model.py", given, "Thing", "Thing").notes if n.blocks]
    assert "`new-layer --like LSTMCell`, map h by a weight of shape" in note.todo


def test_what_is_random_in_inference_too_is_said_with_its_line():
    given = TORCH.format(
        parameters="", setup="pass", inputs="x", body="return x + torch.randn_like(x)"
    )
    [note] = convert("model.py", given, "Thing", "Thing").notes
    assert (note.line, note.blocks) == (14, False)
    assert "takes their mean in inference" in note.todo


LINEN = """\
import flax.linen as nn
import jax.numpy as jnp


class Thing(nn.Module):
    depth: int = 3

    @nn.compact
    def __call__(self, x):
        {body}
"""
COMPACT = {
    "a state of all axes but the first": (
        'm = self.variable("stats", "mean", lambda s: jnp.zeros(s), x.shape[1:])\n'
        "        return x - m.value",
        ["shape: Shape", "state(zeros, self.shape)", 'x: Float["batch *shape"]'],
    ),
    "a width that grows from pass to pass": (
        "for _ in range(self.depth):\n"
        "            x = jnp.concatenate([x, nn.Dense(4)(x)], axis=-1)\n        return x",
        [
            "Linear(self.in_features + number * 4, 4)",
            '-> Float["*batch in_features+depth*4"]',
        ],
    ),
    "an array that is made in the body": (
        "return x + jnp.zeros((3,))",
        ["jnp.zeros((3,), dtype=x.dtype)"],
    ),
}


@pytest.mark.parametrize("case", COMPACT)
def test_modules_of_linen(case: str):
    body, wanted = COMPACT[case]
    made = convert("model.py", LINEN.format(body=body), "Thing", "Thing")
    assert made.whole, made.notes
    for part in wanted:
        assert part in made.text.replace("'", '"'), made.text


def test_a_cell_that_a_scan_runs_is_called_as_here():
    given = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Thing(eqx.Module):
    cell: eqx.nn.GRUCell

    def __init__(self, size, hidden, *, key):
        self.cell = eqx.nn.GRUCell(size, hidden, key=key)

    def __call__(self, xs):
        def step(h, x):
            h = self.cell(x, h)
            return h, h

        return jax.lax.scan(step, jnp.zeros(4), xs)[0]
"""
    made = convert("model.py", given, "Thing", "Thing")
    assert "h = self.cell(x, h)[0]" in made.text
    assert 'xs: Float["time size"]' in made.text.replace("'", '"')


def test_an_optimizer_divides_by_no_epsilon_that_half_precision_lacks():
    given = """\
import jax
import jax.numpy as jnp
import optax


def thing(learning_rate):
    return optax.chain(
        optax.scale_by_adam(), optax.scale_by_learning_rate(learning_rate)
    )
"""
    made = convert("model.py", given, "thing", "Thing", "OPTIMIZER")
    assert "divide_by_root(" in made.text
    assert "epsilon=1e-08" in made.text


def test_an_exponent_that_is_positive_by_default_is_not_negative():
    given = "def thing(x, power=2.0):\n    return (1 - x) ** power\n"
    made = convert("model.py", given, "thing", "thing", "FUNCTION")
    assert "power: NonNegative = 2.0" in made.text


@pytest.mark.parametrize(
    ("limit", "kept"), [("10.0", "jnp.minimum(ratio, 10.0)"), ("None", "")]
)
def test_conditions_on_what_an_optimizer_is_given_are_decided(limit: str, kept: str):
    """`10.0 is not None` is code that Python itself warns of."""
    given = f"""\
import jax
import jax.numpy as jnp
import optax


def limited(limit=None, least=None):
    def init_fn(params):
        return optax.EmptyState()

    def update_fn(updates, state, params=None):
        def scale(u, p):
            ratio = jnp.linalg.norm(p) / jnp.linalg.norm(u)
            if limit is not None and limit > 0:
                ratio = jnp.minimum(ratio, limit)
            elif least is not None:
                ratio = jnp.maximum(ratio, least)
            return u * ratio

        grads = jax.tree.map(lambda g: g if limit is None else g * limit, updates)
        return jax.tree.map(scale, grads, params), state

    return optax.GradientTransformation(init_fn, update_fn)


def thing(learning_rate):
    return optax.chain(
        limited({limit}), optax.scale_by_learning_rate(learning_rate)
    )
"""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        made = convert("model.py", given, "thing", "Thing", "OPTIMIZER")
        compile(made.text, "thing.py", "exec")
    assert made.whole
    assert "None" not in made.text
    assert " True" not in made.text
    assert "maximum" not in made.text
    assert kept in made.text
    assert ("minimum" in made.text) == ("grad * 10.0" in made.text) == bool(kept)


def test_a_schedule_that_an_optimizer_holds_is_listed_with_its_line():
    given = """\
import optax


def thing(learning_rate=1e-3, steps=1000):
    schedule = optax.cosine_onecycle_schedule(steps, learning_rate)
    return optax.chain(
        optax.scale_by_adam(), optax.scale_by_learning_rate(schedule)
    )
"""
    made = convert("model.py", given, "thing", "Thing", "OPTIMIZER")
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == 5
    assert "`optax.cosine_onecycle_schedule` has no counterpart" in note.what
    assert "a number or a schedule of the library" in note.todo


def test_private_attributes_have_names_of_fields():
    """As people of sonnet and haiku write them, beside methods with the public name too."""
    given = """\
import haiku as hk


class Thing(hk.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self._size = size
        self._torso = hk.Linear(size)
        self._head = hk.Linear(size)

    def head(self, x):
        return self._head(x)

    def __call__(self, x):
        return self.head(self._torso(x))
"""
    made = convert("model.py", given, "Thing", "Thing")
    assert "self.torso = Linear(" in made.text
    assert "self.own_head = Linear(" in made.text
    assert "return self._head(self.torso(x))" in made.text


def test_an_activation_that_a_branch_chooses_keeps_sizes():
    body = (
        "if self.depth > 1:\n            act = nn.relu\n        else:\n"
        "            act = nn.tanh\n        return nn.Dense(2)(act(nn.Dense(8)(x)))"
    )
    made = convert("model.py", LINEN.format(body=body), "Thing", "Thing")
    assert "Linear(8, 2)" in made.text


def test_a_list_of_layers_uses_the_name_that_a_size_turns_out_to_be():
    body = (
        "for width in (8, 4):\n            x = nn.LayerNorm()(nn.Dense(width)(x))\n"
        "        return x"
    )
    made = convert("model.py", LINEN.format(body=body), "Thing", "Thing")
    assert "[LayerNorm(width, epsilon=1e-06) for width in (8, 4)]" in made.text
    # The size before is another one.
    assert "[Linear(before, width) for before, width in zip(" in made.text


def test_a_weight_that_setup_of_linen_declares():
    given = """\
import flax.linen as nn


class Thing(nn.Module):
    size: int

    def setup(self):
        self.scale = self.param("scale", nn.initializers.ones, (self.size,))
        self.embed = nn.Embed(16, self.size)

    def __call__(self, tokens):
        return self.embed.attend(self.scale * self.embed(tokens))
"""
    made = convert("model.py", given, "Thing", "Thing")
    assert made.whole, made.notes
    assert "self.scale = trainable(ones, (self.size,))" in made.text
    assert ".dot(self.embed.embedding.T)" in made.text


FUNCTIONS = {
    "keys that are multiplied": (
        "def thing(queries, keys):\n    return queries @ keys.T\n",
        "keys: Float[",
    ),
    "a key that draws": (
        "def thing(x, key):\n    return x + jax.random.normal(key, x.shape)\n",
        "key: Key",
    ),
    "a new axis says how many there are": (
        "def thing(t):\n    return jnp.sin(t[:, None])\n",
        "t: Float['batch']",
    ),
    "so do an index for each axis": (
        "def thing(x):\n    rows = jnp.arange(3)\n    return x[rows, rows]\n",
        "x: Float['axis1 axis1']",
    ),
    "a diagonal is of a square": (
        "def thing(x, y):\n    rows = jnp.arange(3)\n    return (x @ y.T)[rows, rows]\n",
        "y: Float['rows features']",
    ),
    "numbers that are counted in a dtype": (
        "def thing(t):\n    return t * jnp.arange(4, dtype=jnp.float32)\n",
        "jnp.arange(4, dtype=t.dtype)",
    ),
}


@pytest.mark.parametrize("case", FUNCTIONS)
def test_functions_of_arrays(case: str):
    text, wanted = FUNCTIONS[case]
    given = f"import jax\nimport jax.numpy as jnp\n\n\n{text}"
    made = convert("model.py", given, "thing", "thing", "FUNCTION")
    assert made.whole, made.notes
    assert wanted in made.text


def test_a_sum_over_what_is_mapped_is_over_the_first_axis():
    given = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Thing(eqx.Module):
    phi: eqx.nn.Linear

    def __init__(self, size, *, key):
        self.phi = eqx.nn.Linear(size, 3, key=key)

    def __call__(self, x):
        return jnp.sum(jax.vmap(self.phi)(x), axis=0)
"""
    made = convert("model.py", given, "Thing", "Thing")
    assert "x: Float['items size'])" in made.text
