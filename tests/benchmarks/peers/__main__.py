"""Whole models in mlax, beside plain JAX, flax, equinox and haiku.

python -m tests.benchmarks.peers [compiled] [eager] [depth] [--models NAME ...] [--rounds 15]

`compiled`: the forward pass and a step of gradient descent of an MLP, a CNN with batch
norm, a transformer encoder and an LSTM, compiled. `eager`: the forward pass of a small
MLP, and making one with its weights, not compiled. `depth`: tracing and compiling the
step of transformers of several depths, in a scan where the library has one, and tracing
it without one. All three where none is named. Times are of the processor, which other
load changes less. Ratios are to plain JAX, which is measured twice, so that its second
line shows the noise.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
from tests.benchmarks import measure
from tests.benchmarks.peers.model import TINY, Model, Sizes, forward, step

LIBRARIES = {
    "by hand": "by_hand",
    "mlax": "in_mlax",
    "flax linen": "in_linen",
    "flax nnx": "in_nnx",
    "equinox": "in_equinox",
    "haiku": "in_haiku",
}
UNCOMPILED = {**LIBRARIES, "mlax.graph": "in_graph"}
MODELS = ("mlp", "cnn", "encoder", "lstm")
BY_HAND = "by hand"
SCANNED = ("by hand", "mlax", "flax linen", "haiku")


def build(library: str, name: str, sizes: Sizes) -> Model:
    """The model of that name, written with that library."""
    module = importlib.import_module(f"tests.benchmarks.peers.{UNCOMPILED[library]}")
    return getattr(module, name)(sizes)


def timed(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    seconds: float,
    clock: Callable[[], float],
) -> Callable[[], float]:
    """A function that returns the seconds of one call, the mean over calls of `seconds`."""
    jax.block_until_ready(function(*arguments))
    start = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    calls = max(1, int(seconds / (time.perf_counter() - start)))

    def once() -> float:
        start = clock()
        results = [function(*arguments) for _ in range(calls)]
        jax.block_until_ready(results[-1])
        return (clock() - start) / calls

    return once


def compare(
    title: str,
    functions: dict[str, tuple[Callable[..., Any], Sequence[Any]]],
    rounds: int,
    clock: Callable[[], float],
) -> None:
    """Time functions alternately, and print a table."""
    subjects = {
        name: timed(function, arguments, 0.05, clock)
        for name, (function, arguments) in functions.items()
    }
    subjects[f"{BY_HAND}, again"] = timed(*functions[BY_HAND], 0.05, clock)
    samples = measure.alternate(subjects, rounds)
    measure.print_comparison(
        title, samples, peer=BY_HAND, unit="µs", scale=1e6, runs=str(rounds)
    )
    print()


def compiled(models: Sequence[str], sizes: Sizes, rounds: int) -> None:
    """Forward pass and training step, compiled."""
    for name in models:
        x = sizes.input(name)
        built = {library: build(library, name, sizes) for library in LIBRARIES}
        counts = {library: model.parameters for library, model in built.items()}
        if len(set(counts.values())) > 1:
            raise AssertionError(f"{name}: models of different sizes: {counts}")
        for title, make in (("forward", forward), ("step", step)):
            compare(
                f"{name}, {title}",
                {
                    library: (
                        jax.jit(make(model)),
                        (model.trainables, model.state, x),
                    )
                    for library, model in built.items()
                },
                rounds,
                time.process_time,
            )


def eager(sizes: Sizes, rounds: int) -> None:
    """The forward pass of an MLP, and its weights, one operation after the other."""
    small = dataclasses.replace(sizes, features=min(32, sizes.features), batch=4)
    x = small.input("mlp")
    functions = {}
    for library in UNCOMPILED:
        model = build(library, "mlp", small)
        functions[library] = (forward(model), (model.trainables, model.state, x))
    # What is measured is the Python of one thread: other load on the machine is not.
    compare("mlp, not compiled", functions, rounds, time.thread_time)

    def made(library: str) -> Any:
        return build(library, "mlp", small).trainables

    creating: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
        library: (made, (library,)) for library in UNCOMPILED
    }
    compare("mlp, made, not compiled", creating, rounds, time.thread_time)


def depth(depths: Sequence[int], sizes: Sizes, rounds: int) -> None:
    """Tracing and compiling a transformer's training step."""
    for layers in depths:
        deep = dataclasses.replace(
            sizes,
            layers=layers,
            sequence=min(32, sizes.sequence),
            width=min(64, sizes.width),
        )
        names = {
            library: "encoder" if library == BY_HAND else "scanned_encoder"
            for library in SCANNED
        }
        for title, measured, models in (
            ("trace", _tracing, names),
            ("trace, no scan", _tracing, dict.fromkeys(LIBRARIES, "encoder")),
            ("compile", _compiling, names),
        ):
            subjects = {n: measured(build(n, m, deep), deep) for n, m in models.items()}
            samples = measure.alternate(subjects, rounds)
            measure.print_comparison(
                f"{layers} layers, {title}",
                samples,
                peer=BY_HAND,
                unit="ms",
                scale=1e3,
                runs=str(rounds),
            )
            print()


def _tracing(model: Model, sizes: Sizes) -> Callable[[], float]:
    """The seconds in which a step is traced and lowered."""
    arguments = (model.trainables, model.state, sizes.input("encoder"))

    def seconds() -> float:
        jax.clear_caches()
        start = time.process_time()
        jax.jit(step(model)).lower(*arguments)
        return time.process_time() - start

    return seconds


def _compiling(model: Model, sizes: Sizes) -> Callable[[], float]:
    """The seconds in which a step is compiled."""
    arguments = (model.trainables, model.state, sizes.input("encoder"))

    def seconds() -> float:
        lowered = jax.jit(step(model)).lower(*arguments)
        jax.clear_caches()
        start = time.process_time()
        lowered.compile()
        return time.process_time() - start

    return seconds


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("compiled", "eager", "depth")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--depths", nargs="*", type=int, default=[6, 12, 24])
    parser.add_argument("--tiny", action="store_true", help="tiny sizes, for a trial")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(parts):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(parts)}")
    chosen = arguments.parts or parts
    sizes = TINY if arguments.tiny else Sizes()
    if "compiled" in chosen:
        compiled(arguments.models, sizes, arguments.rounds)
    if "eager" in chosen:
        eager(sizes, arguments.rounds)
    if "depth" in chosen:
        depth(arguments.depths, sizes, min(arguments.rounds, 5))
    measure.print_versions("jax", "jaxlib", "flax", "equinox", "dm-haiku")
    return 0


if __name__ == "__main__":
    sys.exit(main())
