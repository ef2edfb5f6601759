"""Eager layers behind the interface of generated ones, so that blocks can take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from mlax_scaffold.spec.layer import Layer


class EagerHyperparams:
    """The hyperparameters of an eager layer, with the interface of generated ones."""

    def __init__(self, layer: Layer) -> None:
        self._make_ = layer._clone_
        self.keyword_inputs = layer._keyword_inputs_()

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        inference_mode: bool = False,
        key: jax.Array | None = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """`fwd`, as a pure function."""
        layer = self._make_()
        layer._load_(trainables, non_trainables)
        y = layer(x, not inference_mode, key, **inputs)
        return y, layer.non_trainables

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._make_(), name)
