"""Habits of people who write PyTorch: open arguments, counters, lists under the name of a layer."""

from __future__ import annotations

import textwrap

import pytest
from test_conversion_forms import converted
from test_conversion_torch import module


def thing(methods: str, setup: str = "self.fc = nn.Linear(dim, dim)") -> str:
    """What a class of these methods becomes."""
    head = module("Thing", setup, "x: return self.fc(x)").rstrip()
    return converted(f"{head}\n\n{textwrap.indent(methods, '    ')}\n").text


@pytest.mark.parametrize(
    ("method", "head", "body"),
    [
        (
            "def loss(self, *args, **kwargs):\n"
            "    x = args[0]\n    y = args[1]\n    return kwargs['weight'] * (x - y).mean()",
            "def _loss(self, x, y, weight):",
            "return weight * mean(x - y)",
        ),
        (
            "def loss(self, *args, **kwargs):\n"
            "    return kwargs.get('weight', 2.0) * (args[0] - args[1]).mean()",
            "def _loss(self, args_0, args_1",
            "return 2.0 * mean(args_0 - args_1)",
        ),
        (
            "def loss(self, x, **given):\n    return given['weight'] * x.mean()",
            "def _loss(self, x, weight):",
            "return weight * mean(x)",
        ),
    ],
)
def test_what_a_method_reads_by_its_place_or_name_is_a_parameter(method, head, body):
    text = thing(method)
    assert head in text
    assert body in text


def test_a_counter_that_nothing_reads_is_left_out():
    text = thing(
        "def loss(self, x):\n    self.calls += 1\n    return x.mean()",
        "self.fc = nn.Linear(dim, dim)\nself.calls = 0",
    )
    assert "calls" not in text
    assert "return mean(x)" in text


LISTED = module(
    "Thing",
    "self.each, self.count = each, count\n"
    "if self.each:\n"
    "    self.head = nn.ModuleList([nn.Linear(dim, 2) for _ in range(self.count)])\n"
    "else:\n"
    "    self.head = nn.Linear(dim, 2)",
    "x: if self.each:;     return sum(self.head[i](x) for i in range(self.count));"
    " return self.head(x)",
    "dim, each: bool, count: int",
).replace("\n        return self.head(x)", "\n        else:\n            return self.head(x)")  # fmt: skip


def test_a_list_under_a_condition_is_not_the_layer_of_its_name():
    text = converted(LISTED).text
    assert "self.head_list = [Linear(self.dim, 2) for _ in range(self.count" in text
    assert "self.head = Linear(self.dim, 2) if not self.each else None" in text
    assert "self.head_list[i](x)" in text
    assert "return self.head(x)" in text


def test_settings_of_a_configuration_that_are_stored_and_only_asked_are_bools():
    text = converted(
        module(
            "Thing",
            "self.each = config.each\nself.fc = nn.Linear(config.width, 2)",
            "x: return self.fc(x) if self.each else -self.fc(x)",
            "config",
        )
    ).text
    assert "each: bool" in text


def test_products_of_matrices_are_of_two_axes():
    text = converted(
        module(
            "Thing",
            "self.w = nn.Parameter(torch.randn(dim, dim))",
            "x, y: return torch.mm(x, self.w.t()) + torch.mm(y, self.w.t())",
        )
    ).text
    assert "x: Float['batch dim'], y: Float['" in text
    assert "*batch dim" not in text


def test_an_axis_that_a_loop_goes_along_is_as_long_as_the_loop():
    text = converted(
        module(
            "Thing",
            "self.fc = nn.ModuleList([nn.Linear(dim, 2) for _ in range(count)])\n"
            "self.count = count",
            "x: b, n, d = x.shape; y = x.new_zeros(b, 2);"
            " for i in range(self.count):;     y = y + self.fc[i](x[:, i, :]); return y",
            "dim, count",
        ).replace(";     y", ";\n            y")
    ).text
    assert "x: Float['b count dim']" in text
