"""Functions that settings name, classes that calls give layers, and lists of maps that parts are handed."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted
from test_conversion_jax_repositories import LINEN, NNX
from test_conversion_torch import module

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.definitions.documented_axes import documented_inputs

# Functions by name.

HEAD = module(
    "Head",
    "self.fc = nn.Linear(dim, dim)\nself.act = getattr(F, act)",
    "x: return self.act(self.fc(x))",
    "dim, act",
)


def test_a_setting_that_names_a_function_is_the_function():
    text = converted(
        HEAD
        + module(
            "Thing",
            "self.one = Head(dim, activation)\nself.two = Head(dim, 'tanh')\n"
            "self.act = getattr(F, activation)\nself.drop = getattr(nn, 'Dropout')(0.1)",
            "x: return self.act(self.one(x)) + self.drop(self.two(x))",
            "dim, activation='elu'",
        )
    ).text
    assert "    activation: Activation = jax.nn.elu\n" in text
    assert "    act: Activation\n" in text
    assert "self.one = Head(self.dim, self.activation)" in text
    assert "self.two = Head(self.dim, jnp.tanh)" in text
    assert "self.drop = Dropout(0.1)" in text


@pytest.mark.parametrize("held", ["act: str = 'silu'", "cfg: Config"])
def test_a_field_that_names_a_function_is_the_function(held: str):
    read = "self.cfg.act" if "Config" in held else "self.act"
    text = converted(
        f"""\
import dataclasses


@dataclasses.dataclass
class Config:
    act: str = 'silu'


class Thing(nn.Module):
    {held}

    @nn.compact
    def __call__(self, x):
        return getattr(nn, {read})(nn.Dense(4)(x))
""",
        LINEN,
    ).text
    assert "    act: Activation = jax.nn.silu\n" in text


def test_a_setting_that_is_also_compared_with_texts_stays_a_text():
    made = convert(
        "thing.py",
        TORCH
        + module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)\nself.act = getattr(F, act)\n"
            "self.scale = 2 if act == 'relu' else 1",
            "x: return self.act(self.fc(x)) * self.scale",
            "dim, act='relu'",
        ),
        "Thing",
        "FromThing",
    )
    assert "Activation" not in made.text


# Classes of layers that calls give.

BLOCKS = """\
from typing import Any


class Scaled(nn.Module):
    features: int
    scale: float = 1.0

    @nn.compact
    def __call__(self, x):
        return self.scale * nn.Dense(self.features)(x)


class Block(nn.Module):
    features: int
    dense: Any = nn.Dense
    residual: bool = True

    @nn.compact
    def __call__(self, x):
        y = self.dense(self.features)(x)
        return x + y if self.residual else y


class Stage(nn.Module):
    features: int
    dense: Any = nn.Dense

    @nn.compact
    def __call__(self, x):
        return Block(self.features, self.dense)(x)


class Another(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Block(4, functools.partial(nn.Dense, use_bias=False))(x)


"""


def test_a_class_that_calls_give_several_layers_is_one_for_each():
    text = converted(
        BLOCKS
        + """\
class Thing(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        x = Block(self.features)(x)
        x = Block(self.features, Scaled, False)(x)
        x = Block(self.features, functools.partial(Scaled, scale=0.5))(x)
        x = Stage(self.features)(x)
        return Stage(self.features, dense=Scaled)(x)
""",
        LINEN + "import functools\n",
    ).text
    first, _, rest = text.partition("class BlockScaled(Layer)")
    assert "Linear(self.features, self.features)" in first.partition("class Block(")[2]
    second, _, rest = rest.partition("class BlockScaled2(Layer)")
    assert "Scaled(self.features, features=self.features)" in second
    assert "Scaled(self.features, features=self.features, scale=0.5)" in rest
    assert "self.block_scaled_0 = BlockScaled(self.features, residual=False)" in text
    assert "self.block_0 = Block(self.features)" in rest.partition("class Stage(")[2]
    scaled = rest.partition("class StageScaled(")[2]
    assert "self.block_scaled_0 = BlockScaled(self.features)" in scaled


def test_what_is_converted_is_given_its_default_and_nothing_of_others():
    text = converted(BLOCKS.replace("Stage", "Thing"), LINEN).text
    assert "self.linear_0 = Linear(self.features, self.features)" in text
    assert "use_bias" not in text
    assert "dense" not in text


# Functions that make layers.


def test_a_function_that_is_given_a_configuration_makes_layers_of_its_settings():
    text = converted(
        """\
import dataclasses


@dataclasses.dataclass
class Config:
    width: int = 8
    std: float = 0.02


def dense(features, config, gain=1.0, **kw):
    return nn.Dense(features, kernel_init=nn.initializers.normal(gain * config.std), **kw)


class Thing(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        cfg = self.config
        x = nn.relu(dense(4 * cfg.width, cfg, name="up")(x))
        return dense(cfg.width, cfg, gain=0.5, use_bias=False)(x)
""",
        LINEN,
    ).text
    assert "self.up = Linear(self.in_features, 4 * self.width, " in text
    assert "normal(0.5 * self.std)" in text
    assert "use_bias=False" in text
    assert "features = " not in text


# Layers that are handed to parts.


def test_a_part_without_weights_that_is_handed_a_layer_calls_it():
    text = converted(
        module(
            "Attend",
            "",
            "q, k, v, drop=None: p = torch.softmax(q @ k.transpose(-2, -1), -1); "
            "p = drop(p) if drop is not None else p; return p @ v, p",
            "",
        ).replace("self, )", "self)")
        + module(
            "Thing",
            "self.attend = Attend()\nself.q = nn.Linear(dim, dim)\nself.drop = nn.Dropout(0.1)",
            "x: y, p = self.attend(self.q(x), x, x, drop=self.drop); return y",
        )
    ).text
    assert "p = self.drop(p)" in text
    assert "class Attend" not in text


# Lists of maps.


def test_a_list_of_maps_that_parts_are_handed_is_one():
    made = converted(
        module(
            "Head",
            "self.conv = nn.Conv2d(dim, 2, 3, padding=1)",
            "x: outs = []; "
            "for features in x:; "
            "    outs.append(self.conv(features).flatten(2)); "
            "return torch.cat(outs, dim=2)",
        )
        + module(
            "Thing",
            "self.head = Head(dim)",
            "x: return self.head(x)",
        )
    )
    assert made.text.count("x: tuple[Float['_ dim _ _'], ...]") == 2
    assert made.trial is not None
    # They are compared on maps of two sizes.
    [(_, (first, second))] = made.trial.inputs
    assert first[:2] == second[:2]  # type: ignore[index]
    assert first[2:] != second[2:]  # type: ignore[index]


def test_an_array_that_a_loop_goes_through_in_time_stays_an_array():
    text = converted(
        module(
            "Thing",
            "self.cell = nn.GRUCell(dim, dim)",
            "x, h: outs = []; "
            "for step in x:; "
            "    h = self.cell(step, h); "
            "    outs.append(h); "
            "return torch.stack(outs)",
        )
    ).text
    assert "tuple[" not in text


# Axes that docstrings tell.


def test_axes_that_a_docstring_calls_otherwise_are_others():
    text = """\
class Thing(nn.Module):
    def forward(self, query, key, points, more):
        '''
        query: queries, [B, T, C]
        key: keys, [B, S, C]
        points: [batch_size, D, N]
        more: [B, D, S]
        '''
        return query, key, points, more
"""
    told = documented_inputs(text, "Thing", "Thing")
    assert told == {
        ("Thing", "query"): ("batch", "positions", "features"),
        ("Thing", "key"): ("batch", "s", "features"),
        ("Thing", "points"): ("batch", "d", "n"),
        ("Thing", "more"): ("batch", "d", "s"),
    }


def test_an_order_of_which_a_part_is_repeated_to_gather_holds_indices():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.Linear(dim, dim)",
            "x, order: n, l, d = x.shape; kept = order[:, :3]; "
            "x = torch.gather(x, dim=1, index=kept.unsqueeze(-1).repeat(1, 1, d)); "
            "return self.fc(x)",
        )
    ).text
    assert "order: Int['n axis1']" in text


def test_positions_that_become_places_of_a_resolution_are_as_many():
    text = converted(
        module(
            "Thing",
            "self.resolution = resolution\nself.fc = nn.Linear(dim, dim)",
            "x: H, W = self.resolution; B, L, C = x.shape; "
            "return self.fc(x).view(B, H, W, C).mean(dim=(1, 2))",
            "dim, resolution",
        )
    ).text
    assert "'resolution': (8, 8), 'x': (2, 64, 8)" in text


# Parts of arrays.


def test_chunks_of_a_batch_that_are_joined_again_are_the_batch():
    text = converted(
        module(
            "Ghost",
            "self.size = size\nself.bn = nn.BatchNorm1d(dim)",
            "x: chunks = x.chunk(int(np.ceil(x.shape[0] / self.size)), 0); "
            "return torch.cat([self.bn(part) for part in chunks], dim=0)",
            "dim, size=128",
        )
        + module(
            "Thing",
            "self.fc = nn.Linear(dim, 2 * dim)\nself.bn = Ghost(2 * dim)",
            "x: y = self.bn(self.fc(x)); a, b = y.chunk(2, -1); return a * torch.sigmoid(b)",
        ),
        TORCH + "import numpy as np\n",
    ).text
    assert (
        "def forward(self, x: Float['*batch dim']) -> Float['*batch dim']:" in text
    ), text


# Windows.


def test_a_window_that_is_one_number_is_over_one_axis():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, width: int = 4, *, rngs: nnx.Rngs):
        self.conv = nnx.Conv(dim, dim, kernel_size=width, padding=[(width - 1, 0)], rngs=rngs)

    def __call__(self, x):
        return self.conv(x)
""",
        NNX,
    ).text
    assert "Conv(1, self.dim, self.dim, self.width" in text


def test_a_weight_of_no_known_size_is_cast_to_nothing_else():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, states: int = 4, *, rngs: nnx.Rngs):
        decay = jnp.tile(jnp.arange(1, states + 1, dtype=jnp.float32), (dim, 1))
        self.log = nnx.Param(jnp.log(decay))

    def __call__(self, x):
        rate = -jnp.exp(self.log[...].astype(jnp.float32))
        return jnp.einsum("bld,dn->bldn", x, rate)
""",
        NNX,
    ).text
    assert "rate = -jnp.exp(self.log)" in text


# Layers of several kinds in one list.


def test_a_loop_asks_layers_of_a_list_for_their_class():
    text = converted(
        """\
class Block(nnx.Module):
    def __init__(self, dim, rngs):
        self.fc = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x, temb):
        return self.fc(x) + temb


class Thing(nnx.Module):
    def __init__(self, dim: int, depths=(1, 2), *, rngs: nnx.Rngs):
        self.downs = nnx.List([])
        for i, depth in enumerate(depths):
            for _ in range(depth):
                self.downs.append(Block(dim, rngs=rngs))
            if i == 0:
                self.downs.append(nnx.LayerNorm(dim, rngs=rngs))

    def __call__(self, x, temb):
        hs = [x]
        for layer in self.downs:
            x = layer(x, temb) if isinstance(layer, Block) else layer(x)
            if not isinstance(layer, Block):
                hs.append(x)
        return jnp.concatenate(hs, axis=-1)
""",
        NNX,
    ).text
    assert "isinstance" not in text
    assert "x = self.downs_0(x, temb)" in text
    assert "x = self.downs_1(x)\n        hs.append(x)" in text
    assert text.count("hs.append(x)") == 1


def test_a_method_that_must_be_given_a_number_is_given_the_default_of_the_call():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def encode(self, x, ratio):
        keep = int(x.shape[1] * (1 - ratio))
        return self.fc(x[:, :keep])

    def forward(self, x, ratio=0.75):
        return self.encode(x, ratio)
"""
    ).text
    assert "self._encode(x, 0.75)" in text
