"""What the modules of blocks share that have weights, states or layers of their own beside the given ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax.typing import DTypeLike

from ._applied import Applied
from ._block import BlockModule
from ._creation import Call, noted
from ._graph import Graph
from ._outlined import OutlinedModule
from ._params import Params
from ._rng import Rng
from ._run import Run


class OwningBlockModule(BlockModule, OutlinedModule):
    """A module of a block whose `init` makes arrays: they are parameters of the module itself.

    Args:
        graph: a node of its own.
        rng: gives the keys of the weights, and of random numbers in training; None: that of
            its modules.
        dtype: dtype of the weights; None: that of their initializers.
        metadata: of the parameters, by their names; that of sub-layers is nested.
    """

    def __init__(
        self,
        graph: Graph,
        rng: Rng | None = None,
        dtype: DTypeLike | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        OutlinedModule.__init__(self, graph, rng, dtype, metadata)

    def init(self, key: Any = None, **layers: Any) -> tuple[Any, Any, Any]:
        """`init` of the block; without layers, nothing is in the places of their trees."""
        nothing = self._layers(lambda _, module: (None, None, _Settled(module)))
        return super().init(key, **nothing | layers)

    def _trees(
        self, params: Params, layer: Any, check: bool = True
    ) -> tuple[Any, Any, Any]:
        trainables, state, hyperparams = self._init(layer)
        outline = self._outline({})
        own = outline.trainables.read(self, params, check)
        trainables = _replaced(trainables, self._own_fields(own))
        own = outline.non_trainables.read(self, params, check)
        state = _replaced(state, self._own_fields(own))
        return trainables, state, hyperparams

    def _finished(self, run: Run, non_trainables: Any) -> Params:
        own = self._own_fields(non_trainables)
        params = run.finished(self, _replaced(non_trainables, dict.fromkeys(own)))
        outline, new = self._outline({}).non_trainables, self._own(non_trainables)
        return params.update(outline.by_path(new))

    def _own_fields(self, tree: Any) -> dict[str, Any]:
        """What is its own of the weights, or of the states, by name."""
        fields = getattr(tree, "_fields", ())
        names = [name for name in fields if name not in self.structural]
        return {name: getattr(tree, name) for name in names}

    def _own(self, tree: Any) -> Any:
        """The weights, or the states, without those of its modules."""
        return _replaced(tree, dict.fromkeys(self.structural))

    # Creation

    def _made(self, params: Params, x: Any, is_training: bool, **inputs: Any) -> Params:
        if not params.is_locked:
            params = self._with_arrays(params, self.inferred_sizes(x), self._rng())
        return super()._made(params, x, is_training, **inputs)

    def _trace(
        self,
        params: Params,
        calls: list[Call],
        x: Any,
        is_training: bool,
        key: Any,
        **inputs: Any,
    ) -> Any:
        # It creates what its modules lack with what it lacks itself.
        calls.append(noted(self, None, x, inputs))
        return super()._trace(params, [], x, is_training, key, **inputs)

    # Pairs

    def _from_pair(
        self,
        params: Params,
        trainables: Any,
        non_trainables: Any,
        stack: tuple[int, ...] = (),
    ) -> Params:
        params = super()._from_pair(params, trainables, non_trainables, stack)
        trees = self._own(trainables), self._own(non_trainables)
        return OutlinedModule._from_pair(self, params, *trees, stack)


class _Settled(Applied):
    """A module without its trees, whose hyperparameters `init` may read: a size must be known."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "module":
            raise AttributeError(name)
        return getattr(self.module._pair_hyperparams(), name)


def _replaced(tree: Any, parts: Mapping[str, Any]) -> Any:
    """The weights, or the states, with others in them; a block that has none has None."""
    return tree if tree is None else tree._replace(**parts)
