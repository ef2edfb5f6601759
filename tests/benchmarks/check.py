"""How long an up-to-date `check` takes: beside the peer's, and as a project grows.

python -m tests.benchmarks.check [--rounds 9] [--sizes 100 500 1000 2000] [--kinds nn] [--trees DIR]

With `--trees`, the growing projects are kept in that folder and found there again: to
generate them takes minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import measure, processes, projects

MODELS = 60
GOAL = 0.5
GOAL_SLOPE = 1.0
PEER = f"datamodel-codegen --check, {MODELS} models"
HEAVY = ("jax", "jaxlib", "numpy", "libcst", "jinja2")
CHECK = (*processes.TOOL, "check")


def schema(models: int) -> dict[str, Any]:
    """A JSON schema of that many models, each with eight fields and two references."""
    names = [f"Model{number:03}" for number in range(models)]
    definitions = {}
    for number, name in enumerate(names):
        definitions[name] = {
            "type": "object",
            "title": name,
            "description": f"What {name} is for.",
            "required": ["identifier", "size"],
            "properties": {
                "identifier": {"type": "string", "minLength": 1, "maxLength": 64},
                "size": {"type": "integer", "minimum": 1},
                "rate": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
                "active": {"type": "boolean", "default": True},
                "kind": {"type": "string", "enum": ["linear", "conv", "norm"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "parent": {"$ref": f"#/definitions/{names[number // 2]}"},
                "children": {
                    "type": "array",
                    "items": {"$ref": f"#/definitions/{names[(number + 1) % models]}"},
                },
            },
        }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": definitions,
        "type": "object",
        "title": "Root",
        "properties": {"first": {"$ref": f"#/definitions/{names[0]}"}},
    }


def peer_project(peer: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Generate the peer's models; returns the command that checks them."""
    folder.mkdir()
    text = json.dumps(schema(MODELS), indent=2)
    folder.joinpath("schema.json").write_text(text, encoding="utf-8")
    command = (
        *peer,
        *("--input", "schema.json", "--input-file-type", "jsonschema"),
        *("--output", "models.py", "--disable-timestamp"),
    )
    processes.run(command, folder)
    return (*command, "--check")


def against_peer(folder: Path, rounds: int, kinds: list[str]) -> bool:
    """Print the comparison; returns whether a quick check imports nothing heavy."""
    mine = projects.generate(projects.library(folder / "library", kinds))
    name = f"mlax-scaffold check, {projects.count_specs(mine)} specs"
    subjects = {}
    peer = processes.peer()
    if peer is not None:
        place = folder / "peer"
        subjects[PEER] = processes.wall(peer_project(peer, place), place)
    subjects[name] = processes.wall(CHECK, mine)
    subjects[f"{name}, --render"] = processes.wall((*CHECK, "--render"), mine)
    samples = measure.alternate(subjects, rounds)
    measure.print_comparison(
        "command", samples, peer=PEER, unit="ms", scale=1e3, runs=str(rounds)
    )
    modules = processes.imported(("-m", "mlax_scaffold", "check"), mine)
    heavy = sorted({module.split(".")[0] for module in modules} & set(HEAVY))
    print(f"\nImported by check, of {', '.join(HEAVY)}: {', '.join(heavy) or 'none'}")
    if PEER in samples:
        ratio = samples[name].ratio(samples[PEER])
        print(measure.verdict(f"{name}, ratio", ratio.median, GOAL))
    return not heavy


def growth(folder: Path, sizes: list[int], rounds: int) -> None:
    """Print how the time grows with the number of specs."""
    subjects = {}
    for size in sizes:
        place = folder / f"specs{size}"
        if not (place / "mlax-scaffold.lock").exists():
            projects.generate(projects.synthetic(place, size))
        processes.run(CHECK, place)
        subjects[str(size)] = processes.wall(CHECK, place)
    samples = measure.alternate(subjects, rounds)
    rows = []
    smallest, first = sizes[0], samples[str(sizes[0])].median
    for size in sizes:
        sample = samples[str(size)]
        more = (sample.median - first) / (size - smallest) if size > smallest else None
        rows.append(
            (
                str(size),
                f"{sample.median * 1e3:.0f}",
                sample.spread(1e3, 0),
                f"{sample.median * 1e3 / size:.2f}",
                "" if more is None else f"{more * 1e3:.3f}",
                str(rounds),
            )
        )
    print()
    header = ("specs", "median ms", "min-max", "ms/spec", "ms/further spec", "runs")
    measure.print_table(header, rows)
    medians = [samples[str(size)].median * 1e3 for size in sizes]
    if len(sizes) > 1:
        print()
        steepness = measure.slope(sizes, medians)
        print(measure.verdict("check, slope in ms per spec", steepness, GOAL_SLOPE))


def main() -> int:
    """Measure, print, and return 1 where a quick check imports a heavy package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 500, 1000, 2000])
    parser.add_argument(
        "--kinds", nargs="*", default=[], help="of the library's specs; all by default"
    )
    parser.add_argument("--trees", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        light = against_peer(Path(scratch), arguments.rounds, arguments.kinds)
        if arguments.sizes:
            trees = arguments.trees or Path(scratch)
            growth(trees.resolve(), sorted(arguments.sizes), arguments.rounds)
    measure.print_versions("mlax-scaffold", processes.PEER_PACKAGE)
    return 0 if light else 1


if __name__ == "__main__":
    sys.exit(main())
