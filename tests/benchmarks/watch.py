"""How long `watch --test` takes from a save to the generated file, and to the end of the layer's tests.

python -m tests.benchmarks.watch [--saves 5]

What follows a save is one step after another, so that the processor time of all of it is what it takes where
nothing else runs, but for the tenth of a second in which more may be saved.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import measure, processes, projects

SPEC, LAYER = "specs/nn/probe.py", "bench/nn/probe.py"
GENERATED, TESTED = 2.0, 6.0


class Watching:
    """A process that watches, and what it says."""

    def __init__(self, root: Path):
        self.said = root.parent / "said"
        with self.said.open("w") as file:
            self.process = subprocess.Popen(
                (*processes.TOOL, "watch", "--test"),
                cwd=root,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.wait(lambda: "Watching" in self.text())

    def text(self) -> str:
        """All that it has said."""
        return self.said.read_text()

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        begin = time.perf_counter()
        while not condition():
            if self.process.poll() is not None or time.perf_counter() - begin > 120:
                raise RuntimeError(f"watch did not go on:\n{self.text()}")
            time.sleep(0.01)

    def used(self) -> float:
        """Processor time of it, and of what it has started, so far; 0 where the system does not tell."""
        known = {}
        for place in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = place.read_text().rpartition(")")[2].split()
                times = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
                known[int(place.parent.name)] = int(fields[1]), times
        mine = {self.process.pid}
        while more := {p for p, (above, _) in known.items() if above in mine} - mine:
            mine |= more
        return sum(times for pid, (_, times) in known.items() if pid in mine)

    def save(self, root: Path, text: str, mark: str) -> tuple[float, ...]:
        """Save a spec: the seconds until it was generated and tried, and until its tests passed.

        And the processor time of either.
        """
        before = len(self.text())
        begin, used = time.perf_counter(), self.used()
        root.joinpath(SPEC).write_text(text, encoding="utf-8")
        self.wait(lambda: mark in root.joinpath(LAYER).read_text(encoding="utf-8"))
        self.wait(lambda: " done, " in self.text()[before:])
        generated, used_first = time.perf_counter() - begin, self.used()
        self.wait(lambda: re.search(r"\d+ (passed|failed)", self.text()[before:]))
        tested = time.perf_counter() - begin
        if "failed" in self.text()[before:]:
            raise RuntimeError(self.text()[before:])
        return generated, tested, used_first - used, self.used() - used

    def end(self) -> None:
        """End it as people do."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)


def main() -> int:
    """Measure and print; whether the goals hold depends on the machine, too."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=5)
    saves = parser.parse_args().saves
    with tempfile.TemporaryDirectory() as folder:
        root = projects.initialize(Path(folder) / "project")
        new = (*processes.TOOL, "new-layer", "Probe", "--like", "Linear", "--no-test")
        processes.run(new, root)
        text = root.joinpath(SPEC).read_text(encoding="utf-8")
        watching = Watching(root)
        try:
            times = []
            for number in range(saves):
                mark = f"saved for the time {number}"
                changed = text.replace('"""', f'"""Probe, {mark}.\n\n    ', 1)
                times.append(watching.save(root, changed, mark))
        finally:
            watching.end()
    columns = [sorted(column) for column in zip(*times, strict=True)]
    generated, tested, *used = map(statistics.median, columns)
    print(f"| from a save | median of {saves}, s | longest, s | of a processor, s |")
    print("| --- | --- | --- | --- |")
    for name, column, own in zip(
        ("generated and tried", "tested"), columns, used, strict=False
    ):
        print(
            f"| {name} | {statistics.median(column):.2f} | {column[-1]:.2f} | {own:.2f} |"
        )
    print(measure.verdict("generated and tried, s", generated, GENERATED))
    print(measure.verdict("tested, s", tested, TESTED))
    return 0


if __name__ == "__main__":
    sys.exit(main())
