"""Lists and dictionaries of layers and arrays, of layers that run eagerly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlax_scaffold.spec.declarations import Declaration

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer


def is_member(value: Any) -> bool:
    """Whether a value is a layer or the declaration of an array."""
    from mlax_scaffold.spec.layer import Layer

    return isinstance(value, Layer | Declaration)


def mapped(tree: Any, leaf: Callable[..., Any], *others: Any) -> Any:
    """A container with something else at each place; `others` are trees of the same form."""
    if isinstance(tree, dict):
        parts = {n: [None if o is None else o[n] for o in others] for n in tree}
        return {n: mapped(item, leaf, *parts[n]) for n, item in tree.items()}
    if isinstance(tree, list | tuple):
        rows = [[None if o is None else o[i] for o in others] for i in range(len(tree))]
        return tuple(mapped(item, leaf, *r) for item, r in zip(tree, rows, strict=True))
    return leaf(tree, *others)


def leaves(tree: Any) -> Iterator[Any]:
    """The layers and declarations of a container, in their order."""
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        for item in tree:
            yield from leaves(item)
    elif is_member(tree):
        yield tree


def replaced(tree: Any, steps: Sequence[Any], value: Any) -> Any:
    """The container with another value at a place."""
    if not steps:
        return value
    first, *rest = steps
    if isinstance(tree, dict):
        return {**tree, first: replaced(tree[first], rest, value)}
    items = list(tree)
    items[first] = replaced(items[first], rest, value)
    return tuple(items)


def keyed(tree: Any) -> list[Layer | Declaration]:
    """The members of a container that have a key, layers of blocks included, in their order."""
    from mlax_scaffold.spec.layer import Layer

    found: list[Layer | Declaration] = []
    for leaf in leaves(tree):
        if isinstance(leaf, Layer):
            found += keyed(leaf._given_)
            if leaf._has_arrays_():
                found.append(leaf)
        else:
            found.append(leaf)
    return found


@dataclass(frozen=True)
class Places:
    """What is below some place of a container, as the target of an assignment."""

    replace: Callable[[tuple[Any, ...], Any], None]
    """Puts a value at a place."""
    steps: tuple[Any, ...] = ()

    def __getitem__(self, step: Any) -> Places:
        return Places(self.replace, (*self.steps, step))

    def __setitem__(self, step: Any, value: Any) -> None:
        self.replace((*self.steps, step), value)
