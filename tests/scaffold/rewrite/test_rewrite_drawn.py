"""Drawn layers compute, change and draw what the same text does as a class of Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_layers import SUB_LAYERS, drawn_layer
from plain_layers import loaded, plain_classes, states_of
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

SEEDS = range(16)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    texts = {f"drawn{seed}": drawn_layer(f"Drawn{seed}", seed) for seed in SEEDS}
    specs = [
        SpecFile(f"specs/nn/{name}.py", "nn", text)
        for name, text in (SUB_LAYERS | texts).items()
    ]
    with importable(specs, words, tmp_path_factory.mktemp("drawn")) as made:
        yield made


class Draws:
    """`jax.random.normal`, which notes its keys and what it draws; and another that draws the same."""

    def __init__(self) -> None:
        self.normal = jax.random.normal
        self.keys: list[bytes] = []
        self.drawn: list[jax.Array] = []

    def noted(self, key: Any, shape: Any, dtype: Any) -> jax.Array:
        self.keys.append(np.asarray(jax.random.key_data(key)).tobytes())
        self.drawn.append(self.normal(key, shape, dtype))
        return self.drawn[-1]

    def again(self, key: Any, shape: Any, dtype: Any) -> jax.Array:
        return self.drawn.pop(0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_layer_is_what_python_says(
    seed: int,
    flag: bool,
    training: bool,
    examples: Examples,
    monkeypatch: pytest.MonkeyPatch,
):
    module, draws = examples.module("nn", f"drawn{seed}"), Draws()
    classes = plain_classes([*SUB_LAYERS.values(), drawn_layer("Drawn", seed)])
    numbers = np.random.default_rng(seed)
    with jax.enable_x64(True), jax.disable_jit():
        made = module.init(jax.random.key(0), flag=flag, dtype=jnp.float64)
        weights, states = jax.tree.map(
            lambda a: jnp.asarray(numbers.normal(1.0, 0.5, a.shape)), made[:2]
        )
        x = jnp.asarray(numbers.normal(size=(2, 3)))
        monkeypatch.setattr(jax.random, "normal", draws.noted)
        y, after = module.fwd(
            x, weights, states, made[2], not training, jax.random.key(1)
        )
        assert len(set(draws.keys)) == len(draws.keys), "a key is used twice"
        monkeypatch.setattr(jax.random, "normal", draws.again)
        layer = loaded(classes["Drawn"](flag=flag), weights, states, training)
        expected = layer(x)
        assert not draws.drawn, "Python draws less often"
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, 1e-9, 1e-9),
            (y, after),
            (expected, states_of(layer, after)),
        )
