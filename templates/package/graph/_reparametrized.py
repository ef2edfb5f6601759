"""A module whose weights are computed of others: weight norm, spectral norm and their like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from .._core import arrays, checks
from .._core.paths import listed, path_name
from ._call import call
from ._given import checked_call
from ._graph import Graph, Path, shown_path
from ._module import Module
from ._params import Params


class Reparametrized(Module):
    """A module some of whose weights go through another module first.

    >>> linear = Linear(graph.child("linear"), output_size=3, rng=rng)
    >>> norm = SpectralNorm(graph.child("norm"), rng=rng)
    >>> model = Reparametrized(graph.child("normed"), linear, {"kernel": norm})

    It goes around any module, also around a whole model, whose weights have longer paths.
    The weights of the module stay, and what they go through has its own parameters.
    Weights arrive in the dtype of the input.

    Args:
        graph: a node of its own.
        module: whose weights they are.
        maps: a module for the path of each weight, from that of the module on. Its output
            has the shape of its input.

    Raises:
        TypeError: where something is no module.
    """

    def __init__(
        self, graph: Graph, module: Module, maps: Mapping[str, Module]
    ) -> None:
        super().__init__(graph)
        if not isinstance(maps, Mapping) or not maps:
            raise TypeError(
                "Reparametrized: maps must be a dict of modules by the path of a weight, "
                f"got {maps!r}"
            )
        for name, given in {"module": module, **maps}.items():
            if not isinstance(given, Module):
                raise TypeError(
                    f"Reparametrized: {name} must be a module of a graph, got {given!r}"
                )
        self.module = module
        self.maps = dict(maps)

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs of the module."""
        return self.module.keyword_inputs

    def __call__(
        self, params: Params, x: Any, *, is_training: bool = True, **inputs: Any
    ) -> tuple[Any, Params]:
        """Apply the module with the weights that come out.

        Args:
            params: the parameters: those that are missing are created.
            x: the input of the module.
            is_training: static; handed to all of them.
            **inputs: keyword inputs of the module.

        Raises:
            ValueError: where there is no weight at a path, or one changes its shape.
        """
        checks.static_flag("Reparametrized", is_training=is_training)
        checked_call(self, params, x)
        if not params.is_locked:
            params = self.module._create(params, x, is_training, **inputs)
        dtype = arrays.floating_dtype(x)
        paths = {name: self._path(params, name) for name in self.maps}
        weights = {path: params.value(path) for path in paths.values()}
        computed = {}
        for name, path in paths.items():
            weight = weights[path]
            weight = weight if dtype is None else arrays.in_dtype(weight, dtype)
            new, params = call(self.maps[name], params, weight, is_training)
            if jnp.shape(new) != jnp.shape(weight):
                raise ValueError(
                    f"Reparametrized: the weight {shown_path(path)} has shape "
                    f"{jnp.shape(weight)}, and what it goes through makes "
                    f"{jnp.shape(new)} of it"
                )
            computed[path] = new
        y, params = call(self.module, params.update(computed), x, is_training, **inputs)
        return y, params.update(weights)

    def _path(self, params: Params, name: str) -> Path:
        names = (n.replace("~1", "/").replace("~0", "~") for n in name.split("/"))
        path = (*self.module.path, *names)
        if path not in params:
            depth = len(self.module.path)
            own = [
                path_name((known[depth:],))
                for known in params
                if known[:depth] == self.module.path
            ]
            raise ValueError(
                f"Reparametrized: {type(self.module).__name__} at "
                f"{shown_path(self.module.path)} has no weight {name!r}; it has "
                f"{listed(own) or 'none'}"
            )
        return path
