"""The layers within the modules of a graph, by their paths, and others in their places."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping
from typing import Any

from .. import surgery
from .._core.paths import listed, path_name
from .._core.static import InitializedLayer
from ..surgery._places import Change
from ._from_pair import FromPair
from ._given import checked_params
from ._layer import LayerModule
from ._node import Node
from ._params import Params
from ._recurrent import RecurrentModule


def parts(module: Node, params: Params) -> dict[str, InitializedLayer]:
    """Every layer in a module, and each within one of these, by its path: initialized layers.

        [path for path in parts(model, params) if path.endswith("to_query")]

    Args:
        module: any module: a layer, a block, or one of one's own.
        params: where its parameters are.

    Raises:
        TypeError: where the params are no `Params`.
        KeyError: where a parameter is missing.
        ValueError: where a module learns its sizes from an input, and had none yet.
    """
    found: dict[str, InitializedLayer] = {}
    for owner in _layers(module):
        place, layer = path_name((owner.path,)), _layer(owner, params)
        found[place] = layer
        for path, part in surgery.parts(layer).items():
            found[f"{place}/{path}"] = part
    return found


def replace(
    module: Any, params: Params, changes: Mapping[str, Change]
) -> tuple[Any, Params]:
    """A copy of a module with other layers in the places of some of its own.

        model, params = replace(model, params, {"net/encoder/attention/to_query": with_lora})

    A `FromPair` stands where a layer was, or where one was changed within. It has the path of
    that, so that other parameters keep their names. The module that is given stays as it is.

    Args:
        module: any module: a layer, a block, or one of one's own.
        params: where its parameters are.
        changes: for the path of each place, as `parts` names it, an initialized layer, or a
            function that makes it of the one that is there, as for `surgery.replace`.

    Returns:
        `(module, params)`. The params are locked where those that are given are.

    Raises:
        TypeError: where the params are no `Params`, or the changes no dict.
        ValueError: where there is no such place, or a layer cannot stand there.
    """
    if not isinstance(changes, Mapping):
        raise TypeError(
            "graph.replace: changes must be a dict of layers by path, got "
            f"{type(changes).__name__}"
        )
    copied = copy.deepcopy(module)
    owners = {path_name((owner.path,)): owner for owner in _layers(copied)}
    by_owner: dict[str, dict[str, Change]] = {}
    for path, change in changes.items():
        place = next((p for p in owners if f"{path}/".startswith(f"{p}/")), None)
        if place is None:
            places = list(parts(module, params))
            near = difflib.get_close_matches(path, places, 1)
            raise ValueError(
                f"graph.replace: there is no layer at {path!r}"
                + (f"; did you mean {near[0]!r}?" if near else f" in {listed(places)}")
            )
        by_owner.setdefault(place, {})[path[len(place) + 1 :]] = change
    stands: dict[int, Any] = {}
    is_locked, params = params.is_locked, params.unlocked()
    for place, own in by_owner.items():
        owner = owners[place]
        stands[id(owner)], params = _changed(owner, params, own, place)
    made = _substituted(copied, stands)
    for part in made.modules():
        if id(part) in stands:
            raise ValueError(
                f"graph.replace: {path_name((part.path,))!r} is held by what is neither a module "
                "nor a list, tuple, set or dict; set it there: module.attribute = FromPair(...)"
            )
    return made, params.locked() if is_locked else params


def _layers(module: Node) -> list[LayerModule]:
    return [part for part in module.modules() if isinstance(part, LayerModule)]


def _layer(owner: LayerModule, params: Params) -> tuple[Any, Any, Any]:
    return *owner._to_pair(checked_params(owner, params)), owner.hyperparams


def _changed(
    owner: LayerModule, params: Params, changes: dict[str, Change], place: str
) -> tuple[FromPair, Params]:
    """What stands in the place of a module, and the params with its parameters."""
    if isinstance(owner, RecurrentModule):
        raise ValueError(
            f"graph.replace: {place!r} is the cell {type(owner).__name__}, whose steps are run "
            "by more than `fwd`; make a module with another cell"
        )
    before = _layer(owner, params)
    if "" in changes:
        change = changes.pop("")
        before = change(before) if callable(change) else change
    layer = surgery.replace(before, changes)
    old, node = _arrays(owner), owner.graph
    node._module = None
    made = FromPair(node, layer, rng=owner.rng)
    new = _arrays(made)
    params = params.remove(path for path in old if new.get(path) != old[path])
    return made, made._from_pair(params, *layer[:2])


def _arrays(module: LayerModule) -> dict[Any, Any]:
    """Shape and dtype of each parameter, and whether it is trained."""
    trainables, non_trainables, _ = module._settled()
    return {
        path: (struct.shape, struct.dtype, is_trained)
        for tree, is_trained in ((trainables, True), (non_trainables, False))
        for path, struct in tree.structs(()).items()
    }


def _substituted(value: Any, stands: dict[int, Any]) -> Any:
    """A value whose modules have others in the places of some of theirs."""
    if id(value) in stands:
        return stands[id(value)]
    if isinstance(value, Node):
        for name, part in vars(value).items():
            if name != "_graph":
                vars(value)[name] = _substituted(part, stands)
    elif type(value) in (list, tuple, set, frozenset):
        return type(value)(_substituted(part, stands) for part in value)
    elif type(value) is dict:
        return {name: _substituted(part, stands) for name, part in value.items()}
    return value
