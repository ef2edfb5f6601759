"""Text for people: what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click


def changed_lines(
    created: Sequence[str], updated: Sequence[str], deleted: Sequence[str]
) -> Iterator[str]:
    """A line for each file that is created, updated or deleted."""
    groups = (
        ("created", "green", created),
        ("updated", "yellow", updated),
        ("deleted", "red", deleted),
    )
    for word, colour, paths in groups:
        for path in paths:
            yield f"  {click.style(word, fg=colour)}  {path}"


def counts(
    created: Sequence[str], updated: Sequence[str], deleted: Sequence[str]
) -> str:
    """`2 created, 1 updated, 0 deleted`."""
    return f"{len(created)} created, {len(updated)} updated, {len(deleted)} deleted"
