"""A step of every method that optax has too, beside optax's and the bandwidth of memory.

python -m tests.benchmarks.optimizer_peers [NAME ...] [--rounds 9] [--weights 10000000] [--leaves 200]

As in `tests.benchmarks.optimizers`: weights and state are donated, and the limit is the
time in which the bytes that must move pass in a triad over the same leaves.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import optax
import optax.contrib as contrib
from tests.benchmarks import measure
from tests.benchmarks.optimizers import (
    Tree,
    compiled,
    mlax_step,
    optax_step,
    triad,
)

from mlax import optim

GOAL = 1.1
RATE = 1e-3
TRIAD = "triad"


@dataclass(frozen=True)
class Pair:
    """A method of both libraries, with the same settings."""

    ours: Callable[[Any], tuple[Any, Any]]
    theirs: optax.GradientTransformation | optax.GradientTransformationExtraArgs


def pair(module: Any, theirs: Callable[..., Any], *settings: float) -> Pair:
    """A pair whose methods take the same positional settings."""
    return Pair(lambda w: module.init(w, *settings), theirs(*settings))


def clipped(weights: Any) -> tuple[Any, Any]:
    """AdamW after clipping by the global norm."""
    parts = [optim.ClipByGlobalNorm.init(weights, 1.0), optim.AdamW.init(weights, RATE)]
    return optim.Chain.init(parts)


PAIRS: dict[str, Pair] = {
    "sgd": pair(optim.Sgd, optax.sgd, RATE),
    "sgd-momentum": pair(optim.Sgd, optax.sgd, RATE, 0.9),
    "sign_sgd": pair(optim.SignSgd, optax.sign_sgd, RATE),
    "optimistic_gradient_descent": pair(
        optim.OptimisticGradientDescent, optax.optimistic_gradient_descent, RATE
    ),
    "adam": pair(optim.Adam, optax.adam, RATE),
    "adamw": pair(optim.AdamW, optax.adamw, RATE),
    "adamw-clipped": Pair(
        clipped, optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(RATE))
    ),
    "nadam": pair(optim.NAdam, optax.nadam, RATE),
    "nadamw": pair(optim.NAdamW, optax.nadamw, RATE),
    "radam": pair(optim.RAdam, optax.radam, RATE),
    "amsgrad": pair(optim.AMSGrad, optax.amsgrad, RATE),
    "adamax": pair(optim.AdaMax, optax.adamax, RATE),
    "adamaxw": pair(optim.AdaMaxW, optax.adamaxw, RATE),
    "adabelief": pair(optim.AdaBelief, optax.adabelief, RATE),
    "adadelta": pair(optim.AdaDelta, optax.adadelta, RATE),
    "adagrad": pair(optim.AdaGrad, optax.adagrad, RATE),
    "adafactor": pair(optim.Adafactor, optax.adafactor, RATE),
    "adan": pair(optim.Adan, optax.adan, RATE),
    "rmsprop": pair(optim.RMSProp, optax.rmsprop, RATE),
    "rprop": pair(optim.RProp, optax.rprop, RATE),
    "lamb": pair(optim.LAMB, optax.lamb, RATE),
    "lars": pair(optim.LARS, optax.lars, RATE),
    "lion": pair(optim.Lion, optax.lion, RATE),
    "fromage": pair(optim.Fromage, optax.fromage, RATE),
    "novograd": pair(optim.NovoGrad, optax.novograd, RATE),
    "sm3": pair(optim.SM3, optax.sm3, RATE),
    "yogi": pair(optim.Yogi, optax.yogi, RATE),
    "optimistic_adam": pair(optim.OptimisticAdam, optax.optimistic_adam_v2, RATE),
    "acprop": pair(optim.AcProp, contrib.acprop, RATE),
    "ademamix": pair(optim.AdEMAMix, contrib.ademamix, RATE),
    "simplified_ademamix": pair(
        optim.SimplifiedAdEMAMix, contrib.simplified_ademamix, RATE
    ),
    "adopt": pair(optim.ADOPT, contrib.adopt, RATE),
}


def rows(name: str, tree: Tree, weights: int, rounds: int) -> tuple[list[Any], float]:
    """The rows of one method, and the ratio to optax's."""
    initial, grads = tree.make(weights, 0), tree.make(weights, 1)
    transformation = PAIRS[name].theirs
    state, hyperparams = PAIRS[name].ours(initial)
    base = compiled(triad, initial, (), grads)
    steps = {
        "mlax": compiled(mlax_step(hyperparams), initial, state, grads),
        "optax": compiled(
            optax_step(transformation), initial, transformation.init(initial), grads
        ),
    }
    subjects = {TRIAD: base.run, **{n: s.run for n, s in steps.items()}}
    samples = measure.alternate(subjects, rounds)
    scale = steps["mlax"].moved / base.moved
    ratio = samples["mlax"].ratio(samples["optax"])
    limits = {n: samples[n].ratio(samples[TRIAD]).median / scale for n in steps}
    row = (
        name,
        f"{limits['mlax']:.2f}",
        f"{limits['optax']:.2f}",
        f"{ratio.median:.2f}",
        ratio.spread(digits=2),
        *(f"{step.temporary / 2**20:.1f}" for step in steps.values()),
        *(f"{step.seconds:.1f}" for step in steps.values()),
    )
    return [row], ratio.median


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PAIRS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--weights", type=int, default=10_000_000)
    parser.add_argument("--leaves", type=int, default=200)
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(PAIRS):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(PAIRS)}")
    lines, slower = [], {}
    for name in arguments.names or PAIRS:
        tree = Tree(arguments.leaves)
        made, ratio = rows(name, tree, arguments.weights, arguments.rounds)
        lines += made
        if ratio > GOAL:
            slower[name] = round(ratio, 2)
        # Programs and arrays of one method are not needed by the next.
        jax.clear_caches()
    header = ("", "limit", "optax", "ratio", "min-max", "MiB", "optax", "s", "optax")
    measure.print_table(header, lines)
    print(
        "\nlimit: multiples of the time of the triad for the bytes that mlax must move; MiB: "
        f"temporary memory; s: seconds of compilation.\nmore than {GOAL} of optax: "
        f"{slower or 'none'}"
    )
    measure.print_versions("jax", "jaxlib", "optax")
    return 0


if __name__ == "__main__":
    sys.exit(main())
