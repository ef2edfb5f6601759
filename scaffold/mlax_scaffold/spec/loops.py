"""Words for loops, which a spec that is run eagerly leaves to jax."""

from __future__ import annotations

from jax import lax

scan = lax.scan
map_chunks = lax.map
