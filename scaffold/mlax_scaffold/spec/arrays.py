"""Words for arrays that are functions of the runtime: eager specs call the very ones of generated code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from mlax_scaffold.spec.runtime import runtime

add_at: Callable[..., jax.Array] = runtime("_core.sums").add_at
cast: Callable[..., Any] = runtime("_core.arrays").cast
cudnn_attention: Callable[..., jax.Array | None] = runtime(
    "_core.kernels"
).cudnn_attention
explicit_padding: Callable[..., tuple[tuple[int, int], ...]] = runtime(
    "_core.windows"
).explicit_padding
pad_axes: Callable[..., jax.Array] = runtime("_core.windows").pad_axes
segment_sum: Callable[..., jax.Array] = runtime("_core.sums").segment_sum
selected: Callable[..., tuple[jax.Array, jax.Array]] = runtime("_core.sums").selected
spread: Callable[..., jax.Array] = runtime("_core.sums").spread
doublings: Callable[[Any], int] = runtime("_core.sums").doublings
ratio: Callable[..., Any] = runtime("_core.sums").ratio
spread_mean: Callable[..., jax.Array] = runtime("_core.sums").spread_mean
stored_moments: Callable[..., tuple[jax.Array, jax.Array, jax.Array, jax.Array]] = (
    runtime("_core.arrays").stored_moments
)
take_rows: Callable[..., jax.Array] = runtime("_core.sums").take_rows
weighted_sum: Callable[..., jax.Array] = runtime("_core.sums").weighted_sum
widened: Callable[..., Callable[..., Any]] = runtime("_core.precision").widened
