"""Layers that are made or called in one mode, whatever the mode of the whole is."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

from mlax_scaffold.conversion import convert

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n\n"
NNX = "from flax import nnx\nimport jax\n\n\n"
EQUINOX = "import equinox as eqx\nimport jax\n\n\n"
HAIKU = "import haiku as hk\nimport jax\n\n\n"
AVERAGED = (
    "(x - self.{0}.mean) * (self.{0}.scale * lax.rsqrt(self.{0}.var + self.{0}.epsilon)) "
    "+ self.{0}.bias"
)


def of_linen(line: str) -> str:
    return f"""\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, train=False):
        return {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "nn.Dropout(0.1)(x, deterministic=True)",
        "nn.Dropout(0.1, deterministic=True)(x)",
    ],
)
def test_dropout_in_inference_is_what_it_is_given(line):
    text = converted(of_linen(f"nn.Dense(self.size)({line})"), LINEN).text
    assert "return self.linear_0(x)" in text


@pytest.mark.parametrize(
    "line",
    [
        "nn.BatchNorm()(x, use_running_average=True)",
        "nn.BatchNorm(use_running_average=True)(x)",
    ],
)
def test_batch_normalization_in_inference_computes_with_its_averages(line):
    text = converted(of_linen(line), LINEN).text
    assert f"return {AVERAGED.format('batch_norm_0')}" in text


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ("use_scale=False", "(x - f.mean) * lax.rsqrt(f.var + f.epsilon) + f.bias"),
        ("use_bias=False", "(x - f.mean) * (f.scale * lax.rsqrt(f.var + f.epsilon))"),
    ],
)
def test_batch_normalization_without_a_weight_has_none_in_inference(options, made):
    line = f"nn.BatchNorm({options}, use_running_average=True)(x)"
    text = converted(of_linen(line), LINEN).text
    assert f"return {made.replace('f.', 'self.batch_norm_0.')}" in text


@pytest.mark.parametrize(
    ("made", "called"),
    [
        ("num_heads=4", "x, x, deterministic=False"),
        ("num_heads=4, dropout_rate=0.1", "x, x, deterministic=True"),
        ("num_heads=4, dropout_rate=0.1, deterministic=True", "x, x"),
    ],
)
def test_attention_that_does_not_drop_is_the_same_in_both_modes(made, called):
    line = f"nn.MultiHeadDotProductAttention({made})({called})"
    text = converted(of_linen(line), LINEN).text
    assert "MultiHeadAttention(self.in_features, 4)" in text


def test_attributes_of_linen_are_called_in_the_mode_that_they_are_made_in():
    text = converted(
        """\
class Thing(nn.Module):
    def setup(self):
        self.norm = nn.BatchNorm(use_running_average=True)
        self.drop = nn.Dropout(0.1, deterministic=True)

    def __call__(self, x):
        x = self.drop(x)
        return self.norm(x)
""",
        LINEN,
    ).text
    assert f"return {AVERAGED.format('norm')}" in text


@pytest.mark.parametrize(
    ("flags", "made"),
    [
        ("use_running_average=True", AVERAGED.format("norm")),
        ("use_running_average=not train", "self.norm(x)"),
    ],
)
def test_layers_of_nnx_are_called_in_one_mode(flags, made):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, size, *, rngs):
        self.norm = nnx.BatchNorm(size, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x, train=False):
        x = self.drop(x, deterministic=True)
        return self.norm(x, {flags})
""",
        NNX,
    ).text
    assert f"return {made}" in text


def test_channels_of_equinox_are_first():
    text = converted(
        """\
class Thing(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm

    def __init__(self, size, *, key):
        self.conv = eqx.nn.Conv2d(size, size, 3, padding=1, key=key)
        self.norm = eqx.nn.BatchNorm(size, axis_name="batch")

    def __call__(self, x, state):
        x = self.conv(x)
        x, state = self.norm(x, state, inference=True)
        return x, state
""",
        EQUINOX,
    ).text
    assert (
        "(x - self.norm.mean[:, None, None]) * (self.norm.scale[:, None, None]" in text
    )


def test_a_place_of_haiku_says_the_mode():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.bn = hk.BatchNorm(True, True, 0.9)

    def __call__(self, x):
        return self.bn(x, False)
""",
        HAIKU,
    ).text
    assert f"return {AVERAGED.format('bn')}" in text


def test_dropout_in_any_mode_is_that_of_training_and_is_told():
    made = converted(of_linen("nn.Dropout(0.1)(x, deterministic=False)"), LINEN)
    assert "return self.dropout_0(x)" in made.text
    assert "drops in inference too" in made.notes[0].what


@pytest.mark.parametrize(
    ("given", "rate", "said"),
    [
        ("x", "self.rate", True),
        ("x, is_training", "self.rate if is_training else 0.0", False),
    ],
)
def test_what_haiku_drops_where_nothing_tells_of_a_mode_is_told(given, rate, said):
    made = converted(
        f"""\
class Thing(hk.Module):
    def __init__(self, rate, name=None):
        super().__init__(name=name)
        self.rate = rate

    def __call__(self, {given}):
        return hk.dropout(hk.next_rng_key(), {rate}, hk.Linear(4)(x))
""",
        HAIKU,
    )
    assert ["`hk.dropout` drops in inference too" in n.what for n in made.notes] == (
        [True] if said else []
    )


@pytest.mark.parametrize(
    "line",
    [
        "nn.BatchNorm()(x, use_running_average=False)",
        "nn.BatchNorm(use_running_average=False)(x)",
    ],
)
def test_statistics_of_the_batch_in_any_mode_are_those_of_training_and_are_told(line):
    made = converted(of_linen(line), LINEN)
    assert "return self.batch_norm_0(x)" in made.text
    assert "normalizes by the batch in inference too" in made.notes[0].what
    # In inference the two are not the same.
    assert made.trial is None


def test_other_layers_in_one_mode_are_listed():
    line = "nn.BatchNorm()(x, use_running_average=True, mask=x > 0)"
    made = convert("thing.py", LINEN + of_linen(line), "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.what.startswith("`use_running_average=")
    assert note.what.endswith("of a call has no counterpart")
    assert note.line == LINEN.count("\n") + 6


DRAWN = """\
def sample(rng, mean, std):
    key, other = jax.random.split(rng)
    return mean + std * {draw}


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, z_rng):
        mean = nn.Dense(self.size)(x)
        return {call}
"""


@pytest.mark.parametrize(
    ("draw", "call", "compared"),
    [
        ("jax.random.normal(key, std.shape)", "sample(z_rng, mean, mean)", True),
        ("jax.random.bernoulli(key, std)", "sample(z_rng, mean, mean)", False),
        ("1.0", "mean + jax.random.normal(z_rng, mean.shape)", True),
        ("1.0", "mean + jax.random.categorical(z_rng, mean)[:, None]", False),
    ],
)
def test_what_has_a_mean_is_compared_in_inference(draw, call, compared):
    made = converted(
        DRAWN.format(draw=draw, call=call), LINEN.replace("nn\n", "nn\nimport jax\n", 1)
    )
    assert any("draws random numbers in inference too" in n.what for n in made.notes)
    assert (made.trial is not None) == compared
