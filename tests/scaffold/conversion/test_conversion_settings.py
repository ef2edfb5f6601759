"""Configurations: classes that are given an object of settings take the settings themselves."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

TORCH = """\
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    width: int = 8
    heads: int = 2
    depth: int = 3
    drop: float = 0.1

    @property
    def head_width(self):
        return self.width // self.heads


class Inner(nn.Module):
    def __init__(self, config: Config, index: int):
        super().__init__()
        self.config = config
        self.fc = nn.Linear(config.width, config.head_width)
        self.drop = nn.Dropout(config.drop)

    def forward(self, x):
        return self.drop(self.fc(x)) * self.config.heads


class Thing(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        {setup}

    def forward(self, x):
        {body}
"""
LINEN = """\
import dataclasses

import flax.linen as nn


@dataclasses.dataclass(frozen=True)
class Config:
    width: int
    scale: float = 2.0


class Block(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        cfg = self.config
        return nn.Dense(cfg.width)(x) * cfg.scale


class Thing(nn.Module):
    config: Config
    depth: int = 2

    @nn.compact
    def __call__(self, x):
        for _ in range(self.depth):
            x = Block(self.config)(x)
        return x
"""


def of(setup: str, body: str = "return x") -> Converted:
    given = TORCH.format(setup=setup.replace("\n", "\n        "), body=body)
    return convert("thing.py", given, "Thing", "Thing")


def test_settings_are_fields_with_their_types_and_defaults():
    made = of(
        "self.layers = nn.ModuleList([Inner(config, i) for i in range(config.depth)])",
        "for layer in self.layers:\n            x = layer(x)\n        return x",
    )
    assert made.whole, made.notes
    inner, _, outer = made.text.partition("class Thing(Layer):")
    assert "config:" not in outer
    assert "config_drop=self.drop" in outer
    for text in (
        "width: Size = 8",
        "heads: Size = 2",
        "depth: Size = 3",
        "drop: Probability = 0.1",
    ):
        assert text in outer, outer
    # Its layer has the name of the setting.
    assert "self.drop = Dropout(self.config_drop)" in inner
    assert "Linear(self.width, self.width // self.heads)" in inner
    assert "self.drop(self.fc(x)) * self.heads" in inner


def test_the_original_is_given_its_configuration():
    made = of("self.fc = nn.Linear(config.width, 4)", "return self.fc(x)")
    assert made.trial is not None
    assert made.trial.parameters == (("config.width", "width"),)
    assert made.trial.settings == (("config", "Config"),)


def test_a_field_that_is_a_configuration_becomes_its_settings():
    made = convert("thing.py", LINEN, "Thing", "Thing")
    assert made.whole, made.notes
    _, _, outer = made.text.partition("class Thing(Layer):")
    assert "    width: Size\n" in outer
    assert "    scale: Positive = 2.0\n" in outer
    assert "width=self.width, scale=self.scale" in outer


@pytest.mark.parametrize(
    "use", ["print(vars(config))", "config.width = 3", "self.inner = make(config)"]
)
def test_a_configuration_that_is_used_otherwise_stays_and_is_not_guessed(use: str):
    forward = "return self.inner(self.fc(x))" if "inner" in use else "return self.fc(x)"
    made = of(f"{use}\nself.fc = nn.Linear(config.width, 4)", forward)
    assert "    width: Size" not in made.text


OBJECTS = """\
class Stem(nn.Module):
    patches: Any
    dim: int = 8

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.dim, self.patches.size, strides=self.patches.size)(x)
        n, h, w, c = x.shape
        x = x.reshape(n, h * w, c)
        return nn.Dense(h * w)(jnp.swapaxes(x, 1, 2))
"""
OF_ANY = (
    "from typing import Any\nimport flax.linen as nn\nimport jax.numpy as jnp\n\n\n"
)


def test_a_field_of_any_type_is_the_settings_that_are_read_of_it():
    made = convert("thing.py", OF_ANY + OBJECTS, "Stem", "Stem")
    assert made.whole
    assert "patches_size: Sizes\n" in made.text
    assert (
        "Conv(2, self.in_channels, self.dim, self.patches_size, strides=" in made.text
    )
    rows = "-(-self.height // self.patches_size[0])"
    cells = f"{rows} * -(-self.width // self.patches_size[1])"
    assert f"self.linear_0 = Linear({cells}, {cells})" in made.text
    assert made.trial is not None
    assert ("patches.size", "patches_size") in made.trial.parameters
    assert made.trial.settings == (("patches", ""),)


@pytest.mark.parametrize("read", ["patches.size(x)", "patches.shape", "patches"])
def test_a_field_of_any_type_that_is_no_object_of_settings_stays(read):
    text = OF_ANY + OBJECTS.replace("self.patches.size", f"self.{read}")
    assert "patches_" not in convert("thing.py", text, "Stem", "Stem").text


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Any", "rearrange(x, 'n h w c -> n (h w) c')"),
        ("Sequence[int]", "rearrange(x, 'n h w c -> n (h w) c')"),
        ("tuple[int, int]", "x"),
    ],
)
def test_a_kernel_has_as_many_sides_as_patterns_and_types_tell(kind, told):
    text = f"""\
from typing import Any, Sequence
from einops import rearrange
import flax.linen as nn


class Stem(nn.Module):
    patch: {kind}
    dim: int = 8

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.dim, self.patch, strides=self.patch)(x)
        x = {told}
        return nn.Dense(4)(x)
"""
    text = convert("thing.py", text, "Stem", "Stem").text
    assert "Conv(2, self.in_channels, self.dim, self.patch, strides=" in text
    assert "x: Float['batch height width in_channels']" in text
