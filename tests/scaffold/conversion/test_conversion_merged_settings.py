"""Settings that a constructor of PyTorch merges with those of a dictionary of the file."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_torch import module

TABLE = 'DEFAULT_CONFIG = {"width": 16, "depth": 2, "rate": 0.5}\n\n\n'
USES = """\
self.depth = cfg["depth"]
self.fc = nn.Linear(4, cfg["width"])
self.drop = nn.Dropout(cfg["rate"])"""
CALL = "x: y = self.drop(self.fc(x)); return y * self.depth"
FIELDS = ("width: Size = 16", "depth: Size = 2", "rate: Probability = 0.5")
MERGED = {
    "spread": "cfg = {**DEFAULT_CONFIG, **(config or {})}",
    "joined": "cfg = DEFAULT_CONFIG | (config or {})",
    "called": "cfg = dict(DEFAULT_CONFIG, **(config or {}))",
    "updated": "cfg = dict(DEFAULT_CONFIG)\ncfg.update(config or {})",
    "copied": "cfg = DEFAULT_CONFIG.copy()\nif config is not None:\n    cfg.update(config)",
    "chosen": "cfg = {**DEFAULT_CONFIG, **({} if config is None else config)}",
}


@pytest.mark.parametrize("how", MERGED)
def test_settings_have_the_defaults_that_they_are_merged_with(how: str):
    start = f"{MERGED[how]}\n{USES}"
    made = converted(TABLE + module("Thing", start, CALL, "config=None"))
    assert all(field in made.text for field in FIELDS)
    assert made.trial is not None
    assert ("config", "") in made.trial.settings


def test_settings_that_are_given_by_keywords_are_parameters():
    start = f"cfg = {{**DEFAULT_CONFIG, **kwargs}}\n{USES}"
    made = converted(TABLE + module("Thing", start, CALL, "**kwargs"))
    assert all(field in made.text for field in FIELDS)


def test_a_merged_dictionary_that_is_kept_is_read_in_methods():
    start = "self.cfg = {**DEFAULT_CONFIG, **(config or {})}\nself.fc = nn.Linear(4, self.cfg['width'])"
    call = "x: return self.fc(x) * self.cfg['depth']"
    text = converted(TABLE + module("Thing", start, call, "config=None")).text
    assert "width: Size = 16" in text
    assert "self.fc(x) * self.depth" in text


def test_a_dictionary_of_the_file_tells_what_a_configuration_holds():
    start = "self.fc = nn.Linear(4, config['width'])"
    text = converted(
        TABLE + module("Thing", start, "x: return self.fc(x)", "config")
    ).text
    assert "width: Size = 16" in text


def test_settings_of_settings_are_fields():
    start = """\
self.fc = nn.Linear(config["model"]["width"], config["head"]["width"])
self.drop = nn.Dropout(config["model"]["rate"])"""
    made = converted(
        module("Thing", start, "x: return self.drop(self.fc(x))", "config")
    )
    assert made.whole
    assert "Linear(self.model_width, self.head_width)" in made.text
    assert "rate: Probability\n" in made.text
    assert made.trial is not None
    assert ("config.model.rate", "rate") in made.trial.parameters


def test_settings_of_attributes_of_settings_are_fields():
    start = "self.fc = nn.Linear(cfg.MODEL.HEAD.WIDTH, cfg.MODEL.OUT)"
    made = converted(module("Thing", start, "x: return self.fc(x)", "cfg"))
    assert made.whole
    assert "Linear(self.width, self.out)" in made.text
