"""The same programs by pairs, by modules and by flax and optax: from the same weights, the same losses."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from docs_blocks import ROOT
from flax import nnx

import mlax

EXAMPLES = ROOT / "docs" / "examples"
FORMS = ("pairs", "modules", "nnx")
NAMES = sorted({path.stem.partition("_")[0] for path in EXAMPLES.glob("*_*.py")})


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A file of the examples, imported as one does who runs it in its folder."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(EXAMPLES)):
            del sys.modules[name]


def weights_of(trainables: Any) -> list[np.ndarray]:
    return [np.array(value) for value in mlax.flatten(trainables).values()]


def with_weights(trainables: Any, weights: list[np.ndarray]) -> Any:
    """The weights in the place of others, which lie in the same order."""
    given = dict(zip(mlax.flatten(trainables), map(jnp.asarray, weights), strict=True))
    return mlax.unflatten(given, trainables)


def set_weights(model: nnx.Module, given: dict[str, np.ndarray]) -> None:
    """The weights by their path, in the shapes that flax has."""
    state = nnx.state(model, nnx.Param)
    flat = dict(nnx.to_flat_state(state))
    names = {".".join(map(str, path)): path for path in flat}
    assert set(names) == set(given)
    for name, value in given.items():
        leaf = flat[names[name]]
        leaf.set_value(jnp.asarray(value).reshape(leaf.shape))
    nnx.update(model, state)


@pytest.mark.parametrize("name", NAMES)
def test_ours_are_no_longer_than_theirs(name):
    statements = {
        form: sum(
            isinstance(node, ast.stmt)
            for node in ast.walk(
                ast.parse((EXAMPLES / f"{name}_{form}.py").read_text())
            )
        )
        for form in FORMS
    }
    assert max(statements["pairs"], statements["modules"]) <= statements["nnx"]


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 2e-4), ("bfloat16", 0.05)])
def test_digits(program, dtype, rtol):
    data = program("data")
    pairs, modules, flax = (program(f"digits_{form}") for form in FORMS)
    state, hyperparams, adam = pairs.create(0)
    weights = weights_of(state.trainables)
    other, net, module_adam = modules.create(0)
    other = other._replace(trainables=with_weights(other.trainables, weights))
    model, optimizer = flax.create(0)
    kernels = [np.moveaxis(w, 0, -1) if w.ndim == 4 else w for w in weights]
    places = [
        f"{layer}.{n}"
        for layer in ("first", "second", "last")
        for n in ("kernel", "bias")
    ]
    set_weights(model, dict(zip(places, kernels, strict=True)))

    steps = 40
    state, ours = pairs.fit(state, hyperparams, adam, data.digits(steps), dtype)
    other, of_modules = modules.fit(other, net, module_adam, data.digits(steps), dtype)
    theirs = flax.fit(model, optimizer, data.digits(steps), dtype)
    np.testing.assert_allclose(of_modules, ours, rtol=1e-5)
    # Rounding grows with the steps, as it does from one machine to another.
    np.testing.assert_allclose(ours[:8], theirs[:8], rtol=rtol)

    [*_, unseen] = data.digits(steps + 1, 256)
    found = pairs.accuracy(state, hyperparams, unseen)
    assert found == pytest.approx(modules.accuracy(other, net, unseen), abs=0.01)
    assert found > 0.8
    assert found > flax.accuracy(model, unseen) - 0.05


def test_language(program):
    data = program("data")
    pairs, modules, flax = (program(f"language_{form}") for form in FORMS)
    characters = len(data.VOCABULARY)
    prompt = np.array([[data.VOCABULARY.index(c) for c in "the layer"]])
    weights, state, hyperparams = pairs.model(0, characters)
    initial = weights_of(weights)
    net, params = modules.model(0, characters, prompt)
    trainables, rest = params.split()
    params = with_weights(trainables, initial).merge(rest)
    model = flax.Model(characters, nnx.Rngs(0))
    set_weights(model, _flax_names(mlax.flatten(weights)))

    steps = 60
    weights, ours = pairs.fit(weights, state, hyperparams, data.characters(steps, 32))
    trainables, of_modules = modules.fit(net, params, data.characters(steps, 32))
    theirs = flax.fit(model, data.characters(steps, 32))
    np.testing.assert_allclose(of_modules, ours, rtol=1e-5)
    np.testing.assert_allclose(ours[:8], theirs[:8], rtol=2e-4)
    assert ours[-1] < 0.5
    assert ours[-1] < 1.2 * theirs[-1]

    text = pairs.write(weights, 0, characters, prompt, 12)
    again = modules.write(trainables, 0, characters, prompt, 12)
    assert text.shape == flax.write(model, prompt, 12).shape
    np.testing.assert_array_equal(text, again)
    # Without a cache, the whole text goes through the model for each character.
    whole = prompt
    for _ in range(12):
        logits, _ = hyperparams.apply(whole, weights, state, True)
        whole = np.concatenate([whole, np.argmax(logits[:, -1:], axis=-1)], axis=1)
    np.testing.assert_array_equal(whole[:, prompt.shape[1] :], text)


def _flax_names(weights: dict[str, Any]) -> dict[str, np.ndarray]:
    """Names of the language model's weights in flax."""
    parts = {
        "layers/0": "embed",
        "layers/1": "blocks.0",
        "layers/2": "blocks.1",
        "layers/3": "norm",
        "layers/4": "last",
        "to_query": "query",
        "to_key": "key",
        "to_value": "value",
        "to_output": "out",
        "feed_forward/widen": "up",
        "feed_forward/narrow": "down",
        "feed_forward_norm": "network_norm",
    }

    def renamed(name: str) -> str:
        for ours, theirs in parts.items():
            name = name.replace(ours, theirs)
        return name.replace("/", ".")

    return {renamed(name): np.asarray(value) for name, value in weights.items()}
