"""Layers and blocks against what their papers say, in float64."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from made import Made, assert_same, drawn, made
from references import (
    act_norm as _act_norm,  # noqa: F401
)
