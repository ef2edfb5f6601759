"""`python -m tests.peers` writes docs/peers.md, and names what has no row."""

from __future__ import annotations

import sys

from tests.peers.page import PAGE, page
from tests.peers.public import peers

if __name__ == "__main__":
    installed = [peer for peer in peers() if peer.is_installed]
    for peer in installed:
        for name in peer.names():
            if peer.row(name) is None:
                print(f"{peer.module}.{name} has no row in tests/peers/rows.toml")
    current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(current), encoding="utf-8")
    sys.exit(any(peer.row(n) is None for peer in installed for n in peer.names()))
