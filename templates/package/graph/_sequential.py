"""Modules and functions one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax

from .._core import checks, scopes
from .._core.arrays import keyword_inputs, taken
from ._call import call
from ._graph import Graph
from ._module import Module
from ._params import Params


class Sequential(Module):
    """Modules and functions one after another: the output of each is the input of the next.

    >>> model = Sequential(graph.child("mlp"), [hidden, jax.nn.relu, output])

    Args:
        graph: a node of its own.
        layers: modules, which get `is_training` and keyword inputs where they take them, and
            functions of an array.

    Raises:
        TypeError: where one is neither, or a module returns something else than
            `(y, params)`.
    """

    def __init__(
        self, graph: Graph, layers: Iterable[Module | Callable[[Any], Any]]
    ) -> None:
        super().__init__(graph)
        if not isinstance(layers, Iterable):
            raise TypeError(
                "Sequential: layers must be a sequence of modules and functions, "
                f"got {layers!r}"
            )
        self.layers = tuple(layers)
        for i, layer in enumerate(self.layers):
            if not callable(layer):
                raise TypeError(
                    f"Sequential: layers[{i}] must be a module or a function, got {layer!r}"
                )

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs of its modules."""
        return keyword_inputs(*self.layers)

    def __call__(
        self, params: Params, x: Any, *, is_training: bool = True, **inputs: Any
    ) -> tuple[Any, Params]:
        """The output of the last one, and the params.

        Args:
            params: the parameters.
            x: the input of the first one.
            is_training: static; handed to the modules.
            **inputs: keyword inputs, handed to the modules that take them.

        Raises:
            TypeError: where no module takes one of them, or is_training is neither True nor
                False.
        """
        checks.static_flag("Sequential", is_training=is_training)
        checks.passed("Sequential", self, inputs)
        at = 0
        try:
            for at, layer in enumerate(self.layers):
                if scopes.is_traced(x):
                    with jax.named_scope(f"Sequential[{at}]"):
                        x, params = _applied(layer, params, x, is_training, inputs)
                else:
                    x, params = _applied(layer, params, x, is_training, inputs)
        except Exception as error:
            scopes.located(error, f"Sequential[{at}]")
            raise
        return x, params


def _applied(
    layer: Any, params: Params, x: Any, is_training: bool, inputs: dict[str, Any]
) -> tuple[Any, Params]:
    if isinstance(layer, Module):
        return call(layer, params, x, is_training, **taken(layer, inputs))
    return layer(x), params
