"""What an array is called: the path to it in its tree."""

from __future__ import annotations

from typing import Any


def key_names(path: Any) -> tuple[str, ...]:
    """The names of the keys of a path, as `jax.tree_util` gives them; a tuple is several."""
    names: list[str] = []
    for step in path:
        key = step
        for attribute in ("key", "idx", "name"):
            if hasattr(step, attribute):
                key = getattr(step, attribute)
                break
        several = isinstance(key, tuple) and all(isinstance(n, str) for n in key)
        names += map(str, key) if several and key else [str(key)]
    return tuple(names)


def path_name(names: tuple[str, ...]) -> str:
    """Names joined by `/`, as the library calls its weights (RFC 6901 without the first `/`)."""
    return "/".join(n.replace("~", "~0").replace("/", "~1") for n in names)


def path_names(path: str) -> tuple[str, ...]:
    """The names in a path."""
    return tuple(n.replace("~1", "/").replace("~0", "~") for n in path.split("/"))
