"""Weights that are computed of others: weight norm, spectral norm and their like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .._core import arrays, checks, outlines
from .._core.paths import listed, named_leaves, path_name
from .._core.scopes import applied_by
from .._core.static import InitializedLayer, OfLayer, static

Names = tuple[str, ...]
"""A path, as its names: so it is a key of a tree."""


class ReparametrizedTrainables(NamedTuple):
    """Weights of a layer, and of the layers that its weights go through."""

    layer: Any
    maps: dict[Names, Any]


class ReparametrizedNonTrainables(NamedTuple):
    """State of the same."""

    layer: Any
    maps: dict[Names, Any]


@static
class ReparametrizedHyperparams(OfLayer):
    """Hyperparameters of `reparametrized`: canonical, hashable, static."""

    layer: Any
    """Of the layer that runs."""
    maps: dict[Names, Any]
    """Of the layer that each weight goes through, by the weight's path."""

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """Keyword inputs of the layer."""
        return arrays.keyword_inputs(self.layer)

    @property
    def initial_carry(self) -> Any:
        """That of the layer, where it is a recurrent cell."""
        return self.layer.initial_carry

    def outline(self) -> tuple[Any, Any, Any]:
        """The trees, with shapes in the place of arrays."""
        layer = outlines.layer(self.layer)
        maps = {names: outlines.layer(part) for names, part in self.maps.items()}
        return (
            ReparametrizedTrainables(
                layer[0], {n: part[0] for n, part in maps.items()}
            ),
            ReparametrizedNonTrainables(
                layer[1], {n: part[1] for n, part in maps.items()}
            ),
            self,
        )


def reparametrized(
    layer: InitializedLayer, maps: Mapping[str, InitializedLayer]
) -> InitializedLayer:
    """A layer some of whose weights are computed: each goes through a layer of its own first.

        keys = jax.random.split(jax.random.key(0))
        linear = nn.Linear.init(keys[0], 4, 3)
        layer = reparametrized(linear, {"kernel": nn.SpectralNorm.init(keys[1], 3)})

    It goes around any layer, also around a whole model, whose weights have longer paths.
    The weights `trainables.layer` stay those of the layer, and what they go through has its
    own weights and state beside them. Weights arrive in the dtype of the input, as in any
    layer. A key is split: over the layer, and over what its weights go through.

    Args:
        layer: an initialized layer.
        maps: an initialized layer for the path of each weight, as `flatten` names it. Its
            output has the shape of its input.

    Returns:
        An initialized layer.

    Raises:
        ValueError: where there is no weight at a path.
    """
    weights, state, hyperparams = checks.sub_layer(
        "surgery.reparametrized", layer=layer
    )
    if not isinstance(maps, Mapping) or not maps:
        raise TypeError(
            "surgery.reparametrized: maps must be a dict of initialized layers by the "
            f"path of a weight, got {maps!r}"
        )
    known = dict(named_leaves(weights))
    made = {}
    for path, part in maps.items():
        if path not in known:
            raise ValueError(
                f"surgery.reparametrized: there is no weight at {path!r}; there are "
                f"{listed(known) or 'none'}"
            )
        name = f"maps[{path!r}]"
        made[_names(path)] = checks.sub_layer("surgery.reparametrized", **{name: part})
    return (
        ReparametrizedTrainables(weights, {n: part[0] for n, part in made.items()}),
        ReparametrizedNonTrainables(state, {n: part[1] for n, part in made.items()}),
        ReparametrizedHyperparams(
            hyperparams, {n: part[2] for n, part in made.items()}
        ),
    )


@applied_by(ReparametrizedHyperparams)
def fwd(
    x: Any,
    trainables: ReparametrizedTrainables,
    non_trainables: ReparametrizedNonTrainables,
    hyperparams: ReparametrizedHyperparams,
    inference_mode: bool = False,
    key: jax.Array | None = None,
    **inputs: Any,
) -> tuple[Any, ReparametrizedNonTrainables]:
    """The layer with the weights that come out."""
    checks.arguments(
        "Reparametrized", trainables, non_trainables, hyperparams, inference_mode
    )
    keys = arrays.split_keys(key, 1 + len(hyperparams.maps))
    dtype = arrays.floating_dtype(x)
    weights = dict(named_leaves(trainables.layer))
    computed, states = {}, {}
    for i, (names, part) in enumerate(hyperparams.maps.items()):
        path = path_name((names,))
        weight = weights[path]
        weight = weight if dtype is None else arrays.in_dtype(weight, dtype)
        trees = trainables.maps[names], non_trainables.maps[names]
        new, states[names] = part.apply(weight, *trees, inference_mode, keys[1 + i])
        if jnp.shape(new) != jnp.shape(weight):
            raise ValueError(
                f"Reparametrized: the weight {path!r} has shape {jnp.shape(weight)}, and "
                f"what it goes through makes {jnp.shape(new)} of it"
            )
        computed[path] = new
    used = jax.tree_util.tree_map_with_path(
        lambda path, weight: computed.get(path_name(path), weight), trainables.layer
    )
    y, state = hyperparams.layer.apply(
        x, used, non_trainables.layer, inference_mode, keys[0], **inputs
    )
    return y, ReparametrizedNonTrainables(state, states)


def _names(path: str) -> Names:
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in path.split("/"))
