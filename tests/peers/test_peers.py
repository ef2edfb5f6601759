"""Every public name of the peers has a row: what stands for it here, or why nothing does."""

from __future__ import annotations

import dataclasses
import re
import types
import warnings

import pytest
from tests.peers import public
from tests.peers.page import PAGE, is_of_version, kept, page
from tests.peers.public import Peer, peers, place_of

EACH = pytest.mark.parametrize("peer", peers(), ids=lambda peer: peer.module)


def installed(peer: Peer) -> Peer:
    pytest.importorskip(peer.module.partition(".")[0])
    return peer


@EACH
def test_every_public_name_has_a_row(peer: Peer):
    missing = [name for name in installed(peer).names() if peer.row(name) is None]
    told = f"give them rows in tests/peers/rows.toml: {missing}"
    if is_of_version(peer, PAGE.read_text(encoding="utf-8")):
        assert not missing, told
    elif missing:  # What others release breaks no suite.
        other = f"a version of {peer.module} that is no page's"
        warnings.warn(f"{other}: {told}", stacklevel=1)


@EACH
def test_what_stands_for_a_name_is_there(peer: Peer):
    places = {place for places in peer.ours.values() for place in places.split(", ")}
    assert not [place for place in sorted(places) if place_of(place) is None]
    assert all(
        re.fullmatch(r"[A-Z`0-9].*\.", reason) for reason in peer.absent.values()
    )


@EACH
def test_no_name_has_a_counterpart_and_a_reason(peer: Peer):
    both = [name for name in peer.absent if name in peer.ours]
    found = [name for name in peer.absent if (row := peer.row(name)) and row.ours]
    assert not both + found


@EACH
def test_the_page_has_each_name(peer: Peer):
    """What stands in it is what the rows say; of another version, for the names that it has, too."""
    text = PAGE.read_text(encoding="utf-8")
    written = kept(peer, text)
    shown = dict(re.findall(r"^\| `(.+?)` \| (.*) \|$", written, re.MULTILINE))
    rows = [peer.row(name) for name in installed(peer).names()]
    expected = {
        row.name: f"{', '.join(f'`{place}`' for place in row.ours)} | {row.reason}"
        for row in rows
        if row is not None
    }
    if not is_of_version(peer, text):
        expected = {name: row for name, row in expected.items() if name in shown}
        shown = {name: row for name, row in shown.items() if name in expected}
        assert shown
    assert shown == expected, "run python -m tests.peers"


def test_a_new_name_of_a_peer_is_told(monkeypatch: pytest.MonkeyPatch):
    linen = pytest.importorskip("flax.linen")
    [peer] = [peer for peer in peers() if peer.module == "flax.linen"]
    monkeypatch.setattr(linen, "Wavelet", type("Wavelet", (), {}), raising=False)
    assert [name for name in peer.names() if peer.row(name) is None] == ["Wavelet"]


def test_names_of_two_modules_are_told_once(monkeypatch: pytest.MonkeyPatch):
    def function() -> None: ...

    first, second = types.ModuleType("first"), types.ModuleType("first.second")
    first.same = second.other = function  # type: ignore[attr-defined]
    second.own = 1  # type: ignore[attr-defined]
    modules = {"first": first, "first.second": second}
    monkeypatch.setattr(public.importlib, "import_module", modules.__getitem__)
    peer = Peer("first", (), ("second",), {}, {})
    assert peer.names() == ["same", "second.own"]


def test_a_peer_that_is_not_installed_keeps_its_section():
    text = "# Names\n\n## gone 1.0\n\n| `a` | | b |\n\n## optax 2\n\nrest\n"
    gone = dataclasses.replace(peers()[0], module="gone")
    assert kept(gone, text) == "## gone 1.0\n\n| `a` | | b |\n"
    assert kept(peers()[0], text) == ""
    for peer in peers():
        if not peer.is_installed:
            written = PAGE.read_text(encoding="utf-8")
            assert kept(peer, page(written)) == kept(peer, written)
