"""Timing in pairs, and the tables that benchmarks print.

What is compared is timed alternately, and a ratio is the median of the ratios of the
rounds: other load on the machine then falls on both sides.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """What one subject took, round by round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.values)

    def ratio(self, peer: Sample) -> Sample:
        """The ratio to a peer in each round."""
        pairs = zip(self.values, peer.values, strict=True)
        return Sample(tuple(value / other for value, other in pairs))

    def spread(self, scale: float = 1.0, digits: int = 1) -> str:
        """The smallest and the largest value."""
        low, high = min(self.values) * scale, max(self.values) * scale
        return f"{low:.{digits}f}-{high:.{digits}f}"


def alternate(
    subjects: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, Sample]:
    """Measure every subject once in each round, in turning order.

    Args:
        subjects: functions that do their work once and return what it took.
        rounds: how often each is measured.
    """
    values: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds):
        names = list(subjects)
        for name in names if number % 2 == 0 else reversed(names):
            values[name].append(subjects[name]())
    return {name: Sample(tuple(taken)) for name, taken in values.items()}


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Growth of the values for each unit of size, by least squares; nan for one size."""
    if len(set(sizes)) < 2:
        return float("nan")
    return statistics.linear_regression(sizes, values).slope


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, aligned: the first column to the left, others to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def show(cells: Sequence[str]) -> str:
        first, *others = [
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join([first, *others]) + " |"

    first, *others = widths
    print(show(header))
    print(
        f"|{'-' * (first + 2)}|" + "|".join("-" * (w + 1) + ":" for w in others) + "|"
    )
    for row in rows:
        print(show(row))


def print_comparison(
    subject: str,
    samples: Mapping[str, Sample],
    *,
    peer: str,
    unit: str,
    scale: float,
    runs: str,
) -> None:
    """Print medians, and ratios to the peer where it was measured.

    Args:
        subject: heading of the first column.
        samples: seconds, by what took them.
        peer: name of the peer's sample.
        unit: of the printed times.
        scale: of seconds to that unit.
        runs: how often each was measured.
    """
    rows = []
    for name, sample in samples.items():
        ratio = sample.ratio(samples[peer]) if peer in samples else None
        rows.append(
            (
                name,
                f"{sample.median * scale:.0f}",
                sample.spread(scale, 0),
                "" if ratio is None else f"{ratio.median:.2f}",
                "" if ratio is None else ratio.spread(digits=2),
                runs,
            )
        )
    header = (subject, f"median {unit}", "min-max", "ratio", "min-max", "runs")
    print_table(header, rows)


def print_versions(*packages: str) -> None:
    """Print what was measured on: processors, Python, and the versions of packages."""
    versions = [f"{os.cpu_count()} cores", f"Python {platform.python_version()}"]
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} from source")
    print("\n" + ", ".join(versions))


def verdict(what: str, value: float, most: float) -> str:
    """One line that says whether a goal holds."""
    state = "holds" if value <= most else "MISSED"
    return f"{what}: {value:.3g}, goal at most {most:g}: {state}"
