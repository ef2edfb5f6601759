"""The keys of a method that runs eagerly: one for each of its places, see `numbering`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax


class Draws:
    """The key of each place, by its number; in a loop, of each place of the pass.

    All are None where the caller gave no key.
    """

    def __init__(self, key: jax.Array | None, places: int) -> None:
        self._keys_ = _shares(key, places)

    def __getitem__(self, number: int) -> jax.Array | None:
        return self._keys_[number]

    def passes(
        self, number: int, places: int, items: Iterable[Any], most: int | None
    ) -> Iterator[Any]:
        """The items of a loop; while one is used, the keys are those of its pass.

        Args:
            number: of the loop.
            places: how many places its body has.
            items: what it runs over.
            most: how many passes the key is split for; None: as many as there are items.
        """
        outer, items = self._keys_, list(items)
        keys = split(outer[number], len(items) if most is None else most)
        try:
            for item, key in zip(items, keys, strict=False):
                self._keys_ = _shares(key, places)
                yield item
        finally:
            self._keys_ = outer

    def turns(
        self, number: int, places: int, goes_on: Callable[[], Any]
    ) -> Iterator[int]:
        """The numbers of the passes of a `while` loop; while one is used, the keys are those of its pass."""
        outer = self._keys_
        key = outer[number]
        try:
            for turn in itertools.count():
                if not goes_on():
                    return
                own = None if key is None else jax.random.fold_in(key, turn)
                self._keys_ = _shares(own, places)
                yield turn
        finally:
            self._keys_ = outer


def split(key: jax.Array | None, count: int) -> Any:
    """Several keys from one; as many times None where there is none."""
    if key is None:
        return [None] * count
    # By their indices, as in generated code: iterating is another operation in newer jax.
    keys = jax.random.split(key, count)
    return [keys[i] for i in range(count)]


def _shares(key: jax.Array | None, places: int) -> list[jax.Array | None]:
    return [key] * places if places < 2 else split(key, places)
