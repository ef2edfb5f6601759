"""What arguments of PyTorch's functions change in what they compute: numbers recorded from PyTorch."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_conversion_forms import TORCH, converted
from test_conversion_torch import module

from mlax_scaffold.conversion import convert

X = np.array(
    [[[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], [[2.0, 0.0, -3.0], [1.0, 5.0, -0.5]]],
    np.float32,
)


def computed(
    folder: Path, patch: pytest.MonkeyPatch, setup: str, expression: str
) -> Any:
    """What the layer computes that a module with this method becomes."""
    made = converted(module("Thing", setup, f"x: return {expression}", "dim=3"))
    file = folder / "from_thing.py"
    file.write_text(made.text)
    spec = importlib.util.spec_from_file_location("from_thing", file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    # Layers read their own source by the name of their module.
    patch.setitem(sys.modules, "from_thing", loaded)
    spec.loader.exec_module(loaded)
    return np.asarray(loaded.FromThing().forward(X))


RECORDED = [
    ("torch.std(x, 1, False, True)", (2, 1, 3), [0.25, 3.0, 2.0, 0.5, 2.5, 1.25]),
    ("torch.var_mean(x, 1, False, True)[0]", (2, 1, 3), [0.0625, 9.0, 4.0, 0.25, 6.25, 1.5625]),
    ("x.var(False)", (), [5.18056]),
    ("torch.linalg.norm(x, 2, dim=(-2, -1))", (2,), [5.12348, 5.20747]),
    ("torch.linalg.norm(x, 1, dim=(-2, -1))", (2,), [6.0, 5.0]),
    ("torch.linalg.norm(x, ord=1, dim=-1)", (2, 2), [6.0, 5.5, 5.0, 6.5]),
    ("torch.linalg.matrix_norm(x)", (2,), [5.59017, 6.26498]),
    ("torch.norm(x, p=0, dim=1)", (2, 3), [2.0, 2.0, 2.0, 2.0, 1.0, 2.0]),
    ("torch.norm(x, p=-1, dim=1)", (2, 3), [0.33333, 1.33333, 0.75, 0.66667, 0.0, 0.42857]),
    ("torch.split(x, 2, 2)[1]", (2, 2, 1), [3.0, -1.0, -3.0, -0.5]),
    ("torch.eye(2, 3)", (2, 3), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    ("torch.einsum('bij,bkj->bik', [x, x])", (2, 2, 2), [14.0, -10.5, -10.5, 17.25, 13.0, 3.5, 3.5, 26.25]),
    ("torch.cumsum(x > 0, 2, dtype=torch.int32)", (2, 2, 3),
     [1.0, 1.0, 2.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]),
    ("x.median(1, keepdim=True)[0]", (2, 1, 3), [0.5, -2.0, -1.0, 1.0, 0.0, -3.0]),
    ("torch.diff(x, dim=1, prepend=x[:, :1])", (2, 2, 3),
     [0.0, 0.0, 0.0, -0.5, 6.0, -4.0, 0.0, 0.0, 0.0, -1.0, 5.0, 2.5]),
    ("torch.max(x, other=x * 2)", (2, 2, 3),
     [2.0, -2.0, 6.0, 1.0, 8.0, -1.0, 4.0, 0.0, -3.0, 2.0, 10.0, -0.5]),
    ("F.avg_pool1d(x, 2, ceil_mode=True)", (2, 2, 2), [-0.5, 3.0, 2.25, -1.0, 1.0, -3.0, 3.0, -0.5]),
    ("F.max_pool1d(x, 2, ceil_mode=True)", (2, 2, 2), [1.0, 3.0, 4.0, -1.0, 2.0, -3.0, 5.0, -0.5]),
    ("F.avg_pool1d(x, 3, 1, 1, count_include_pad=False)", (2, 2, 3),
     [-0.5, 0.66667, 0.5, 2.25, 1.16667, 1.5, 1.0, -0.33333, -1.5, 3.0, 1.83333, 2.25]),
    ("F.softmax(x)", (2, 2, 3),
     [0.26894, 0.1192, 0.99753, 0.37754, 0.26894, 0.37754, 0.73106, 0.8808, 0.00247, 0.62246, 0.73106,
      0.62246]),
    ("F.batch_norm(x, x[0, :, 0], x[0, :, 2].abs(), x[0, :, 0], x[1, :, 0])", (2, 2, 3),
     [2.0, 0.26795, 3.1547, 1.0, 2.74999, 0.25, 2.57735, 1.42265, -0.3094, 1.25, 3.24999, 0.5]),
    ("x.unflatten(2, (3, 1))", (2, 2, 3, 1),
     [1.0, -2.0, 3.0, 0.5, 4.0, -1.0, 2.0, 0.0, -3.0, 1.0, 5.0, -0.5]),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "shape", "numbers"), RECORDED)
def test_arguments_count_as_in_pytorch(
    tmp_path, monkeypatch, expression, shape, numbers
):
    y = computed(tmp_path, monkeypatch, "self.dim = dim", expression)
    np.testing.assert_allclose(y, np.reshape(numbers, shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        ("nn.Flatten(0, 1)", (4, 3)),
        ("nn.Flatten(-2)", (2, 6)),
        ("nn.Flatten(1, 2)", (2, 6)),
        ("nn.Unflatten(2, (3, 1))", (2, 2, 3, 1)),
        ("nn.Unflatten(-1, torch.Size([1, 3]))", (2, 2, 1, 3)),
    ],
)
def test_layers_join_and_part_the_axes_that_they_are_given(
    tmp_path, monkeypatch, layer, shape
):
    y = computed(tmp_path, monkeypatch, f"self.f = {layer}", "self.f(x)")
    np.testing.assert_array_equal(y, X.reshape(shape))


def test_what_ceil_mode_adds_does_not_count_in_averages(tmp_path, monkeypatch):
    y = computed(
        tmp_path, monkeypatch, "self.f = nn.AvgPool1d(2, ceil_mode=True)", "self.f(x)"
    )
    expected = [[[-0.5, 3.0], [2.25, -1.0]], [[1.0, -3.0], [3.0, -0.5]]]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.bincount(x)",
        "F.avg_pool1d(x, 3, 2, 1, ceil_mode=True)",
        "F.batch_norm(x, None, None, training=True)",
    ],
)
def test_what_would_be_other_numbers_is_listed(expression):
    text = TORCH + module("Thing", "self.dim = dim", f"x: return {expression}")
    assert not convert("thing.py", text, "Thing", "FromThing", "LAYER").whole


def test_parts_that_are_unpacked_are_as_many_as_there_are_names():
    text = converted(
        module("Thing", "self.dim = dim", "x: a, b = x.split(2, dim=-1); return a * b")
    ).text
    assert "a, b = jnp.split(x, x.shape[-1] // 2, axis=-1)" in text


def test_results_of_one_call_that_are_new_are_changed_apart():
    text = converted(
        module(
            "Thing",
            "self.dim = dim",
            "x: w, i = x.topk(2, dim=-1); w /= w.sum(-1, keepdim=True); return w * i",
        )
    ).text
    assert "w /= sum(w, axis=-1, keepdims=True)" in text
