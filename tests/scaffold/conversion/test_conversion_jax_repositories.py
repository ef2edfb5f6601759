"""Habits of repositories of flax, equinox, haiku and optax: settings, functions that make layers, scans."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

from mlax_scaffold.conversion import convert

LINEN = (
    "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nimport chex\n\n\n"
)
NNX = (
    "from flax import nnx\nimport functools\nimport jax\nimport jax.numpy as jnp\n\n\n"
)
EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"
HAIKU = (
    "import functools\nimport haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n\n"
)


def test_a_setting_with_the_name_of_a_local_is_config_and_a_default_gives_others():
    code = """\
import dataclasses
import jax
import jax.numpy as jnp
import optax
from typing import NamedTuple


@dataclasses.dataclass
class Config:
    lr: float = 1e-3
    betas: tuple = (0.9, 0.99)
    base: int = 8


class State(NamedTuple):
    step: jnp.ndarray
    mu: optax.Updates


def make(cfg: Config = Config(base=4)):
    b1, b2 = cfg.betas

    def init(params):
        return State(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(grads, state, params=None):
        lr = cfg.lr * jnp.minimum(1.0, (state.step + 1) / cfg.base)

        def one(g, m):
            m = b1 * m + (1 - b1) * g
            return -lr * (m + b2 * g), m

        both = jax.tree.map(one, grads, state.mu)
        updates, mu = jax.tree_util.tree_transpose(
            jax.tree_util.tree_structure(grads), jax.tree_util.tree_structure((0, 0)), both)
        return updates, State(state.step + 1, mu)

    return optax.GradientTransformation(init, update)
"""
    made = convert("config.py", code, "make", "Recipe", "OPTIMIZER")
    assert made.whole, made.notes
    assert "config_lr: float = 0.001" in made.text
    assert "b1: Decay = 0.9\n    b2: Decay = 0.99" in made.text
    assert "base: Size = 4" in made.text
    assert "updates = parted[0]" in made.text
    assert "self.mu = mu" in made.text


def test_a_name_of_a_configuration_in_one_method_is_another_thing_in_the_next():
    text = converted(
        """\
import dataclasses


@dataclasses.dataclass
class Config:
    width: int = 8
    patch: int = 2


class Thing(nn.Module):
    cfg: Config

    def setup(self):
        c = self.cfg
        self.embed = nn.Conv(c.width, (c.patch, c.patch), strides=(c.patch, c.patch))

    def __call__(self, images):
        x = self.embed(images)
        n, h, w, c = x.shape
        return x.reshape(n, h * w, c)
""",
        LINEN,
    ).text
    assert "width: Size = 8" in text
    assert "self.width, (self.patch, self.patch)" in text


@pytest.mark.parametrize(
    "indices", ["jnp.argsort(noise, axis=1)", "jnp.argsort(noise, axis=1)[:, :2]"]
)
def test_rows_that_indices_choose_keep_their_features(indices):
    text = converted(
        f"""\
class Thing(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, images, noise):
        x = nn.Conv(self.width, (4, 4), strides=(4, 4))(images)
        n, h, w, c = x.shape
        x = x.reshape(n, h * w, c)
        chosen = {indices}
        x = jnp.take_along_axis(x, chosen[:, :, None], axis=1)
        return nn.Dense(3)(x)
""",
        LINEN,
    ).text
    assert "Linear(self.width, 3)" in text


def test_layers_of_size_scalar_are_mapped():
    text = converted(
        """\
class Thing(eqx.Module):
    gate: eqx.nn.Linear

    def __init__(self, hidden: int, key):
        self.gate = eqx.nn.Linear(hidden, "scalar", key=key)

    def __call__(self, x):
        return x * jax.nn.sigmoid(jax.vmap(self.gate)(x))[:, None]
""",
        EQUINOX,
    ).text
    assert "self.gate = Linear(self.hidden, 1)" in text
    assert "self.gate(x)[..., 0]" in text


def test_a_partial_class_that_a_constructor_keeps_is_made_where_it_is_called():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, actions: int, name=None):
        super().__init__(name)
        self._actions = actions
        self._head = functools.partial(hk.Linear, with_bias=False)

    def __call__(self, x):
        a = self._head(self._actions, name="policy")(x)
        return a + self._head(1, with_bias=True, name="critic")(x)
""",
        HAIKU,
    ).text
    assert (
        "self.policy = Linear(self.in_features, self.actions, use_bias=False)" in text
    )
    assert "self.critic = Linear(self.in_features, 1)" in text


def test_a_layer_that_nothing_calls_has_no_weights_in_haiku():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, width: int, name=None):
        super().__init__(name)
        self._norm = hk.LayerNorm(-1, True, True)
        self._out = hk.Linear(width)

    def __call__(self, x):
        return self._out(x)
""",
        HAIKU,
    ).text
    assert "LayerNorm" not in text


def test_a_function_that_makes_layers_under_a_condition_is_written_out_in_each_case():
    text = converted(
        """\
def build(size, norm=True, name=None):
    network = hk.Linear(size, name=name)
    if norm:
        after = hk.LayerNorm(-1, True, True, name=(name or "mlp") + "_norm")
        return hk.Sequential([network, after])
    return hk.Sequential([network])


class Thing(hk.Module):
    def __init__(self, width: int):
        super().__init__()
        self._width = width

    def __call__(self, x):
        h = build(self._width, name="first")(x)
        return build(3, norm=False, name="last")(h)
""",
        HAIKU,
    ).text
    assert text.count("LayerNorm(") == 1
    assert "self.first_norm = LayerNorm(self.width)" in text
    assert "self.last = Linear(self.width, 3)" in text


def test_what_chex_asserts_is_how_many_axes_there_are():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        chex.assert_rank(x, 3)
        chex.assert_tree_all_finite(x)
        return nn.Dense(4)(x)
""",
        LINEN,
    ).text
    assert "require(x.ndim == 3" in text
    assert "finite" not in text


CELL = """\
class Cell(nnx.Module):
    def __init__(self, d: int, rngs: nnx.Rngs):
        self.d = d
        self.wx = nnx.Linear(d, d, rngs=rngs)

    def __call__(self, h, x):
        h = jnp.tanh(self.wx(x) + h)
        return h, h

    def begin(self, batch):
        return jnp.zeros((batch, self.d))


class Thing(nnx.Module):
    def __init__(self, d: int, *, rngs: nnx.Rngs):
        self.cell = Cell(d, rngs)

    def __call__(self, x):
        carry = self.cell.begin(x.shape[0])
"""


@pytest.mark.parametrize(
    "lines",
    [
        "step = nnx.scan(lambda cell, c, u: cell(c, u), in_axes=(None, nnx.Carry, 1), "
        "out_axes=(nnx.Carry, 1))\n"
        "        _, y = step(self.cell, carry, x)",
        "@nnx.scan(in_axes=(nnx.Carry, 1), out_axes=(nnx.Carry, 1))\n"
        "        def step(c, u):\n            return self.cell(c, u)\n"
        "        _, y = step(carry, x)",
        "@functools.partial(nnx.scan, in_axes=(nnx.Carry, 1), out_axes=(nnx.Carry, 1))\n"
        "        def step(c, u):\n            return self.cell(c, u)\n"
        "        _, y = step(carry, x)",
    ],
)
def test_what_nnx_scans_over_time_is_a_step(lines):
    text = converted(f"{CELL}        {lines}\n        return y\n", NNX).text
    assert "lax.scan(step, carry, jnp.swapaxes(x, 0, 1))" in text
    assert "y = jnp.swapaxes(y, 0, 1)" in text
    assert "return self.cell(c, u)" in text
    # What reads sizes of a part alone is a method of what holds it.
    assert "self._begin(x, self.cell.d, x.shape[0])" in text


def test_a_carry_alone_is_the_result_of_a_scan():
    lines = (
        "@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)\n"
        "        def step(c, u):\n            return self.cell(c, u)[0]\n"
        "        carry = step(carry, x)"
    )
    text = converted(f"{CELL}        {lines}\n        return carry\n", NNX).text
    assert "return (self.cell(c, u)[0], None)" in text
    assert "carry = lax.scan(step, carry, x)[0]" in text


@pytest.mark.parametrize(
    "test",
    [
        "self.strides == 1 and x.shape[-1] == self.features",
        "x.shape[-1] == self.features",
        "x.shape == y.shape",
    ],
)
def test_what_is_added_where_sizes_are_the_same_may_have_others(test):
    text = converted(
        f"""\
class Thing(nn.Module):
    features: int
    strides: int

    @nn.compact
    def __call__(self, x):
        y = nn.Conv(self.features, (3, 3), strides=self.strides)(x)
        if {test}:
            y = y + x
        return nn.Dense(3)(y)
""",
        LINEN,
    ).text
    assert "Conv(2, self.in_channels, self.features" in text
    assert "Linear(self.features, 3)" in text


def test_a_size_that_nothing_reads_in_the_end_is_no_hyperparameter():
    text = converted(
        """\
def posenc(x, low, high):
    scales = jnp.array([2 ** i for i in range(low, high)])
    xb = jnp.reshape((x[..., None, :] * scales[:, None]), list(x.shape[:-1]) + [-1])
    return jnp.concatenate([x, jnp.sin(xb)], axis=-1)


class Thing(nn.Module):
    width: int = 8
    degrees: int = 4

    @nn.compact
    def __call__(self, points, viewdirs):
        x = posenc(points, 0, self.degrees)
        condition = posenc(viewdirs, 0, 2)
        x = nn.Dense(self.width)(x)
        condition = jnp.tile(condition[:, None, :], (1, x.shape[1], 1))
        return nn.Dense(3)(jnp.concatenate([x, condition], axis=-1))
""",
        LINEN,
    ).text
    fields = [
        line.partition(":")[0].strip() for line in text.splitlines() if ": Size" in line
    ]
    rest = text.partition("def setup")[2]
    assert all(field in rest for field in fields), text


OBJECTS = """\
import jax
import jax.numpy as jnp
from jax import random


class Linear:
    def __init__(self, in_dim, out_dim, bias=True):
        self.in_dim, self.out_dim, self.bias = in_dim, out_dim, bias

    def init(self, key):
        params = {"w": random.normal(key, (self.in_dim, self.out_dim))}
        if self.bias:
            params["b"] = jnp.zeros(self.out_dim)
        return params

    def __call__(self, params, x):
        y = x @ params["w"]
        if self.bias:
            y = y + params["b"]
        return y


class Thing:
    def __init__(self, dim):
        self.out = Linear(dim, 3)
        self.dim = dim

    def init(self, key):
        k1, k2 = random.split(key)
        return {"out": self.out.init(k1), "scale": jnp.ones(self.dim)}

    def __call__(self, params, x):
        return self.out(params["out"], x * params["scale"])
"""


def test_an_object_that_is_handed_its_weights_holds_them():
    made = converted(OBJECTS, "")
    assert "self.out = Linear(self.dim, 3)" in made.text
    assert (
        "self.b = trainable(zeros, (self.out_dim,)) if self.bias else None" in made.text
    )
    assert "return self.out(x * self.scale)" in made.text
    assert "params" not in made.text
    assert made.trial is not None
    assert made.trial.pair is not None
    assert made.trial.pair.functions == ("init", "__call__")
    assert made.framework == "pair"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('x * params["scale"]', "x * sum(params.values())"),
        ('"scale": jnp.ones(self.dim)', '"dim": jnp.ones(self.dim)'),
        ("return y\n", "return y + len(params)\n"),
    ],
)
def test_weights_that_an_object_is_handed_as_a_whole_are_listed(old, new):
    made = convert("thing.py", OBJECTS.replace(old, new), "Thing", "Thing")
    assert not made.whole
    if "len" not in new:
        assert any("makes, and that the call is handed" in n.what for n in made.notes)


def test_initializers_that_a_file_names_are_those_of_its_layers():
    text = converted(
        """\
xavier = nnx.initializers.xavier_uniform()


class Thing(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.out = nnx.Linear(dim, 3, kernel_init=xavier, rngs=rngs)

    def __call__(self, x):
        return self.out(x)
""",
        NNX,
    ).text
    assert "kernel_initializer=xavier_uniform()" in text
    assert "xavier =" not in text


def test_what_counts_is_divided_anew():
    text = converted(
        """\
import numpy as np


def table(dim, size):
    omega = np.arange(dim, dtype=np.float64)
    omega /= dim
    return np.arange(size)[:, None] * omega[None]


class Thing(nnx.Module):
    def __init__(self, dim: int, size: int, *, rngs: nnx.Rngs):
        self.table = nnx.Variable(jnp.asarray(table(dim, size), dtype=jnp.float32))

    def __call__(self, x):
        return x + self.table.value
""",
        NNX,
    ).text
    assert "omega = omega / dim" in text


@pytest.mark.parametrize(
    ("queries", "told"), [("tokens > 0", True), ("jnp.ones_like(tokens)", False)]
)
def test_queries_that_may_attend_to_nothing_are_told_and_not_compared(queries, told):
    made = converted(
        f"""\
class Thing(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, tokens):
        mask = nn.make_attention_mask({queries}, tokens > 0)
        x = nn.Embed(16, self.width)(tokens)
        return nn.MultiHeadDotProductAttention(2)(x, x, mask=mask)
""",
        LINEN,
    )
    assert any("attend to nothing" in n.what for n in made.notes) == told
    assert made.trial is not None
    assert made.trial.unpadded == (("tokens",) if told else ())


def test_paddings_are_none_where_they_would_let_queries_attend_to_nothing():
    made = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, inputs, input_paddings):
        '''inputs: (batch, time, features), input_paddings: (batch, time).'''
        mask = nn.make_attention_mask(input_paddings < 1, input_paddings < 1)
        return nn.MultiHeadDotProductAttention(2)(inputs, inputs, mask=mask)
""",
        LINEN,
    )
    assert made.trial is not None
    assert made.trial.unpadded == ("input_paddings",)
