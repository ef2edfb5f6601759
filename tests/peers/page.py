"""The page of names: `docs/peers.md`, as it follows from the peers that are installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path

from tests.peers.public import Peer, Row, peers

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"

_BEGIN = """# Names of other libraries

Every public name of flax (linen and nnx), equinox, haiku, optax and blox, what stands for it here, and where
nothing does, why. Names without `jax` are of `mlax`. `python -m tests.peers` writes this page from the
libraries that are installed, and a test names what a new version of one of them adds.
"""
_SECTION = re.compile(r"^## (\S+) (\S+)$", re.MULTILINE)


def page(current: str = "") -> str:
    """The page. The section of a peer that is not installed stays as it is in the current one."""
    return "\n".join([_BEGIN, *(_section(peer, current) for peer in peers())])


def _section(peer: Peer, current: str) -> str:
    if not peer.is_installed:
        return kept(peer, current)
    return "\n".join([f"## {peer.module} {_version(peer)}\n", *_table(peer), ""])


def _version(peer: Peer) -> str:
    head = peer.module.partition(".")[0]
    [distribution, *_] = packages_distributions()[head]
    return version(distribution)


def is_of_version(peer: Peer, current: str) -> bool:
    """Whether the section of a peer in a page is of the version that is installed."""
    section = _SECTION.search(kept(peer, current))
    return section is not None and section[2] == _version(peer)


def kept(peer: Peer, current: str) -> str:
    """The section of a peer in a page, or nothing."""
    starts = [*_SECTION.finditer(current)]
    ends = [*(match.start() for match in starts), len(current)][1:]
    for match, end in zip(starts, ends, strict=True):
        if match[1] == peer.module:
            return current[match.start() : end].rstrip("\n") + "\n"
    return ""


def _table(peer: Peer) -> Iterator[str]:
    rows = [peer.row(name) or Row(name) for name in peer.names()]
    found = sum(bool(row.ours) for row in rows)
    yield f"{found} of {len(rows)} names have a counterpart.\n"
    yield "| name | here | or why not |\n|---|---|---|"
    for row in rows:
        ours = ", ".join(f"`{place}`" for place in row.ours)
        yield f"| `{row.name}` | {ours} | {row.reason} |"
