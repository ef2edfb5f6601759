"""How long a full `generate` takes, from a tree with nothing but specs.

python -m tests.benchmarks.generate [--rounds 3] [--sizes 100 500 2000] [--kinds nn] [--trees DIR]

The specs are the library's layers, in turn, under other names: each becomes a module,
a test file and a page. With `--trees`, the projects stay in that folder, for
`tests.benchmarks.check`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import measure, processes, projects

GOAL = 40.0


def full(folder: Path, processor: list[float]) -> Callable[[], float]:
    """A function that generates everything anew and returns the seconds it took.

    Args:
        folder: of the project.
        processor: takes the processor time of each run.
    """

    def once() -> float:
        projects.empty(folder)
        used, start = processes.children_seconds(), time.perf_counter()
        projects.generate(folder)
        taken = time.perf_counter() - start
        processor.append(processes.children_seconds() - used)
        return taken

    return once


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument(
        "--kinds", nargs="*", default=[], help="of the library's specs; all by default"
    )
    parser.add_argument("--trees", type=Path)
    arguments = parser.parse_args()
    sizes = sorted(arguments.sizes)
    with tempfile.TemporaryDirectory() as scratch:
        trees = (arguments.trees or Path(scratch)).resolve()
        library = projects.library(Path(scratch) / "library", arguments.kinds)
        folders = {"the library's": library}
        for size in sizes:
            place = trees / f"specs{size}"
            folders[str(size)] = (
                place if place.exists() else projects.synthetic(place, size)
            )
        counts = {name: projects.count_specs(place) for name, place in folders.items()}
        processor: dict[str, list[float]] = {name: [] for name in folders}
        subjects = {n: full(place, processor[n]) for n, place in folders.items()}
        samples = measure.alternate(subjects, arguments.rounds)

    rows = []
    for name, sample in samples.items():
        used = measure.Sample(tuple(processor[name]))
        rows.append(
            (
                name if name == str(counts[name]) else f"{name} {counts[name]}",
                f"{sample.median:.1f}",
                sample.spread(),
                f"{sample.median * 1e3 / counts[name]:.1f}",
                f"{used.median * 1e3 / counts[name]:.1f}",
                str(arguments.rounds),
            )
        )
    header = ("specs", "median s", "min-max", "ms/spec", "processor ms/spec", "runs")
    measure.print_table(header, rows)
    print()
    for size in sizes:
        each = samples[str(size)].median * 1e3 / size
        print(measure.verdict(f"{size} specs, ms per spec", each, GOAL))
    if len(sizes) > 1:
        least, most = (samples[str(s)].median / s for s in (sizes[0], sizes[-1]))
        print(
            f"A spec among {sizes[-1]} takes {most / least:.2f} of one among {sizes[0]}."
        )
    measure.print_versions("mlax-scaffold", "libcst", "jinja2", "ruff")
    return 0


if __name__ == "__main__":
    sys.exit(main())
