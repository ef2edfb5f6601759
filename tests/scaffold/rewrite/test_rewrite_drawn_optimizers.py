"""Drawn optimizers compute, change and draw what the same text does as a class of Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_keys import Draws
from drawn_optimizers import SUB_OPTIMIZERS, drawn_by_leaf, drawn_by_step
from plain_optimizers import plain_classes, stepped
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

SEEDS = range(10)
KEY = jax.random.key(1)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    texts = {f"by_leaf{seed}": drawn_by_leaf(f"ByLeaf{seed}", seed) for seed in SEEDS}
    texts |= {f"by_step{seed}": drawn_by_step(f"ByStep{seed}", seed) for seed in SEEDS}
    specs = [
        SpecFile(f"specs/optim/{name}.py", "optim", text)
        for name, text in (SUB_OPTIMIZERS | texts).items()
    ]
    with importable(specs, words, tmp_path_factory.mktemp("drawn")) as made:
        yield made


@pytest.fixture
def numbers(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.node.callspec.params["seed"])


def no_bias(path: str, weight: Any) -> bool:
    return "bias" not in path


@pytest.mark.parametrize("mask", [None, no_bias])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_optimizer_of_leaves_is_what_python_says(
    seed: int, flag: bool, mask: Any, examples: Examples, numbers, monkeypatch
):
    classes = plain_classes([drawn_by_leaf("Drawn", seed)])
    given: dict[str, Any] = {"flag": flag, "mask": mask}
    with jax.enable_x64(True), jax.disable_jit():
        params = drawn_weights(numbers)
        generated = examples.module("optim", f"by_leaf{seed}")
        made = generated.init(params, **given)
        eager = examples.oracle("optim", f"by_leaf{seed}")(**given)
        compare(
            generated,
            made,
            eager,
            classes["Drawn"](**given),
            params,
            numbers,
            monkeypatch,
        )


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_optimizer_of_optimizers_is_what_python_says(
    seed: int, flag: bool, examples: Examples, numbers, monkeypatch
):
    classes = plain_classes([*SUB_OPTIMIZERS.values(), drawn_by_step("Drawn", seed)])
    heavy, noisy = (examples.module("optim", name).init for name in SUB_OPTIMIZERS)
    one, other = (classes[name.title()] for name in SUB_OPTIMIZERS)
    with jax.enable_x64(True), jax.disable_jit():
        params = drawn_weights(numbers)
        inner = heavy(params), [heavy(params, 0.3), noisy(params), heavy(params, 0.7)]
        generated = examples.module("optim", f"by_step{seed}")
        made = generated.init(params, *inner, flag=flag)
        eager = examples.oracle("optim", f"by_step{seed}")(*inner, flag=flag)
        plain = classes["Drawn"](one(), [one(0.3), other(), one(0.7)], flag=flag)
        compare(generated, made, eager, plain, params, numbers, monkeypatch)


def drawn_weights(numbers: np.random.Generator) -> dict[str, jax.Array]:
    """Leaves of several shapes, in the order in which trees hold them."""
    shapes = {"bias": (3,), "kernel": (2, 3)}
    return {name: jnp.asarray(numbers.normal(size=s)) for name, s in shapes.items()}


def compare(
    generated: Any,
    made: tuple[Any, Any],
    eager: Any,
    plain: Any,
    params: dict[str, jax.Array],
    numbers: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two steps of the generated module, of the spec run eagerly, and of the class of Python."""
    draws = Draws()

    def drawn(leaf: jax.Array) -> jax.Array:
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return jnp.asarray(numbers.normal(0.5, 0.5, leaf.shape))

    state, hyperparams = made
    state, gradients = jax.tree.map(drawn, (state, params))
    for _ in range(2):
        monkeypatch.setattr(jax.random, "normal", draws.noted)
        eager.load(state)
        by_spec = eager.step(gradients, params, key=KEY)
        draws.start()
        made = generated.step(gradients, state, params, hyperparams, key=KEY)
        draws.assert_keys_differ()
        monkeypatch.setattr(jax.random, "normal", draws.again)
        updates, after = stepped(plain, gradients, state, params)
        draws.assert_all_drawn()
        assert_close(made, (updates, after))
        assert_close((by_spec, type(after)(**kept_of(eager, after))), made)
        state = made[1]


def kept_of(eager: Any, state: Any) -> dict[str, Any]:
    """The state of an optimizer that runs eagerly, by the fields of a generated one."""
    return {name: eager.state[name] for name in state._fields}


def assert_close(found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    """The updates, and each field of the state; a list and a tuple are the same."""
    for one, other in (
        (found[0], expected[0]),
        *zip(found[1], expected[1], strict=True),
    ):
        pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, 1e-9, 1e-9)
