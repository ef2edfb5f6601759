"""Norms that keep averages where others of their kind do not, or none."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_torch import module


@pytest.mark.parametrize(
    ("layer", "inner", "shape"),
    [
        ("BatchNorm1d", "nn.Linear(dim, dim)", "'batch num_features'"),
        ("BatchNorm1d", "nn.Conv1d(dim, dim, 3)", "'batch num_features axis2'"),
        ("BatchNorm2d", "nn.Conv2d(dim, dim, 3)", "'batch num_features height width'"),
    ],
)
def test_a_norm_without_averages_takes_the_moments_of_the_batch(layer, inner, shape):
    setup = (
        f"self.inner = {inner}\n"
        f"self.norm = nn.{layer}(dim, 1e-3, 0.2, track_running_stats=False)"
    )
    text = converted(module("Thing", setup, "x: return self.norm(self.inner(x))")).text
    axes = (
        "(0,)" if shape.count(" ") == 1 else str((0, *range(2, shape.count(" ") + 1)))
    )
    assert f"mean_ = mean(x, axis={axes}, keepdims=True)" in text
    assert f"def forward(self, x: Float[{shape}])" in text
    assert "(self.dim, eps=0.001)" in text
    assert "state(" not in text
    assert "if self.training" not in text


def test_averages_of_moments_of_examples_are_states():
    setup = "self.norm = nn.InstanceNorm2d(dim, affine=True, track_running_stats=True)"
    text = converted(module("Thing", setup, "x: return self.norm(x)")).text
    assert "self.norm = InstanceAveragesNorm2d(self.dim, affine=True)" in text
    assert "self.running_mean = state(zeros, (self.num_features,))" in text
    assert "mean_ = self.running_mean[:, None, None]" in text
    assert "var_ = var(x, axis=(2, 3), keepdims=True)" in text


@pytest.mark.parametrize(
    "call",
    [
        "nn.BatchNorm2d(dim, track_running_stats=True)",
        "nn.InstanceNorm2d(dim, track_running_stats=False)",
    ],
)
def test_what_a_norm_does_anyway_changes_nothing(call):
    text = converted(module("Thing", f"self.norm = {call}", "x: return self.norm(x)"))
    assert text.text.count("class ") == 1
