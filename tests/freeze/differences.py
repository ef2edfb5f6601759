"""What differs from a record, and what the list of changes says of it.

    python -m tests.freeze.differences < tests/freeze/v0_1_0.json

prints the differences of each item as JSON: programs run in an interpreter that ran nothing else, as
those of users do.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.freeze.programs import Program, run
from tests.quick import quickly_compiled

FOLDER = Path(__file__).parent
CHANGES = FOLDER.parents[1] / "CHANGELOG.md"
_CELL = re.compile(r"`([^`]+)`")

_TOLERANCE = 1e-5
"""Relative to the largest number times the number of elements, by which sums may differ."""


@dataclasses.dataclass(frozen=True, order=True)
class Difference:
    """Where an item is not as it was: `part` is a signature's name, or what was computed."""

    item: str
    part: str


@dataclasses.dataclass(frozen=True)
class Announced:
    """A row of the list of changes: patterns of items and parts, and why they differ."""

    items: tuple[str, ...]
    parts: tuple[str, ...]
    reason: str

    def covers(self, difference: Difference) -> bool:
        """Whether this row is about that difference."""
        return any(
            fnmatch.fnmatchcase(difference.item, pattern) for pattern in self.items
        ) and any(
            fnmatch.fnmatchcase(difference.part, pattern) for pattern in self.parts
        )


def recorded(version: str) -> dict[str, dict[str, Any]]:
    """What a release computed, by item."""
    return json.loads((FOLDER / f"v{version.replace('.', '_')}.json").read_text())


def announced(version: str) -> list[Announced]:
    """The rows of the table below the heading `Differences from <version>`."""
    _, _, rest = CHANGES.read_text().partition(f"### Differences from {version}\n")
    rows = []
    for line in rest.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and _CELL.match(cells[0]):
            items, parts, reason = cells
            rows.append(
                Announced(
                    tuple(_CELL.findall(items)), tuple(_CELL.findall(parts)), reason
                )
            )
    return rows


def differences(item: str, record: dict[str, Any]) -> list[Difference]:
    """Where an item differs from its record."""
    try:
        now = run(Program(**{"weights": "", "setup": ""} | record["program"]))
    except (AttributeError, TypeError, ValueError, NameError) as error:
        return [Difference(item, f"fails: {error}")]
    found = [
        Difference(item, f"signature of {part}")
        for part in sorted(record["signatures"].keys() | now["signatures"])
        if record["signatures"].get(part) != now["signatures"].get(part)
    ]
    for part in ("init", "step", "module", "module_step"):
        before, after = record.get(part, {}), now.get(part, {})
        if before.keys() != after.keys():
            found.append(Difference(item, f"paths of {part}"))
        shared = before.keys() & after.keys()
        if any(before[path][:2] != after[path][:2] for path in shared):
            found.append(Difference(item, f"types of {part}"))
        elif not all(_agree(before[path], after[path]) for path in shared):
            found.append(Difference(item, f"numbers of {part}"))
    return found


def _agree(before: list[Any], after: list[Any]) -> bool:
    """Whether two descriptions of an array are of the same numbers, but for rounding."""
    shape, dtype, *sums = before
    if dtype == "key" or any(isinstance(value, str) for value in (*sums, *after[2:])):
        return before == after
    size = 1
    for length in shape:
        size *= length
    bound = _TOLERANCE * size * max(abs(sums[1]), abs(after[3]))
    return all(abs(a - b) <= bound for a, b in zip(sums, after[2:], strict=True))


if __name__ == "__main__":
    records = json.load(sys.stdin)
    with quickly_compiled():
        found = {
            item: [difference.part for difference in differences(item, record)]
            for item, record in records.items()
        }
    print(json.dumps(found))
