"""Sizes that a constructor finds out by trying its layers with an array are computed."""

import pytest
from test_conversion_forms import TORCH

from mlax_scaffold.conversion import convert

NET = """\
import numpy as np
class Thing(nn.Module):
    def __init__(self, {given}, actions=3):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d({channels}, 8, kernel_size=8, stride=4),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        {size}
        self.head = nn.Linear(size, actions)

    def forward(self, x):
        return self.head(torch.flatten(self.conv(x), 1))
{method}"""
TRIED = "self.conv(torch.zeros(1, *shape))"
OUT = """\

    def out(self, shape):
        tried = self.conv(torch.zeros(1, *shape))
        return int(np.prod(tried.size()))
"""


@pytest.mark.parametrize(
    ("size", "method"),
    [
        (f"size = {TRIED}.view(1, -1).size(1)", ""),
        (f"size = {TRIED}.flatten(1).shape[1]", ""),
        (f"size = {TRIED}.numel()", ""),
        (f"with torch.no_grad():\n            size = {TRIED}.view(-1).shape[0]", ""),
        ("size = self.out(shape)", OUT),
    ],
)
def test_what_layers_make_of_an_array_is_computed(size, method):
    """Of 36 by 36 comes 8 by 8, and 4 by 4 of that: 8 * 4 * 4."""
    given = {"given": "shape=(4, 36, 36)", "channels": "shape[0]"}
    text = NET.format(**given, size=size, method=method)
    made = convert("thing.py", TORCH + text, "Thing", "FromThing", run=1)
    assert made.whole, made.notes
    assert "Conv(2, 4, 8, 8, strides=4, padding=0)" in made.text
    assert "Linear(128, self.actions)" in made.text
    assert made.trial is not None
    assert made.trial.inputs == (("x", (2, 4, 36, 36)),)


def test_an_image_of_which_nothing_is_told_is_one_of_four_frames():
    given = {"given": "input_shape", "channels": "input_shape[0]", "method": ""}
    size = f"size = {TRIED}.numel()".replace("shape", "input_shape")
    made = convert(
        "thing.py", TORCH + NET.format(**given, size=size), "Thing", "FromThing", run=1
    )
    assert "Linear(200, self.actions)" in made.text
    assert made.trial is not None
    assert made.trial.given == (("input_shape", "(4, 44, 44)"),)


def test_a_layer_of_the_file_is_not_tried():
    given = {"given": "shape=(4, 36, 36)", "channels": "4", "method": ""}
    text = NET.format(**given, size=f"size = {TRIED}.numel()")
    text = text.replace("nn.ReLU()", "Other()") + (
        "class Other(nn.Module):\n    def forward(self, x):\n        return x[:, :, 1:]\n"
    )
    made = convert("thing.py", TORCH + text, "Thing", "FromThing", run=1)
    assert "Linear(128" not in made.text


BOUNDED = """\
class Bounded(nn.{layer}):
    def __init__(self, *args, most=1.0, **kwargs):
        self.most = most
        super().__init__(*args, **kwargs)

    def forward(self, x):
        {bound}
        return super().forward(x)


class Thing(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = Bounded({given}, most=0.5)
        self.head = nn.Linear({size}, 3)

    def size(self):
        with torch.no_grad():
            return self.conv(torch.zeros(1, 2, 9, 12)).flatten(1).shape[1]

    def forward(self, x):
        return self.head(self.conv(x).flatten(1))
"""
RENORM = "torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.most)"


def test_a_class_that_is_built_on_a_layer_is_tried_as_that_layer():
    """Of 9 by 12, a window of 9 by 1 leaves 1 by 12."""
    bound = f"self.weight.data = {RENORM}"
    text = BOUNDED.format(
        layer="Conv2d", bound=bound, given="2, 4, (9, 1)", size="self.size()"
    )
    made = convert("thing.py", TORCH + text, "Thing", "FromThing", "LAYER", (), 1)
    assert made.whole, made.notes
    assert "self.head = Linear(48, 3)" in made.text
    assert "forward(self, x: Float['batch 2 9 12'])" in made.text
    assert "self.kernel_size[0], self.kernel_size[1]))" in made.text


@pytest.mark.parametrize(
    ("bound", "read"),
    [
        (f"self.weight.data = {RENORM}", "weight_ = self.weight * jnp.minimum(1, "),
        (f"if self.most:\n            self.weight.data = {RENORM}", " if self.most else self.weight"),
        ("with torch.no_grad():\n            self.weight.clamp_(0)", "weight_ = jnp.clip(self.weight, 0"),
        ("self.weight.data.clamp_(min=0)", "weight_ = jnp.clip(self.weight, 0"),
    ],
)  # fmt: skip
def test_a_weight_that_each_call_bounds_is_bounded_where_it_is_read(bound, read):
    text = BOUNDED.format(layer="Linear", bound=bound, given="4, 4", size="4")
    text = text.replace("def size(self):", "def never_called(self, x):")
    text = text.replace("torch.zeros(1, 2, 9, 12)", "x")
    made = convert("thing.py", TORCH + text, "Thing", "FromThing", "LAYER")
    assert made.whole, made.notes
    assert read in made.text
    assert "jnp.matmul(x, weight_" in made.text or "x @ weight_" in made.text
    assert any("bounds the weight in each call" in n.what for n in made.notes)
