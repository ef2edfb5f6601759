"""Drawn layers and blocks compute, change and draw what the same text does as a class of Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_keys import Draws
from drawn_layers import SUB_LAYERS, drawn_block, drawn_layer
from plain_layers import loaded, plain_classes, states_of
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

SEEDS = range(16)
BLOCKS = range(8)
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    layers = {f"drawn{seed}": drawn_layer(f"Drawn{seed}", seed) for seed in SEEDS}
    blocks = {f"given{seed}": drawn_block(f"Given{seed}", seed) for seed in BLOCKS}
    specs = [
        SpecFile(f"specs/{section}/{name}.py", section, text)
        for section, texts in (("nn", SUB_LAYERS | layers), ("block", blocks))
        for name, text in texts.items()
    ]
    with importable(specs, words, tmp_path_factory.mktemp("drawn")) as made:
        yield made


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
    module = examples.module("nn", f"drawn{seed}")
    classes = plain_classes([*SUB_LAYERS.values(), drawn_layer("Drawn", seed)])
    with jax.enable_x64(True), jax.disable_jit():
        made = module.init(KEY, flag=flag, dtype=jnp.float64)
        plain = classes["Drawn"](flag=flag)
        compare(module, made, plain, training, seed, monkeypatch)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("seed", BLOCKS)
def test_a_drawn_block_is_what_python_says(
    seed: int,
    flag: bool,
    training: bool,
    examples: Examples,
    monkeypatch: pytest.MonkeyPatch,
):
    module = examples.module("block", f"given{seed}")
    classes = plain_classes([*SUB_LAYERS.values(), drawn_block("Drawn", seed)])
    with jax.enable_x64(True), jax.disable_jit():
        tick, noise = (
            examples.module("nn", name).init(KEY, 3, dtype=jnp.float64)
            for name in SUB_LAYERS
        )
        given = tick, noise, [tick, tick], [noise, noise]
        made = module.init(KEY, *given, flag=flag, dtype=jnp.float64)
        one, other = (lambda name=name: classes[name.title()](3) for name in SUB_LAYERS)
        own = one(), other(), [one(), one()], [other(), other()]
        plain = classes["Drawn"](*own, flag=flag)
        compare(module, made, plain, training, seed, monkeypatch)


def compare(
    module: Any,
    made: tuple[Any, Any, Any],
    plain: Any,
    training: bool,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A generated module with drawn weights and states, and the class of Python with the same."""
    draws, numbers = Draws(), np.random.default_rng(seed)
    weights, states = jax.tree.map(
        lambda a: jnp.asarray(numbers.normal(1.0, 0.5, a.shape)), made[:2]
    )
    x = jnp.asarray(numbers.normal(size=(2, 3)))
    monkeypatch.setattr(jax.random, "normal", draws.noted)
    y, after = module.fwd(x, weights, states, made[2], not training, jax.random.key(1))
    draws.assert_keys_differ()
    monkeypatch.setattr(jax.random, "normal", draws.again)
    layer = loaded(plain, weights, states, training)
    expected = layer(x)
    draws.assert_all_drawn()
    of_layer = jax.tree.leaves(states_of(layer, after))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, 1e-9, 1e-9),
        (y, jax.tree.leaves(after)),
        (expected, of_layer),
    )
