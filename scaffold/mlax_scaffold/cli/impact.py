"""How the impact of a change is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict

import click

from mlax_scaffold.cli.console import counts
from mlax_scaffold.project.hunks import Group
from mlax_scaffold.project.impact import Behaviour, Impact
from mlax_scaffold.project.progress import plural
from mlax_scaffold.project.public import SignatureChange

MOST_LINES = 12
"""Lines of a change that are shown."""
MOST_GROUPS = 40
"""Changes that are shown."""


def tell(found: Impact, style: str) -> None:
    """Print all of it."""
    if style == "json":
        click.echo(json.dumps(_as_dict(found), indent=2))
        return
    files = counts(found.created, found.updated, found.deleted)
    compared = f" since {found.since}" if found.since else ""
    click.echo(f"{files}{compared}.")
    for group in found.groups[:MOST_GROUPS]:
        click.echo()
        for line in _group(group):
            click.echo(line)
    left = len(found.groups) - MOST_GROUPS
    if left > 0:
        click.echo(f"\n{plural(left, 'more change')}; --format json has all of them.")
    _section("Public signatures", _signatures(found))
    _section(
        "States and weights", (line for b in found.behaviours for line in _leaves(b))
    )
    _section("What init makes of a key", _created(found))
    _section("Keys", _draws(found))
    _section("Numbers", _results(found))
    _section("Not compared", _faults(found))
    click.echo()
    for line in _summary(found):
        click.echo(line)


def _section(title: str, lines: Iterable[str]) -> None:
    lines = list(lines)
    if lines:
        click.echo("\n" + click.style(title, bold=True))
        for line in lines:
            click.echo(f"  {line}")


def _group(group: Group) -> Iterator[str]:
    first = group.hunks[0]
    files, lines = plural(len(group.files), "file"), plural(group.lines, "line")
    same = "the same " if len(group.files) > 1 else ""
    where = f"{first.path}:{first.line}"
    others = len(group.hunks) - 1
    more = f", and {plural(others, 'other place')}" if others else ""
    yield click.style(f"{files}, {same}{lines}", bold=True) + f"  {where}{more}"
    shown = [
        *(click.style(f"-{line}", fg="red") for line in first.removed),
        *(click.style(f"+{line}", fg="green") for line in first.added),
    ]
    yield from shown[:MOST_LINES]
    if len(shown) > MOST_LINES:
        yield f"... {plural(len(shown) - MOST_LINES, 'more line')}"


def _signatures(found: Impact) -> Iterator[str]:
    alike: dict[tuple[str, str, str], list[SignatureChange]] = {}
    for change in found.signatures:
        key = change.name.rpartition(".")[2], change.before, change.after
        alike.setdefault(key, []).append(change)
    for change, *others in alike.values():
        name = change.name + (f", and {plural(len(others), 'other')}" if others else "")
        if not change.before:
            yield f"new: {name}: {change.after}"
        elif not change.after:
            yield f"gone: {name}: {change.before}"
        else:
            yield name
            yield f"  - {change.before}"
            yield f"  + {change.after}"
        if change.after and change.breaks:
            yield f"  breaks calls: {'; '.join(change.breaks)}"


def _leaves(behaviour: Behaviour) -> Iterator[str]:
    for name, (old, new) in behaviour.leaves.items():
        if old is None:
            yield f"{behaviour.reference}: {name} is new, {new}"
        elif new is None:
            yield f"{behaviour.reference}: {name} is gone, {old}"
        else:
            yield f"{behaviour.reference}: {name} is {new}, was {old}"


def _created(found: Impact) -> Iterator[str]:
    for b in found.behaviours:
        if b.created:
            yield f"{b.reference}: {', '.join(b.created)}"


def _draws(found: Impact) -> Iterator[str]:
    for b in found.behaviours:
        if b.draws is not None:
            old, new = b.draws
            times = f"{old} draws and splits, now {new}" if old != new else "other keys"
            yield f"{b.reference}: {times}"


def _results(found: Impact) -> Iterator[str]:
    for b in found.behaviours:
        plain = [name for name in b.results if not name.startswith("derivative ")]
        others = len(b.results) - len(plain)
        if others:
            plain.append(plural(others, "derivative"))
        if plain:
            yield f"{b.reference}: {', '.join(plain)} by other operations"


def _faults(found: Impact) -> Iterator[str]:
    for b in found.behaviours:
        for side, why in b.fault.items():
            yield f"{b.reference}, {side}: {why}"


def _summary(found: Impact) -> Iterator[str]:
    """What a release has to say."""
    unknown = [b.reference for b in found.behaviours if b.fault]
    but = " in what could be compared" if unknown else ""
    broken = [c.name for c in found.signatures if c.breaks]
    yield _verdict("Calls", "are kept", "break", broken)
    behaviours = found.behaviours
    for what, kept, lost, which in (
        ("Checkpoints", "fit", "do not fit", [b for b in behaviours if b.leaves]),
        (
            "Seeds",
            "give the same weights",
            "give others",
            [b for b in behaviours if b.created],
        ),
        (
            "Keys",
            "are drawn from as before",
            "are not",
            [b for b in behaviours if b.draws],
        ),
        ("Numbers", "are the same", "may differ", [b for b in behaviours if b.results]),
    ):
        yield _verdict(what, kept + but, lost, [b.reference for b in which])
    left = f", {len(unknown)} of them in vain" if unknown else ""
    yield f"Compared: {plural(found.compared, 'definition')} that the change can reach{left}."


def _verdict(what: str, kept: str, lost: str, which: list[str]) -> str:
    if not which:
        return click.style(f"{what} {kept}.", fg="green")
    shown = ", ".join(which[:5]) + (f", and {len(which) - 5} more" if which[5:] else "")
    return click.style(f"{what} {lost}", fg="red") + f": {shown}"


def _as_dict(found: Impact) -> dict[str, object]:
    return {
        "since": found.since or None,
        "created": found.created,
        "updated": found.updated,
        "deleted": found.deleted,
        "changes": [
            {
                "files": group.files,
                "removed": group.hunks[0].removed,
                "added": group.hunks[0].added,
                "places": [[hunk.path, hunk.line] for hunk in group.hunks],
            }
            for group in found.groups
        ],
        "signatures": [asdict(change) for change in found.signatures],
        "behaviours": [asdict(behaviour) for behaviour in found.behaviours],
        "compared": found.compared,
    }
