"""A training step with donated weights and state writes each new array over its old one."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from numerics_adapter import init_optimizer, step_optimizer

RATE = {"learning_rate": 0.01}
MOMENTS = {"moment_dtype": "float32"}
SIZE = 256


def train(weights, state, hyperparams, x):
    """Gradient descent on a loss in which all weights have one shape."""

    def loss(weights):
        y = x
        for w in weights.values():
            y = jnp.tanh(y @ w.astype(x.dtype))
        return jnp.mean(y**2)

    gradients = jax.grad(loss)(weights)
    updates, state = step_optimizer(hyperparams, gradients, state, weights)
    return jax.tree.map(jnp.add, weights, updates), state


def compile_step(name, hyperparameters, dtype="float32"):
    """The compiled step, and the paths of the leaves of weights and state."""
    weights = {key: jnp.ones((SIZE, SIZE), dtype) for key in "abcd"}
    state, hyperparams = init_optimizer(f"optim/{name}", hyperparameters, weights)
    step = jax.jit(train, donate_argnums=(0, 1))
    x = jnp.ones((4, SIZE), "float32")
    compiled = step.lower(weights, state, hyperparams, x).compile()
    leaves = jax.tree_util.tree_leaves_with_path((weights, state))
    return compiled, [jax.tree_util.keystr(path) for path, _ in leaves]


def aliases(compiled) -> dict[int, int]:
    """The parameter of the program over which it writes each of its outputs."""
    (line,) = re.findall(r"input_output_alias={(.*?) }, entry", compiled.as_text())
    return {int(o): int(i) for o, i in re.findall(r"{(\d+)}: \((\d+), {}", line)}


@pytest.mark.parametrize(
    ("name", "hyperparameters", "dtype"),
    [
        ("sgd", RATE | {"momentum": 0.9}, "float32"),
        ("adam", RATE, "float32"),
        ("adam_w", RATE | MOMENTS, "bfloat16"),
        ("ams_grad", RATE, "float32"),
        ("lion", RATE, "float32"),
        ("adafactor", RATE, "float32"),
    ],
)
def test_every_array_is_written_over_itself(name, hyperparameters, dtype):
    compiled, paths = compile_step(name, hyperparameters, dtype)
    written = aliases(compiled)
    assert {paths[o]: paths[i] for o, i in written.items()} == {p: p for p in paths}


@pytest.mark.parametrize(
    ("name", "hyperparameters"),
    [
        ("sgd", RATE | {"momentum": 0.9}),
        ("adam", RATE),
        ("lion", RATE),
        ("adafactor", RATE),
    ],
)
def test_a_step_on_given_gradients_stores_nothing_else(name, hyperparameters):
    weights = {key: jnp.ones((SIZE, SIZE), "float32") for key in "abcd"}
    state, hyperparams = init_optimizer(f"optim/{name}", hyperparameters, weights)

    def step(weights, state, gradients):
        updates, state = step_optimizer(hyperparams, gradients, state, weights)
        return jax.tree.map(jnp.add, weights, updates), state

    compiled = jax.jit(step, donate_argnums=(0, 1)).lower(weights, state, weights)
    analysis: Any = compiled.compile().memory_analysis()
    # What is stored in between would be at least one matrix.
    assert analysis.temp_size_in_bytes < weights["a"].nbytes / 2
