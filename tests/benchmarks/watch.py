"""How long `watch --test` takes from a save to the generated file, and to the end of the layer's tests.

python -m tests.benchmarks.watch [--saves 5]
"""

from __future__ import annotations

import argparse
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

    def save(self, root: Path, text: str, mark: str) -> tuple[float, float]:
        """Save a spec: the seconds until it was generated and tried, and until its tests passed."""
        before = len(self.text())
        begin = time.perf_counter()
        root.joinpath(SPEC).write_text(text, encoding="utf-8")
        self.wait(lambda: mark in root.joinpath(LAYER).read_text(encoding="utf-8"))
        self.wait(lambda: " done, " in self.text()[before:])
        generated = time.perf_counter() - begin
        self.wait(lambda: re.search(r"\d+ (passed|failed)", self.text()[before:]))
        tested = time.perf_counter() - begin
        if "failed" in self.text()[before:]:
            raise RuntimeError(self.text()[before:])
        return generated, tested

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
    generated, tested = (
        statistics.median(column) for column in zip(*times, strict=True)
    )
    print(f"| from a save | median of {saves}, s | longest, s |\n| --- | --- | --- |")
    for name, column in zip(
        ("generated and tried", "tested"), zip(*times, strict=True), strict=True
    ):
        print(f"| {name} | {statistics.median(column):.2f} | {max(column):.2f} |")
    print(measure.verdict("generated and tried, s", generated, GENERATED))
    print(measure.verdict("tested, s", tested, TESTED))
    return 0


if __name__ == "__main__":
    sys.exit(main())
