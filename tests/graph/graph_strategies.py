"""Parameters that Hypothesis draws, and when two of them are the same."""

from __future__ import annotations

import jax
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import mlax.graph as bx

NAMES = st.text(min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)


@st.composite
def params_of(draw) -> bx.Params:
    """Some parameters, with any names, trainable or not, locked or not."""
    paths = draw(st.lists(PATHS, unique=True, max_size=6))
    entries = {
        path: bx.Param(
            np.full(draw(st.integers(0, 3)), i, np.float32),
            draw(st.booleans()),
            {"tag": i} if draw(st.booleans()) else {},
        )
        for i, path in enumerate(paths)
    }
    params = bx.Params(entries)
    return params.locked() if draw(st.booleans()) else params


def same(a: bx.Params, b: bx.Params) -> bool:
    """Whether two hold the very same values, in the same order, with the same facts."""
    return jax.tree.structure(a) == jax.tree.structure(b) and all(
        x is y for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


examples = settings(max_examples=25, deadline=None, derandomize=True, database=None)
