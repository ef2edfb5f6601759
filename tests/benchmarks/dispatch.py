"""What a call of a compiled function costs over 200 layers, beside hand-written JAX.

PYTHONPATH=generated_layers python -m tests.benchmarks.dispatch [--rounds 15] [--calls 200] [--layers 200]

The layers are 8x8 Linears in a Series; the hand-written function takes a tuple of as
many NamedTuples. `hyperparams` is a plain argument, a static one, or closed over. Three
functions are measured: one that computes nothing of its weights (the dispatch alone),
the forward pass, and a training step that returns new weights.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from tests.benchmarks import measure

import mlax

GOAL = 1.1
SIZE = 8
BY_HAND = "by hand"


class Affine(NamedTuple):
    """Weights of one hand-written layer."""

    kernel: jax.Array
    bias: jax.Array


def by_hand_forward(x: jax.Array, layers: tuple[Affine, ...]) -> jax.Array:
    """The hand-written forward pass."""
    for layer in layers:
        x = x @ layer.kernel + layer.bias
    return x


def descend(weights: Any, gradients: Any) -> Any:
    """One step of gradient descent."""
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)


def by_hand_functions() -> dict[str, Callable[..., Any]]:
    """The hand-written functions of (x, layers)."""

    def nothing(x, layers):
        return x + 1.0

    def forward(x, layers):
        return by_hand_forward(x, layers)

    def training(x, layers):
        def loss(layers):
            return jnp.sum(by_hand_forward(x, layers) ** 2)

        return descend(layers, jax.grad(loss)(layers))

    return {"nothing": nothing, "forward": forward, "training": training}


def generated_functions() -> dict[str, Callable[..., Any]]:
    """The same of (x, trainables, non_trainables, hyperparams)."""

    def nothing(x, trainables, non_trainables, hyperparams):
        return x + 1.0, non_trainables

    def forward(x, trainables, non_trainables, hyperparams):
        return mlax.block.Series.fwd(x, trainables, non_trainables, hyperparams)

    def training(x, trainables, non_trainables, hyperparams):
        def loss(trainables):
            y, state = mlax.block.Series.fwd(x, trainables, non_trainables, hyperparams)
            return jnp.sum(y**2), state

        gradients, state = jax.grad(loss, has_aux=True)(trainables)
        return descend(trainables, gradients), state

    return {"nothing": nothing, "forward": forward, "training": training}


def calls(
    count: int,
    wait_for: Callable[[Any], jax.Array],
    function: Callable[..., Any],
    *arguments: Any,
) -> Callable[[], float]:
    """A function that returns the seconds of one call: the median over several.

    Args:
        count: how many.
        wait_for: picks an array of the result. Each call is waited for, since a queue
            would hide dispatch behind execution; one array is enough, for a program
            gives its results together, and a walk over the result is no dispatch.
        function: what is called.
        arguments: what it is called with.
    """

    def once() -> float:
        taken = []
        for _ in range(count):
            start = time.perf_counter()
            wait_for(function(*arguments)).block_until_ready()
            taken.append(time.perf_counter() - start)
        return statistics.median(taken)

    once()
    return once


def subjects_of(name: str, layers: int, count: int) -> dict[str, Callable[[], float]]:
    """The hand-written function of that name, and the generated one in its variants."""
    x = jnp.ones((1, SIZE))
    keys = jax.random.split(jax.random.key(0), layers)
    trainables, non_trainables, hyperparams = mlax.block.Series.init(
        [mlax.nn.Linear.init(key, SIZE, SIZE) for key in keys]
    )
    weights = tuple(Affine(w.kernel, w.bias) for w in trainables.layers)
    ours = generated_functions()[name]
    state = (x, trainables, non_trainables)

    def generated(function: Callable[..., Any], *arguments: Any) -> Callable[[], float]:
        if name == "training":
            return calls(count, lambda r: r[0].layers[0].kernel, function, *arguments)
        return calls(count, lambda r: r[0], function, *arguments)

    by_hand = jax.jit(by_hand_functions()[name])
    first = (lambda r: r[0].kernel) if name == "training" else (lambda r: r)
    closed = jax.jit(functools.partial(ours, hyperparams=hyperparams))
    fixed = jax.jit(ours, static_argnums=3)
    return {
        BY_HAND: calls(count, first, by_hand, x, weights),
        "plain argument": generated(jax.jit(ours), *state, hyperparams),
        "static argument": generated(fixed, *state, hyperparams),
        "closed over": generated(closed, *state),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--layers", type=int, default=200)
    arguments = parser.parse_args()
    for name in by_hand_functions():
        subjects = subjects_of(name, arguments.layers, arguments.calls)
        samples = measure.alternate(subjects, arguments.rounds)
        measure.print_comparison(
            name,
            samples,
            peer=BY_HAND,
            unit="µs",
            scale=1e6,
            runs=f"{arguments.rounds} x {arguments.calls}",
        )
        ratio = samples["plain argument"].ratio(samples[BY_HAND])
        what = f"{name}, hyperparams as a plain argument, ratio"
        print("\n" + measure.verdict(what, ratio.median, GOAL) + "\n")
    measure.print_versions("jax", "jaxlib")
    return 0


if __name__ == "__main__":
    sys.exit(main())
