"""What a layer declares: the names below which the parameters of its module are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._graph import Graph, Path
from ._metadata import Metadata

Declarations = Mapping[str, Any]
"""What `init` takes keys for, in order: None for an array, the declarations of a sub-layer, and
in a list those of each of several."""


def reserve(graph: Graph, declarations: Declarations) -> None:
    """Nodes for sub-layers, so that nothing else takes their paths."""
    for name, nested in declarations.items():
        if isinstance(nested, Mapping):
            reserve(graph.child(name), nested)
        elif nested is not None:
            graph.child(name)


def keys_of(draw: Callable[[], Any], declarations: Declarations, made: Any) -> Any:
    """A key for each declaration, nested as `init` takes them.

    Args:
        draw: gives the next key.
        declarations: of the layer.
        made: its hyperparameters, which know how many sub-layers a list has.
    """
    keys: list[Any] = []
    for name, nested in declarations.items():
        part = getattr(made, name, None)
        if nested is None:
            keys.append(draw())
        elif isinstance(nested, list):
            keys.append([keys_of(draw, nested[0], item) for item in part or ()])
        else:
            keys.append(keys_of(draw, nested, part))
    return keys[0] if len(keys) == 1 else keys or None


def declared_paths(place: Path, declarations: Declarations) -> list[Path] | None:
    """Where the arrays of a layer are, below a place; None where a list may have any number."""
    paths: list[Path] = []
    for name, nested in declarations.items():
        if nested is None:
            paths.append((*place, name))
            continue
        below = (
            declared_paths((*place, name), nested)
            if isinstance(nested, Mapping)
            else None
        )
        if below is None:
            return None
        paths += below
    return paths


def is_declared(names: Sequence[str], declarations: Declarations) -> bool:
    """Whether a parameter of these names, from the module on, is one of the layer."""
    first, *rest = names
    if first not in declarations:
        return False
    nested = declarations[first]
    if isinstance(nested, list):
        return len(rest) > 1 and rest[0].isdigit() and is_declared(rest[1:], nested[0])
    return nested is None or (bool(rest) and is_declared(rest, nested))


def checked_metadata(
    owner: str, given: Any, declarations: Declarations
) -> Mapping[str, Any] | None:
    """Metadata of parameters by their names. A name that is none would have no effect.

    Raises:
        TypeError: where it is no mapping, or holds a value that is not hashable.
        ValueError: where the layer has no parameter of a name.
    """
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{owner}: metadata must be a mapping of the names of parameters, such as "
            '{"kernel": {"sharding": P(None, "model")}}, '
            f"got {given!r}"
        )
    for name, found in given.items():
        if name not in declarations:
            known = ", ".join(map(repr, declarations))
            raise ValueError(
                f"{owner}: metadata is by the names of parameters, here {known}; got {name!r}"
            )
        _check_part(f"{owner}.{name}", found, declarations[name])
    return given


def _check_part(owner: str, found: Any, nested: Any) -> None:
    if nested is None:
        Metadata(found)
    elif not isinstance(nested, list):
        checked_metadata(owner, found, nested)
    elif not isinstance(found, Mapping) or not all(
        isinstance(number, str) and number.isdigit() for number in found
    ):
        raise ValueError(
            f'{owner}: metadata of several sub-layers is by their numbers, such as "0", '
            f"got {found!r}"
        )
    else:
        for number, part in found.items():
            checked_metadata(f"{owner}.{number}", part, nested[0])
