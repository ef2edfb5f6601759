"""Layers and blocks against what their papers say, in float64."""

from __future__ import annotations

from references import (
    act_norm as _act_norm,  # noqa: F401
)
