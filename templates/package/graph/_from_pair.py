"""A module of an initialized layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from .._core import checks
from .._core.arrays import keyword_inputs
from .._core.static import InitializedLayer
from ._graph import Graph
from ._layer import LayerModule
from ._params import Params
from ._rng import Rng
from ._trees import Outline, struct_of


class _Applying:
    """What runs a layer by its hyperparameters."""

    @staticmethod
    def fwd(
        x: Any,
        trainables: Any,
        non_trainables: Any,
        hyperparams: Any,
        inference_mode: bool,
        key: Any,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """`fwd` of the layer."""
        return hyperparams.apply(
            x, trainables, non_trainables, inference_mode, key, **inputs
        )


class FromPair(LayerModule):
    """A module of an initialized layer, such as one that `surgery` made.

    Its parameters are those of the layer, which `pair_to_params` puts into `Params`: it
    makes none itself, and holds no arrays.

    >>> layer = block.MLP.init(key, 4, [8], 2)
    >>> mlp = FromPair(graph.child("mlp"), layer)
    >>> params = pair_to_params(mlp, *layer[:2], params)
    >>> y, params = mlp(params, x)

    Args:
        graph: a node of its own.
        layer: what `init` returned; of the arrays shapes and dtypes are kept.
        rng: gives the keys of random numbers in training.
    """

    functions: ClassVar[Any] = _Applying

    def __init__(
        self, graph: Graph, layer: InitializedLayer, rng: Rng | None = None
    ) -> None:
        super().__init__(graph, rng=rng)
        *trees, hyperparams = checks.sub_layer("FromPair", layer=layer)
        self._shapes = jax.tree.map(struct_of, tuple(trees))
        self._applied = hyperparams

    @property
    def draws_keys(self) -> bool:  # type: ignore[override]
        """Whether it may draw random numbers in training: where it has an `Rng`."""
        return self.rng is not None

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs of the layer."""
        return keyword_inputs(self._applied)

    def __call__(
        self, params: Params, x: Any, *, is_training: bool = True, **inputs: Any
    ) -> tuple[Any, Params]:
        """Apply the module.

        Args:
            params: with the parameters of the layer.
            x: the input of the layer.
            is_training: static; whether state changes and something may be random.
            **inputs: keyword inputs of the layer.

        Raises:
            KeyError: where a parameter is missing.
        """
        checks.passed("FromPair", self, inputs)
        return self.call(self.functions.fwd, params, x, is_training, **inputs)

    def init(self, key: Any, **sizes: Any) -> tuple[Any, Any, Any]:
        """An initialized layer of zeros: what the shapes say, and nothing else."""
        zeros = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), self._shapes)
        return *zeros, self._applied

    def _outline(self, sizes: Mapping[str, Any]) -> Outline:
        if self._outlined is None:
            self._outlined = {}, Outline.of(self.path, (*self._shapes, self._applied))
        return self._outlined[1]

    def _with_arrays(
        self, params: Params, sizes: Mapping[str, Any], rng: Rng | None
    ) -> Params:
        if missing := params.lacking(self._outline(sizes).paths):
            raise KeyError(
                f"FromPair: there is no parameter {'/'.join(missing[0])!r}; put those of the "
                "layer into params: pair_to_params(module, trainables, non_trainables, "
                "params)"
            )
        return params
