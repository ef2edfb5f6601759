"""Data that is drawn, the same for every program: batch i of a seed is the same in each call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_GLYPHS = (
    *("0e 11 13 15 19 11 0e", "04 0c 04 04 04 04 0e", "0e 11 01 02 04 08 1f"),
    *("1f 02 04 02 01 11 0e", "02 06 0a 12 1f 02 02", "1f 10 1e 01 01 11 0e"),
    *("06 08 10 1e 11 11 0e", "1f 01 02 04 08 08 08", "0e 11 11 0e 11 11 0e"),
    "0e 11 11 0f 01 02 0c",
)
"""Digits of 7 rows and 5 columns; a row is a number whose bits are its points."""

TEXT = "the layer maps the input to the output and the state to the next state. "


def digits(count: int, size: int = 32) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Images (size, 12, 12, 1) of digits, moved and with noise, and which digits they are."""
    rows = [[int(row, 16) for row in glyph.split()] for glyph in _GLYPHS]
    glyphs = np.array(
        [[[row >> b & 1 for b in range(4, -1, -1)] for row in g] for g in rows]
    )
    for number in range(count):
        draws = np.random.default_rng(number)
        labels = draws.integers(0, 10, size)
        images = draws.normal(scale=0.2, size=(size, 12, 12, 1)).astype(np.float32)
        for image, label, (top, left) in zip(
            images, labels, draws.integers(1, 4, (size, 2)), strict=True
        ):
            image[top : top + 7, left : left + 5, 0] += glyphs[label]
        yield images, labels


def characters(
    count: int, length: int, size: int = 16
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Parts of a text as numbers of characters, (size, length), and the character after each."""
    text = np.array([VOCABULARY.index(c) for c in TEXT * 8])
    for number in range(count):
        starts = np.random.default_rng(number).integers(0, len(text) - length - 1, size)
        windows = starts[:, None] + np.arange(length + 1)
        yield text[windows[:, :-1]], text[windows[:, 1:]]


VOCABULARY = "".join(sorted(set(TEXT)))


def walks(
    count: int, size: int = 32
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Sequences (size, 20, 2), their lengths, and whether the first channel has the larger sum.

    What is beyond the length is noise.
    """
    for number in range(count):
        draws = np.random.default_rng(number)
        x = draws.normal(size=(size, 20, 2)).astype(np.float32)
        lengths = draws.integers(5, 21, size)
        known = np.arange(20) < lengths[:, None]
        sums = np.sum(x * known[..., None], axis=1)
        yield x, lengths, (sums[:, 0] > sums[:, 1]).astype(np.int32)
