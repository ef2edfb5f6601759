"""How long `--help` takes, beside datamodel-code-generator's.

python -m tests.benchmarks.startup [--rounds 15]
"""

from __future__ import annotations

import argparse
import sys

from tests.benchmarks import measure, processes

GOAL = 1.0
PEER = "datamodel-codegen --help"
HEAVY = ("jax", "jaxlib", "numpy", "libcst", "jinja2")


def main() -> int:
    """Measure, print, and return 1 where a heavy package is imported."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds

    commands = {}
    peer = processes.peer()
    if peer is not None:
        commands[PEER] = (*peer, "--help")
    commands["python -m mlax_scaffold --help"] = (*processes.TOOL, "--help")
    installed = processes.script("mlax-scaffold")
    if installed is not None:
        commands["mlax-scaffold --help"] = (*installed, "--help")
    commands["python -c pass (the floor)"] = (sys.executable, "-c", "pass")
    subjects = {name: processes.wall(line) for name, line in commands.items()}
    for once in subjects.values():
        once()
    samples = measure.alternate(subjects, rounds)

    measure.print_comparison(
        "command", samples, peer=PEER, unit="ms", scale=1e3, runs=str(rounds)
    )
    modules = processes.imported(("-m", "mlax_scaffold", "--help"))
    heavy = sorted({name.split(".")[0] for name in modules} & set(HEAVY))
    print(f"\nImported by --help: {len(modules)} modules; of {', '.join(HEAVY)}:")
    print(", ".join(heavy) or "none")
    for name in samples:
        if "mlax" in name and PEER in samples:
            ratio = samples[name].ratio(samples[PEER])
            print(measure.verdict(f"{name}, ratio", ratio.median, GOAL))
    measure.print_versions("mlax-scaffold", "click", processes.PEER_PACKAGE)
    return 1 if heavy else 0


if __name__ == "__main__":
    sys.exit(main())
