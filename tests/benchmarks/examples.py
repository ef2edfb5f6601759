"""Steps of the programs in docs/examples, in both surfaces beside flax and optax.

PYTHONPATH=generated_layers python -m tests.benchmarks.examples [digits language ...]
    [--steps 60] [--rounds 5]

Each program trains on the same batches; the time of a step is the processor's from one
batch to the next, without the first steps, which compile. The programs take turns: a round
has the median step of each, and what is printed are medians of the rounds, and of their
ratios. `devices` needs eight of them, such as those of
XLA_FLAGS=--xla_force_host_platform_device_count=8.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jax
from tests.benchmarks import measure

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FORMS = ("pairs", "modules", "nnx")
NAMES = ("digits", "language", "lengths", "half", "resume", "devices", "lora")
FIRST = 5


def main() -> None:
    """Print the time of a step, and its ratio to that of flax."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = [name for name in NAMES if name != "devices" or jax.device_count() == 8]
    parser.add_argument("names", nargs="*", default=default)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    sys.path.insert(0, str(EXAMPLES))
    print(f"{'program':10} {'form':8} {'step':>9} {'of nnx':>7}")
    for name in arguments.names:
        subjects = {form: _step_of(name, form, arguments.steps) for form in FORMS}
        samples = measure.alternate(subjects, arguments.rounds)
        for form, sample in samples.items():
            ratio = sample.ratio(samples["nnx"]).median
            print(
                f"{name:10} {form:8} {1e3 * sample.median:6.2f} ms {ratio:7.2f}",
                flush=True,
            )


def _step_of(name: str, form: str, steps: int) -> Callable[[], float]:
    """What trains once, and returns the seconds of its median step."""
    return lambda: statistics.median(_steps(name, form, steps))


def _steps(name: str, form: str, steps: int) -> list[float]:
    """The seconds of each step of one run, without the first ones."""
    data: Any = importlib.import_module("data")
    program = importlib.import_module(f"{name}_{form}")
    at: list[float] = []

    def timed(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in list(batches):
            at.append(time.process_time())
            yield batch

    if name == "digits":
        program.fit(*program.create(0), timed(data.digits(steps, 128)), "float32")
    elif name == "lengths":
        program.fit(*program.create(0), timed(data.walks(steps, 128)))
    elif name == "half":
        batches = timed(data.digits(steps, 128))
        program.fit(*_half(program, form), batches)
    elif name == "resume":
        digits, data.digits = data.digits, lambda count: timed(digits(count, 128))
        with tempfile.TemporaryDirectory() as folder:
            program.fit(*program.create(0, 0.5), Path(folder), steps)
        data.digits = digits
    elif name == "devices":
        auto = (jax.sharding.AxisType.Auto,) * 2
        mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=auto)
        batches = timed(data.digits(steps, 128))
        program.fit(*program.create(0, mesh), mesh, batches)
    else:
        language = importlib.import_module(f"language_{form}")
        given = _language(language, form)
        if name == "lora":
            adapted = program.adapted
            given = adapted(given, 1) if form == "pairs" else adapted(*given, 1)
            given = (given,) if form == "nnx" else given
        program.fit(*given, timed(data.characters(steps, 64)))
    return [b - a for a, b in zip(at[FIRST:-1], at[FIRST + 1 :], strict=True)]


def _half(program: Any, form: str) -> tuple[Any, ...]:
    if form != "nnx":
        return program.create(0)
    from flax import nnx

    return (program.Net(nnx.Rngs(0)),)


def _language(program: Any, form: str) -> tuple[Any, ...]:
    data = importlib.import_module("data")
    size = len(data.VOCABULARY)
    if form == "nnx":
        from flax import nnx

        return (program.Model(size, nnx.Rngs(0)),)
    if form == "modules":
        [(tokens, _)] = data.characters(1, 64)
        return program.model(0, size, tokens)
    return program.model(0, size)


if __name__ == "__main__":
    main()
