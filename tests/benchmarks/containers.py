"""What a compiled training step costs by the container of its weights.

python -m tests.benchmarks.containers [--rounds 15] [--calls 100] [--layers 200]

A step of gradient descent over 200 layers of 8x8 takes the container and returns it, so
that the time is mostly that of taking it apart and putting it together. The peer is plain
JAX over a tuple of NamedTuples. blox is measured where it is installed (`jax-blox`).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx
from tests.benchmarks import measure
from tests.benchmarks.dispatch import (
    BY_HAND,
    SIZE,
    Affine,
    by_hand_functions,
    calls,
    descend,
)

import mlax.graph

GOAL = 1.3
GRAPH = "mlax.graph, Params"
KEY = jax.random.key(0)


def in_graph(library: Any, layers: int, x: jax.Array) -> tuple[Any, Any, Any]:
    """The step over `Params`: those of this library, or of blox."""
    graph = library.Graph("model")
    rng = library.Rng(graph.child("rng"))
    linears = [
        library.Linear(graph.child(f"linear{i}"), output_size=SIZE, rng=rng)
        for i in range(layers)
    ]
    path = linears[0].param_path("kernel")

    def model(params: Any, x: jax.Array) -> tuple[jax.Array, Any]:
        for linear in linears:
            x, params = linear(params, x)
        return x, params

    def step(params: Any, x: jax.Array) -> Any:
        trainable, rest = params.split()

        def loss(trainable: Any) -> tuple[jax.Array, Any]:
            y, params = model(trainable.merge(rest), x)
            return jnp.sum(y**2), params.split()[1]

        gradients, state = jax.grad(loss, has_aux=True)(trainable)
        return descend(trainable, gradients).merge(state)

    _, params = model(rng.seed(library.Params(), seed=0), x)
    return jax.jit(step), params.locked(), lambda params: params[path].value


class Stack(nnx.Module):
    """The layers in flax nnx."""

    def __init__(self, layers: int) -> None:
        rngs = nnx.Rngs(0)
        self.layers = nnx.List(
            [nnx.Linear(SIZE, SIZE, rngs=rngs) for _ in range(layers)]
        )

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers:
            x = layer(x)
        return x


def in_nnx(layers: int) -> tuple[Any, Any, Any]:
    """The step over a module, in `nnx.jit`."""

    def step(model: Stack, x: jax.Array) -> None:
        gradients = nnx.grad(lambda model: jnp.sum(model(x) ** 2))(model)
        nnx.update(model, descend(nnx.state(model, nnx.Param), gradients))

    compiled = nnx.jit(step)

    def call(model: Stack, x: jax.Array) -> Stack:
        compiled(model, x)
        return model

    return call, Stack(layers), lambda model: model.layers[0].kernel[...]


def in_nnx_split(layers: int) -> tuple[Any, Any, Any]:
    """The step over the state of a module, in `jax.jit`."""
    definition, state = nnx.split(Stack(layers))

    def step(state: Any, x: jax.Array) -> Any:
        def loss(state: Any) -> jax.Array:
            return jnp.sum(nnx.merge(definition, state)(x) ** 2)

        return descend(state, jax.grad(loss)(state))

    return (
        jax.jit(step),
        state,
        lambda state: jax.tree.leaves(state)[0],
    )


def in_equinox(layers: int) -> tuple[Any, Any, Any]:
    """The step over a module, in `eqx.filter_jit`."""
    keys = jax.random.split(KEY, layers)
    model = eqx.nn.Sequential([eqx.nn.Linear(SIZE, SIZE, key=key) for key in keys])

    def step(model: Any, x: jax.Array) -> Any:
        gradients = eqx.filter_grad(lambda m: jnp.sum(jax.vmap(m)(x) ** 2))(model)
        return eqx.apply_updates(
            model, jax.tree.map(lambda gradient: -0.01 * gradient, gradients)
        )

    return eqx.filter_jit(step), model, lambda model: model.layers[0].weight


def by_hand(layers: int) -> tuple[Any, Any, Any]:
    """The step over a tuple of NamedTuples."""
    training = by_hand_functions()["training"]
    initializer = jax.nn.initializers.lecun_normal()
    weights = tuple(
        Affine(initializer(key, (SIZE, SIZE)), jnp.zeros(SIZE))
        for key in jax.random.split(KEY, layers)
    )
    step = jax.jit(lambda weights, x: training(x, weights))
    return step, weights, lambda weights: weights[0].kernel


def subjects_of(layers: int, count: int) -> dict[str, Callable[[], float]]:
    """Each library's step, timed."""
    x = jnp.ones((1, SIZE))
    made = {
        BY_HAND: by_hand(layers),
        GRAPH: in_graph(mlax.graph, layers, x),
        "equinox, filter_jit": in_equinox(layers),
        "flax nnx, nnx.jit": in_nnx(layers),
        "flax nnx, split": in_nnx_split(layers),
    }
    if importlib.util.find_spec("blox"):
        made["blox, Params"] = in_graph(importlib.import_module("blox"), layers, x)
    return {
        name: calls(count, wait_for, step, weights, x)
        for name, (step, weights, wait_for) in made.items()
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--layers", type=int, default=200)
    arguments = parser.parse_args()
    subjects = subjects_of(arguments.layers, arguments.calls)
    samples = measure.alternate(subjects, arguments.rounds)
    measure.print_comparison(
        f"step over {arguments.layers} layers",
        samples,
        peer=BY_HAND,
        unit="µs",
        scale=1e6,
        runs=f"{arguments.rounds} x {arguments.calls}",
    )
    ratio = samples[GRAPH].ratio(samples[BY_HAND])
    print("\n" + measure.verdict(f"{GRAPH}, ratio", ratio.median, GOAL))
    measure.print_versions("jax", "jaxlib", "flax", "equinox", "jax-blox")
    return 0


if __name__ == "__main__":
    sys.exit(main())
