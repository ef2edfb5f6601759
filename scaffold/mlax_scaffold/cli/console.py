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
    """`2 created, 1 updated, 0 deleted`; what `add` keeps of them is counted apart."""
    kinds = [[p for p in kind if not _kept(p)] for kind in (created, updated, deleted)]
    words = ("created", "updated", "deleted")
    text = ", ".join(f"{len(k)} {word}" for k, word in zip(kinds, words, strict=True))
    record = len(created) + len(updated) + len(deleted) - sum(map(len, kinds))
    return text + (f", and {record} of the record in .owned/" if record else "")


def _kept(path: str) -> bool:
    return ".owned" in path.split("/")
