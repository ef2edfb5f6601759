"""The layers within a layer, by their paths, and others in their places."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._core import checks, outlines
from .._core.checks._layers import applies
from .._core.paths import listed
from .._core.static import InitializedLayer
from ._standing import StandIn

Change = InitializedLayer | Callable[[InitializedLayer], InitializedLayer]
"""An initialized layer, or a function that makes one of the one that was there."""


def parts(layer: InitializedLayer) -> dict[str, InitializedLayer]:
    """Every layer within an initialized one, by its path: initialized layers, too.

    A layer comes before those in it. In a Repeat the arrays of its layer are stacked.

        {path: part for path, part in parts(model).items() if path.endswith("to_query")}

    Args:
        layer: what `init` returned, with weights of any kind: shapes will do.
    """
    given = checks.sub_layer("surgery.parts", layer=layer)
    return dict(_within("", given))


def _within(place: str, layer: tuple[Any, Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, part in members(layer):
        path = f"{place}/{name}" if place else name
        if applies(part[2]):
            yield path, part
        yield from _within(path, part)


def members(layer: tuple[Any, Any, Any]) -> Iterator[tuple[str, Any]]:
    """What a layer, or a container of layers, has in it that holds layers."""
    trainables, non_trainables, node = layer
    for name, value in _fields(node).items():
        if _holds_layers(value):
            trees = _member(trainables, name), _member(non_trainables, name)
            yield name, (*trees, value)


def _holds_layers(value: Any) -> bool:
    """Whether it is a layer, or a container with one in it; sizes are in tuples, too."""
    if type(value) is dict:
        return any(map(_holds_layers, value.values()))
    if type(value) is tuple:
        return any(map(_holds_layers, value))
    return applies(value)


def _fields(node: Any) -> dict[str, Any]:
    """The values of a node by name."""
    if isinstance(node, StandIn):
        return _fields(node.hyperparams)
    if type(node) is dict:
        return node
    if type(node) is tuple:
        return {str(i): value for i, value in enumerate(node)}
    if dataclasses.is_dataclass(node):
        return {f.name: getattr(node, f.name) for f in dataclasses.fields(node)}
    return {}


def _member(tree: Any, name: str) -> Any:
    """The part of a tree that belongs to a member; None where it has none."""
    if isinstance(tree, dict):
        return tree.get(name)
    if hasattr(tree, "_fields"):
        return getattr(tree, name, None)
    if isinstance(tree, tuple):
        return tree[int(name)]
    return None


def replace(layer: InitializedLayer, changes: Mapping[str, Change]) -> InitializedLayer:
    """A model with other layers in the places of some of its own.

        def with_lora(linear):
            weights, _, hyperparams = linear
            sizes = hyperparams.in_features, hyperparams.out_features
            made, state, hyperparams = nn.LoRALinear.init(key, *sizes, rank=4)
            return made._replace(linear=weights), state, hyperparams

        model = replace(model, {"layers/0/attention/to_query": with_lora})

    Weights lie at the path of the layer that they belong to. What stands in the place of a
    layer takes the same input and keyword inputs. A layer that is built of others knows
    which of them have a state and draw random numbers: in the place of one that has none,
    there can be none. Blocks such as Series take any layer.

    Args:
        layer: an initialized layer.
        changes: for the path of each place an initialized layer, or a function that makes
            it of the one that is there. Within a Repeat arrays are stacked, as those of
            `jax.vmap` of `init`.

    Returns:
        An initialized layer, which `hyperparams.apply` runs, and `fwd` of its name.

    Raises:
        ValueError: where there is no such place, or a layer cannot stand there.
    """
    made = checks.sub_layer("surgery.replace", layer=layer)
    if not isinstance(changes, Mapping):
        raise TypeError(
            "surgery.replace: changes must be a dict of layers by path, got "
            f"{type(changes).__name__}"
        )
    for path, change in changes.items():
        made = _replaced(made, path.split("/"), change, path)
    trainables, non_trainables, hyperparams = made
    problems = outlines.of(hyperparams).problems(trainables, non_trainables)
    if problems:
        raise ValueError(
            f"surgery.replace: {'; '.join(problems[:4])}; within a Repeat arrays are "
            "stacked, as jax.vmap of `init` makes them"
        )
    return made


def _replaced(layer: Any, names: list[str], change: Any, path: str) -> Any:
    """A layer, or a container of layers, with a change at a place in it."""
    trainables, non_trainables, node = layer
    if isinstance(node, StandIn):
        inner = _replaced((*layer[:2], node.hyperparams), names, change, path)
        return *inner[:2], dataclasses.replace(node, hyperparams=inner[2])
    first, *rest = names
    found = dict(members(layer))
    if first not in found:
        raise ValueError(
            f"surgery.replace: there is no layer at {path!r}: "
            f"{_shown(node)} has {listed(found) or 'none'}{_near(first, found)}"
        )
    old = found[first]
    is_place = not rest or (len(rest) == 1 and type(old[2]) in (tuple, dict))
    if rest:
        new = _replaced(old, rest, change, path)
    else:
        new = change(old) if callable(change) else change
        new = checks.sub_layer("surgery.replace", **{f"changes[{path!r}]": new})
    value = new[2]
    if is_place and applies(node) and not outlines.runs_any(node):
        value = _standing(value)
    owner = _shown(node)
    return (
        with_part(trainables, first, new[0], node, f"{path!r} has weights", owner),
        with_part(non_trainables, first, new[1], node, f"{path!r} has a state", owner),
        rebuilt(node, first, value),
    )


def _standing(value: Any) -> Any:
    """What stands where a layer is called by its name; in a container, each that is there."""
    if type(value) is tuple:
        return tuple(map(_standing, value))
    if type(value) is dict:
        return {name: _standing(item) for name, item in value.items()}
    if isinstance(value, StandIn) or not applies(value):
        return value
    return StandIn(value)


def with_part(old: Any, name: str, part: Any, node: Any, what: str, owner: str) -> Any:
    """A tree with another part for a member."""
    if old is None and part is None:
        return None
    tree: Any = old
    if old is None and type(node) is tuple:
        tree = (None,) * len(node)
    if isinstance(tree, dict):
        return {**tree, name: part}
    if name in getattr(tree, "_fields", ()):
        return tree._replace(**{name: part})
    if type(tree) is tuple:
        return tuple(part if i == int(name) else t for i, t in enumerate(tree))
    if part is None:
        return tree
    raise ValueError(
        f"surgery.replace: what is to stand at {what}, for which {owner} has no place, since "
        "what it has there has none; replace the layer around it, or change weights from "
        "outside, with surgery.reparametrized"
    )


def rebuilt(node: Any, name: str, value: Any) -> Any:
    """Hyperparameters, or a container, with another member of this name."""
    if type(node) is tuple:
        return tuple(value if i == int(name) else v for i, v in enumerate(node))
    if type(node) is dict:
        return {**node, name: value}
    return dataclasses.replace(node, **{name: value})


def _shown(node: Any) -> str:
    if type(node) in (tuple, dict):
        return f"a {type(node).__name__} of {len(node)}"
    return type(node).__name__.removesuffix("Hyperparams")


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""
