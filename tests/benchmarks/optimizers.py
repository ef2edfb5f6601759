"""A step of the optimizers beside optax, hand-written JAX and the bandwidth of memory.

PYTHONPATH=generated_layers python -m tests.benchmarks.optimizers [adam ...]
    [--trees large leaves small mixed] [--rounds 15] [--weights 10000000]

A step takes weights and state, both donated, and gradients, and returns new weights and
state. Its limit is the time in which the bytes that it must move (every gradient, weight
and moment read once, every weight and moment written once) pass in a triad, a = b + 2 c,
over the same leaves. All that is compared is timed alternately in one run.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from tests.benchmarks import measure
from tests.benchmarks import optimizers_by_hand as by_hand

import mlax

OURS, OPTAX, HAND, TRIAD = "mlax", "optax", "by hand", "triad"
GOAL = 1.1

MLAX: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "sgd-momentum": lambda w: mlax.optim.Sgd.init(w, by_hand.RATE, by_hand.MOMENTUM),
    "adam": lambda w: mlax.optim.Adam.init(w, by_hand.RATE),
    "adamw": lambda w: mlax.optim.AdamW.init(w, by_hand.RATE),
    "lion": lambda w: mlax.optim.Lion.init(w, by_hand.RATE),
    "adafactor": lambda w: mlax.optim.Adafactor.init(w, by_hand.RATE),
}
TRANSFORMATIONS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "sgd-momentum": lambda: optax.sgd(by_hand.RATE, by_hand.MOMENTUM),
    "adam": lambda: optax.adam(by_hand.RATE),
    "adamw": lambda: optax.adamw(by_hand.RATE),
    "lion": lambda: optax.lion(by_hand.RATE),
    "adafactor": lambda: optax.adafactor(by_hand.RATE),
}


@dataclass(frozen=True)
class Tree:
    """Weights of so many leaves, whose dtypes alternate."""

    leaves: int
    dtypes: tuple[Any, ...] = (jnp.float32,)

    def make(self, weights: int, seed: int) -> list[jax.Array]:
        """Arrays with so many numbers in all, nearly square matrices."""
        size = max(1, weights // self.leaves)
        rows = max(1, math.isqrt(size))
        shape = (rows, max(1, size // rows))
        keys = jax.random.split(jax.random.key(seed), self.leaves)
        return [
            jax.random.normal(key, shape, self.dtypes[i % len(self.dtypes)])
            for i, key in enumerate(keys)
        ]


TREES = {
    "large": Tree(4),
    "leaves": Tree(200),
    "small": Tree(1000),
    "mixed": Tree(200, (jnp.bfloat16, jnp.float32)),
}


def ours(name: str, weights: Any) -> tuple[Any, Callable[..., Any]]:
    """The state, and a step of (weights, state, gradients), of mlax."""
    state, hyperparams = MLAX[name](weights)
    return state, mlax_step(hyperparams)


def mlax_step(hyperparams: Any) -> Callable[..., Any]:
    """A step of (weights, state, gradients) with an optimizer of mlax."""

    def step(weights: Any, state: Any, gradients: Any) -> Any:
        updates, state = hyperparams.apply(gradients, state, weights)
        return mlax.optim.apply_updates(weights, updates), state

    return step


def of_optax(name: str, weights: Any) -> tuple[Any, Callable[..., Any]]:
    """The same of optax."""
    transformation = TRANSFORMATIONS[name]()
    return transformation.init(weights), optax_step(transformation)


def optax_step(transformation: Any) -> Callable[..., Any]:
    """A step of (weights, state, gradients) with a transformation of optax."""

    def step(weights: Any, state: Any, gradients: Any) -> Any:
        updates, state = transformation.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state

    return step


def written_by_hand(name: str, weights: Any) -> tuple[Any, Callable[..., Any]]:
    """The same by hand."""
    init, leaves = by_hand.OPTIMIZERS[name]

    def step(weights: Any, state: Any, gradients: Any) -> Any:
        number, moments = state
        number = number + 1
        weights, moments = leaves(number, gradients, moments, weights)
        return weights, (number, moments)

    return (jnp.zeros((), jnp.float32), init(weights)), step


def triad(weights: Any, state: Any, gradients: Any) -> Any:
    """The triad over the leaves, a in the place of b."""
    return jax.tree.map(lambda w, g: w + 2 * g, weights, gradients), state


@dataclass(frozen=True)
class Compiled:
    """A compiled step with what it keeps."""

    run: Callable[[], float]
    seconds: float
    temporary: int
    moved: int


def compiled(
    step: Callable[..., Any], weights: Any, state: Any, grads: Any
) -> Compiled:
    """Compiles a step; `run` takes one and returns its seconds."""
    moved = nbytes(grads) + 2 * (nbytes(weights) + nbytes(state))
    lowered = jax.jit(step, donate_argnums=(0, 1)).lower(weights, state, grads)
    start = time.perf_counter()
    program = lowered.compile()
    seconds = time.perf_counter() - start
    analysis = program.memory_analysis()
    temporary = 0 if analysis is None else analysis.temp_size_in_bytes
    kept = [jax.tree.map(jnp.copy, (weights, state))]

    def run() -> float:
        weights, state = kept.pop()
        start = time.perf_counter()
        new = jax.block_until_ready(program(weights, state, grads))
        taken = time.perf_counter() - start
        kept.append(new)
        return taken

    run()
    return Compiled(run, seconds, temporary, moved)


def nbytes(tree: Any) -> int:
    """Bytes of all arrays."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


def table(name: str, tree: Tree, weights: int, rounds: int) -> tuple[list[Any], float]:
    """Rows of the table, and the ratio of mlax to what is written by hand."""
    initial, grads = tree.make(weights, 0), tree.make(weights, 1)
    steps = {
        label: compiled(step, initial, state, grads)
        for label, (state, step) in {
            TRIAD: ((), triad),
            OURS: ours(name, initial),
            OPTAX: of_optax(name, initial),
            HAND: written_by_hand(name, initial),
        }.items()
    }
    samples = measure.alternate({n: s.run for n, s in steps.items()}, rounds)
    rows = []
    for label in (OURS, OPTAX, HAND):
        step, sample = steps[label], samples[label]
        # The bytes are those that mlax must move, whoever moves more.
        scale = steps[OURS].moved / steps[TRIAD].moved
        limit = sample.ratio(samples[TRIAD])
        ratio = sample.ratio(samples[HAND])
        rows.append(
            (
                label,
                f"{sample.median * 1e3:.2f}",
                f"{limit.median / scale:.2f}",
                limit.spread(1 / scale, 2),
                f"{ratio.median:.2f}",
                ratio.spread(digits=2),
                f"{step.temporary / 2**20:.1f}",
                f"{step.seconds:.1f}",
            )
        )
    return rows, samples[OURS].ratio(samples[HAND]).median


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(MLAX))
    parser.add_argument("--trees", nargs="+", default=["leaves"], choices=TREES)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--weights", type=int, default=10_000_000)
    arguments = parser.parse_args()
    header = ("", "median ms", "limit", "min-max", "by hand", "min-max", "MiB", "s")
    for kind in arguments.trees:
        tree = TREES[kind]
        for name in arguments.names or MLAX:
            rows, ratio = table(name, tree, arguments.weights, arguments.rounds)
            first, *others = header
            print(f"{name}, {tree.leaves} leaves ({kind})\n")
            measure.print_table((first or "step", *others), rows)
            what = f"{name} ({kind}), ratio to hand-written"
            print("\n" + measure.verdict(what, ratio, GOAL) + "\n")
    print(
        "limit: multiples of the time of the triad for the bytes that must move; MiB: "
        "temporary memory; s: seconds of compilation."
    )
    measure.print_versions("jax", "jaxlib", "optax")
    return 0


if __name__ == "__main__":
    sys.exit(main())
