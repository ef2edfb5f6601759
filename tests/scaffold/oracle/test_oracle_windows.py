"""The pairs that a padding stands for: in specs, and in the generated package."""

from __future__ import annotations

import inspect

import pytest
from jax import lax

import mlax._core.windows
from mlax_scaffold.spec import explicit_padding

SIZE, WINDOW, STRIDES, DILATION = (7, 8), (3, 2), (2, 3), (1, 2)
BOTH = pytest.mark.parametrize(
    "pairs", [explicit_padding, mlax._core.windows.explicit_padding]
)


def test_both_are_the_same():
    of_spec, of_package = (
        inspect.getsource(f).partition('"""')[2]
        for f in (explicit_padding, mlax._core.windows.explicit_padding)
    )
    assert of_spec == of_package


@BOTH
@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID"])
def test_words_are_those_of_jax(pairs, padding):
    expected = lax.padtype_to_pads(SIZE, (3, 3), STRIDES, padding)
    assert pairs(padding, SIZE, WINDOW, STRIDES, DILATION) == tuple(expected)


@BOTH
def test_causal_windows_end_with_their_element(pairs):
    assert pairs("CAUSAL", SIZE, WINDOW, STRIDES, DILATION) == ((2, 0), (2, 0))


@BOTH
def test_pairs_stay(pairs):
    assert pairs(((1, 2), (0, 3)), SIZE, WINDOW, STRIDES) == ((1, 2), (0, 3))


@BOTH
@pytest.mark.parametrize(
    ("size", "window", "stride", "low", "high", "expected"),
    [
        (7, 3, 2, 0, 0, 0),  # the last window fits
        (8, 3, 2, 0, 0, 1),  # one element is missing
        (8, 3, 2, 1, 1, 2),
        (9, 3, 2, 1, 1, 1),  # fits with the padding
        (2, 2, 3, 1, 1, 1),  # another window would start in the padding
        (5, 2, 3, 0, 1, 1),
        (7, 1, 4, 0, 0, 0),
    ],
)
def test_what_the_last_window_lacks(pairs, size, window, stride, low, high, expected):
    found = pairs(((low, high),), (size,), (window,), (stride,), ceil=True)
    assert found == ((low, expected),)
