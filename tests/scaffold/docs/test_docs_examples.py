"""The same programs by pairs, by modules and by flax and optax: from the same weights, the same losses."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from docs_examples import EXAMPLES, FORMS, alike, in_pairs, in_params, weights_of
from flax import nnx

import mlax

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
    model, optimizer = flax.create(0)
    state, hyperparams, adam = in_pairs(model, *pairs.create(0))
    other, net, module_adam = in_params(state, *modules.create(0))

    steps = 60
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


def test_lengths(program):
    data = program("data")
    pairs, modules, flax = (program(f"lengths_{form}") for form in FORMS)
    model, optimizer = flax.create(0)
    state, hyperparams, adam = in_pairs(model, *pairs.create(0))
    other, net, module_adam = in_params(state, *modules.create(0))

    *batches, (x, lengths, labels) = data.walks(41, 64)
    state, ours = pairs.fit(state, hyperparams, adam, batches)
    other, of_modules = modules.fit(other, net, module_adam, batches)
    theirs = flax.fit(model, optimizer, batches)
    np.testing.assert_allclose(of_modules, ours, rtol=1e-5)
    np.testing.assert_allclose(ours[:20], theirs[:20], rtol=2e-4)

    # What is beyond the length is not seen.
    beyond = np.arange(20) >= lengths[:, None]
    unseen = np.where(beyond[..., None], 100, x), lengths, labels
    found = pairs.accuracy(state, hyperparams, unseen)
    assert found == pairs.accuracy(state, hyperparams, (x, lengths, labels))
    assert found == modules.accuracy(other, net, unseen)
    assert found > 0.8
    assert found > flax.accuracy(model, unseen) - 0.05


def test_half(program):
    data = program("data")
    pairs, modules, flax = (program(f"half_{form}") for form in FORMS)
    model = flax.Net(nnx.Rngs(0))
    state, hyperparams, optimizer = in_pairs(model, *pairs.create(0))
    other, net, module_optimizer = in_params(state, *modules.create(0))

    batches = list(data.digits(60))
    [*_, unseen] = data.digits(61, 256)
    state, ours = pairs.fit(state, hyperparams, optimizer, batches)
    other, of_modules = modules.fit(other, net, module_optimizer, batches)
    model, theirs = flax.fit(model, batches)
    np.testing.assert_allclose(of_modules, ours, rtol=1e-4)
    np.testing.assert_allclose(ours[:20], theirs[:20], rtol=2e-3)

    found = pairs.accuracy(state, hyperparams, unseen)
    assert found == pytest.approx(modules.accuracy(other, net, unseen), abs=0.04)
    assert found > 0.7
    assert found > flax.accuracy(model, unseen) - 0.05

    # Gradients overflow with this scale: the step is skipped.
    before = jax.tree.map(np.array, state.trainables)
    scale = jnp.array(2.0**24)
    state = state._replace(optimizer=state.optimizer._replace(scale=scale))
    state, _ = pairs.fit(state, hyperparams, optimizer, batches[:1])
    jax.tree.map(np.testing.assert_array_equal, state.trainables, before)
    assert state.optimizer.scale == 2.0**23


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_resume(program, tmp_path, rate):
    pairs, modules, flax = (program(f"resume_{form}") for form in FORMS)

    def losses(folder: str, steps: int) -> Any:
        model, optimizer = flax.create(0, rate)
        created = in_pairs(model, *pairs.create(0, rate))
        of_modules = in_params(created[0], *modules.create(0, rate))
        _, ours = pairs.fit(*created, tmp_path / folder / "pairs", steps)
        _, same = modules.fit(*of_modules, tmp_path / folder / "modules", steps)
        theirs = flax.fit(model, optimizer, tmp_path / folder / "nnx", steps)
        return np.array([ours, same, theirs])

    whole = losses("whole", 14)
    assert losses("parts", 10).shape == (3, 10)
    np.testing.assert_array_equal(losses("parts", 14), whole[:, 10:])
    if not rate:  # The draws of two libraries differ.
        np.testing.assert_allclose(whole[1], whole[0], rtol=1e-5)
        np.testing.assert_allclose(whole[0], whole[2], rtol=2e-4)


def test_devices():
    """On 2 x 4 devices, in a process that has eight."""
    flags = os.environ.get("XLA_FLAGS", "")
    flags += " --xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "docs_devices.py"],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ours, of_modules, theirs = json.loads(done.stdout)["losses"]
    np.testing.assert_allclose(of_modules, ours, rtol=1e-5)
    np.testing.assert_allclose(ours, theirs, rtol=2e-4)
    assert ours[-1] < ours[0]
    for places in json.loads(done.stdout)["places"]:
        assert places == ["data model", "model data"]


def test_language(program):
    data = program("data")
    pairs, modules, flax = (program(f"language_{form}") for form in FORMS)
    characters = len(data.VOCABULARY)
    prompt = np.array([[data.VOCABULARY.index(c) for c in "the layer"]])
    model = flax.Model(characters, nnx.Rngs(0))
    weights, state, hyperparams = weights_of(model, pairs.model(0, characters))
    net, params = modules.model(0, characters, prompt)
    trainables, rest = params.split()
    params = alike(trainables, weights).merge(rest)

    steps = 40
    weights, ours = pairs.fit(weights, state, hyperparams, data.characters(steps, 32))
    trainables, of_modules = modules.fit(net, params, data.characters(steps, 32))
    theirs = flax.fit(model, data.characters(steps, 32))
    np.testing.assert_allclose(of_modules, ours, rtol=1e-5)
    np.testing.assert_allclose(ours[:5], theirs[:5], rtol=2e-4)
    assert ours[-1] < 0.7
    assert ours[-1] < 1.2 * theirs[-1]

    text = pairs.write((weights, state, hyperparams), prompt, 12)
    again = modules.write(net, trainables.merge(params.split()[1]), prompt, 12)
    assert text.shape == flax.write(model, prompt, 12).shape
    np.testing.assert_array_equal(text, again)
    # Without a cache, the whole text goes through the model for each character: what comes after
    # one, zeros here, is not seen by it.
    apply = jax.jit(lambda tokens: hyperparams.apply(tokens, weights, state, True)[0])
    start = prompt.shape[1]
    whole = np.pad(prompt, ((0, 0), (0, 12)))
    for end in range(start, start + 12):
        whole[:, end] = np.argmax(apply(whole)[:, end - 1], axis=-1)
    np.testing.assert_array_equal(whole[:, start:], text)


def test_lora(program):
    data = program("data")
    pairs, modules, flax = (program(f"lora_{form}") for form in FORMS)
    first, second, third = (program(f"language_{form}") for form in FORMS)
    characters = len(data.VOCABULARY)
    # Another text: each character is that from the other end of the alphabet.
    batches = [
        (characters - 1 - given, characters - 1 - after)
        for given, after in data.characters(8, 16)
    ]
    tokens = batches[0][0]
    model = third.Model(characters, nnx.Rngs(0))
    trained = weights_of(model, first.model(0, characters))
    weights, state, hyperparams = pairs.adapted(trained, 1)
    plain, params = second.model(0, characters, tokens)
    trainables, rest = params.split()
    net, params = modules.adapted(plain, alike(trainables, trained[0]).merge(rest), 1)
    model = flax.adapted(model, 1)

    # It is what it was, until something is learned.
    expected, _ = trained[2].apply(tokens, *trained[:2])
    before, _ = hyperparams.apply(tokens, weights, state)
    np.testing.assert_array_equal(before, expected)
    np.testing.assert_allclose(net(params, tokens)[0], expected, atol=1e-5)

    drawn = mlax.flatten(weights)
    for name, place in (("widen", "up"), ("narrow", "down")):
        for number, block in enumerate(model.blocks):
            path = f"layers/{number + 1}/feed_forward/{name}/lora"
            lora = getattr(block, place)
            drawn[f"{path}/down"] = lora.lora_a[...]
            drawn[f"{path}/up"] = lora.lora_b[...]
    weights = mlax.unflatten(drawn, weights)
    names = ("embed", "first", "second", "norm", "last")
    trainables, rest = params.split()
    named = {
        f"language/{names[int(path[7])]}{path[8:]}": jnp.array(weight)
        for path, weight in drawn.items()
    }
    params = mlax.unflatten(named, trainables).merge(rest)
    after, ours = pairs.fit(weights, state, hyperparams, batches)
    params, of_modules = modules.fit(net, params, batches)
    theirs = flax.fit(model, batches)
    np.testing.assert_allclose(of_modules, ours, rtol=1e-5)
    np.testing.assert_allclose(ours[:5], theirs[:5], rtol=2e-4)
    assert ours[-1] < ours[0]
    changed = [
        path
        for path, weight in mlax.flatten(after).items()
        if not np.array_equal(weight, drawn[path])
    ]
    assert len(changed) == 8
    assert all("/lora/" in path for path in changed)
