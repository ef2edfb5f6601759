"""What drawn layers and optimizers draw: the same in Python, and from keys that differ."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


class Draws:
    """`jax.random.normal`, which notes its keys and what it draws; and another that draws the same."""

    def __init__(self) -> None:
        self.normal = jax.random.normal
        self.start()

    def start(self) -> None:
        """Forgets what was drawn."""
        self.keys: list[bytes] = []
        self.drawn: list[jax.Array] = []

    def noted(self, key: Any, shape: Any, dtype: Any) -> jax.Array:
        self.keys.append(np.asarray(jax.random.key_data(key)).tobytes())
        self.drawn.append(self.normal(key, shape, dtype))
        return self.drawn[-1]

    def again(self, key: Any, shape: Any, dtype: Any) -> jax.Array:
        return self.drawn.pop(0)

    def assert_keys_differ(self) -> None:
        assert len(set(self.keys)) == len(self.keys), "a key is used twice"

    def assert_all_drawn(self) -> None:
        assert not self.drawn, "Python draws less often"
