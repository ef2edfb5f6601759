"""What a weight is called: one name for it in masks, tables, files and errors."""

from collections.abc import Mapping
from typing import Any

import jax


def path_name(path: Any) -> str:
    """The name of a leaf: the names and indices of its path, joined by `/`.

    A `/` in a name is written `~1` and a `~` is written `~0`, as in a JSON pointer
    (RFC 6901): split at each `/`, then replace `~1` and at last `~0`, and they are back. A
    key that is a tuple of names, as those of `Params` are, is a path already.

    Args:
        path: the keys of a leaf, as `jax.tree_util` gives them.
    """
    return "/".join(map(_escaped, path))


def _escaped(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            key = getattr(key, attribute)
            break
    path = isinstance(key, tuple) and all(isinstance(name, str) for name in key)
    names = key if path and key else (key,)
    return "/".join(str(n).replace("~", "~0").replace("/", "~1") for n in names)


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """The leaves of a tree with their names, in the order of the tree."""
    rows = jax.tree_util.tree_leaves_with_path(tree)
    return [(path_name(path), leaf) for path, leaf in rows]


def shown(name: str) -> str:
    """A name as it stands in a message: that of a tree which is a leaf is empty."""
    return name or "the root"


def listed(names: Mapping[str, Any] | list[str], most: int = 10) -> str:
    """Some names as they stand in a message."""
    first = ", ".join(map(shown, list(names)[:most]))
    more = len(names) - most
    return f"{first} and {more} more" if more > 0 else first
