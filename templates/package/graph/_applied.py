"""A module in the place of the hyperparameters of a layer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._graph import Path, shown_path
from ._params import Params

if TYPE_CHECKING:
    from ._part import Part


class ChangedWeights(ValueError):
    """A module sets weights in a call that has no place to return them."""

    def __init__(self, module: Part, paths: Iterable[Path]) -> None:
        self.paths = frozenset(paths)
        shown = ", ".join(map(shown_path, sorted(self.paths)))
        super().__init__(
            f"{type(module).__name__} at {shown_path(module.path)} sets the weight {shown} in a call, "
            "and `fwd` of a block returns state only: call the module of the block, or "
            "create the weight with trainable=False"
        )


class Applied:
    """A module as the hyperparameters of a layer: its trees are `Params`."""

    def __init__(self, module: Part) -> None:
        self.module = module

    def apply(
        self,
        x: Any,
        trainables: Params,
        non_trainables: Params,
        inference_mode: bool = False,
        key: Any = None,
        **inputs: Any,
    ) -> tuple[Any, Params]:
        """What a block calls.

        Raises:
            ChangedWeights: where the module sets a weight.
            ValueError: where it sets flags or metadata.
        """
        params = trainables.merge(non_trainables)
        y, after = self.module._run(params, x, not inference_mode, key, **inputs)
        changed = [
            path for path in trainables if after.value(path) is not params.value(path)
        ]
        if changed:
            raise ChangedWeights(self.module, changed)
        marked = params.marked_unlike(after)
        if marked:
            raise ValueError(
                f"{type(self.module).__name__} at {shown_path(self.module.path)} sets flags or metadata "
                f"of {shown_path(marked[0])}, which cannot change in a loop of a block, nor in `fwd`: set "
                "them outside"
            )
        return y, non_trainables.update(
            {path: after.value(path) for path in non_trainables}
        )

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs that the module takes."""
        return self.module.keyword_inputs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "module":
            raise AttributeError(name)
        module = self.module
        owner = module if hasattr(type(module), name) else module._static_hyperparams()
        return getattr(owner, name)
