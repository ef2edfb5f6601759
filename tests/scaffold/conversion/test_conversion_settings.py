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
