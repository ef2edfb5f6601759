"""How arrays of a checkpoint fill a layer of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from mlax_scaffold.weights.arrays import Shaped, elements
from mlax_scaffold.weights.model import Slot
from mlax_scaffold.weights.source import Layout, Node

SYNONYMS = {
    "kernel": ("kernel", "weight", "w"),
    "bias": ("bias", "b", "offset", "beta"),
    "scale": ("scale", "weight", "gamma", "g"),
    "mean": ("mean", "running_mean", "moving_mean"),
    "var": ("var", "running_var", "moving_variance"),
    "embedding": ("embedding", "embeddings", "weight", "w"),
    "slope": ("slope", "negative_slope", "weight", "alpha"),
}
"""What others call a weight."""


@dataclass(frozen=True)
class Fill:
    """An array for each leaf of a slot.

    `orders` are those of its 2-D kernels whose shape decides them, `assumed` is that of
    the square ones; both are "oi" or "io". `reading` is that of several which the arrays
    leave open, in words, of the kind `about`.
    """

    arrays: Mapping[str, Shaped]
    orders: frozenset[str] = frozenset()
    assumed: str = ""
    reading: str = ""
    about: str = ""


Recipe = Callable[[Slot, Node, Layout], Iterator[Fill]]


def leaf_of(node: Node, name: str) -> Shaped | None:
    """The array of a node that a weight of this name is called there."""
    for other in SYNONYMS.get(name, (name,)):
        if other in node.leaves:
            return node.leaves[other]
    return None


def vector(given: Shaped | None, size: int) -> Shaped | None:
    """An array of that many elements as a vector."""
    if given is None or elements(given.shape) != size:
        return None
    return given.reshaped((size,))


@dataclass
class Matrices:
    """Kernels of linear maps, each as (in, out); it notes what their shapes say of the order."""

    assumed: str
    orders: set[str]
    square: bool = False

    def __init__(self, assumed: str):
        self.assumed, self.orders = assumed, set()

    def take(
        self, given: Shaped | None, shape: tuple[int, ...], known: str = ""
    ) -> Shaped | None:
        """The kernel in that shape; None where it has another one.

        Of a part of an array the shape of the whole may have decided the order: `known`.
        """
        if given is None:
            return None
        if len(given.shape) > 2:
            # Axes that are several in one framework are one in another: (in, heads, size).
            return self._split(given, shape)
        if given.shape == shape == shape[::-1] and not known:
            self.square = True
            return given if self.assumed == "io" else given.transposed(1, 0)
        if given.shape == shape and known != "oi":
            self.orders.add("io")
            return given
        if given.shape == shape[::-1] and known != "io":
            self.orders.add("oi")
            return given.transposed(1, 0)
        return None

    def _split(self, given: Shaped, shape: tuple[int, ...]) -> Shaped | None:
        sizes = given.shape
        for cut in range(1, len(sizes)):
            if (elements(sizes[:cut]), elements(sizes[cut:])) == shape:
                self.orders.add("io")
                return given.reshaped(shape)
        return None

    def fill(self, arrays: Mapping[str, Shaped]) -> Fill:
        """A fill with these arrays."""
        return Fill(arrays, frozenset(self.orders), self.assumed if self.square else "")


def complete(
    slot: Slot, found: Mapping[str, Shaped | None]
) -> dict[str, Shaped] | None:
    """Arrays for every leaf of a slot, in their shapes; None where one is missing."""
    filled = {name: array for name, array in found.items() if array is not None}
    wanted = slot.wanted
    if {name: array.shape for name, array in filled.items()} != wanted:
        return None
    return {name: filled[name] for name in wanted}
