"""How many of the specs of `docs/zoo/attempts` are taken as they were first written.

python -m tests.benchmarks.zoo [--trial] [--test] [--fix] [--findings] [NAME ...]

Each becomes a project of its own. The table says what refuses it first. With `--trial`,
what is accepted is also imported and traced; with `--test`, its generated tests run, too.
With `--fix`, what has a mechanical remedy is mended first.
`--findings` prints all that is found, rather than what is found first.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import measure, processes

from mlax_scaffold import cli

ATTEMPTS = Path(__file__).parents[2] / "docs" / "zoo" / "attempts"

_PROJECT = '[tool.mlax-scaffold]\npackage = "attempt"\n'


@dataclass(frozen=True)
class Verdict:
    """How far one attempt came."""

    attempt: Path
    reached: str
    """The last of "refused", "accepted", "imported", "green"."""
    findings: tuple[str, ...] = ()
    """What stopped it, as messages without their places."""

    @property
    def first(self) -> str:
        """The first line of what stopped it first."""
        return self.findings[0].partition("\n")[0] if self.findings else ""


def command(*arguments: str) -> tuple[int, str]:
    """The exit status of a command of mlax-scaffold in this process, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            cli.main(arguments)
        except SystemExit as stop:
            return int(stop.code or 0), printed.getvalue()


def messages(printed: str) -> tuple[str, ...]:
    """The findings in what a failing command printed, in the order of their places."""
    with contextlib.suppress(ValueError):
        errors = json.loads(printed[printed.index("{") :])["errors"]
        return tuple(f"{e['line']}: {e['message']}" for e in errors)
    lines = [line for line in printed.splitlines() if line.strip()]
    return ("\n".join(lines[-3:]),)


def tried(
    attempt: Path, folder: Path, *, trial: bool, test: bool, fix: bool
) -> Verdict:
    """How far an attempt comes, in a project that is made in an empty folder."""
    spec = folder / "specs" / attempt.parent.name / attempt.name
    spec.parent.mkdir(parents=True)
    spec.write_bytes(attempt.read_bytes())
    (folder / "pyproject.toml").write_text(_PROJECT, encoding="utf-8")
    generate = ("generate", "--project", str(folder), "--format", "json")
    status, printed = command(*generate, "--no-trial", "--dry-run")
    if status and fix:
        status, _ = command(*generate, "--no-trial", "--fix")
        if not (status or trial or test):
            return Verdict(attempt, "mended")
    if status:
        return Verdict(attempt, "refused", messages(printed))
    if not (trial or test):
        return Verdict(attempt, "accepted")
    status, printed = command(*generate)
    if status:
        return Verdict(attempt, "accepted", messages(printed))
    if not test:
        return Verdict(attempt, "imported")
    run = (*processes.TOOL, "test")
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        failed = [e for e in done.stdout.splitlines() if e.startswith("FAILED")]
        return Verdict(attempt, "imported", tuple(failed) or (done.stdout[-500:],))
    return Verdict(attempt, "green")


def main() -> int:
    """Try and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--trial", action="store_true")
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--findings", action="store_true")
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    verdicts = []
    for attempt in sorted(ATTEMPTS.glob("*/*.py")):
        if arguments.names and attempt.stem not in arguments.names:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            verdicts.append(
                tried(
                    attempt,
                    Path(scratch),
                    trial=arguments.trial,
                    test=arguments.test,
                    fix=arguments.fix,
                )
            )
    rows = [
        (f"{v.attempt.parent.name}.{v.attempt.stem}", v.reached, finding)
        for v in verdicts
        for finding in ((arguments.findings and v.findings) or (v.first,))
    ]
    measure.print_table(("attempt", "reached", "stopped by"), rows)
    reached = Counter(v.reached for v in verdicts)
    counts = ", ".join(f"{reached[r]} {r}" for r in sorted(reached))
    print(f"\n{len(verdicts)} tried: {counts}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
