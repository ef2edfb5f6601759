"""A layer in the place of another one."""

from __future__ import annotations

from typing import Any, ClassVar

from .._core import outlines
from .._core.static import static


@static
class StandIn:
    """Hyperparameters in the place of those of another layer.

    A layer that is built of others calls `fwd` of each by its name, which runs the layer
    that stands in its place (see `scopes.applied_by`).
    """

    hyperparams: Any
    """Those of the layer that runs."""

    stands_in: ClassVar[bool] = True
    """What `fwd` and outlines know it by."""

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        inference_mode: bool = False,
        key: Any = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """`fwd` of the layer that runs."""
        return self.hyperparams.apply(
            x, trainables, non_trainables, inference_mode, key, **inputs
        )

    def outline(self) -> tuple[Any, Any, Any]:
        """Its trees, with shapes in the place of arrays."""
        return *outlines.layer(self.hyperparams)[:2], self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "hyperparams":
            raise AttributeError(name)
        return getattr(self.hyperparams, name)
