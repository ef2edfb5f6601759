"""What the modules of layers share: parameters by path around `init` and `fwd`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import jax
import jax.core

from .._core import checks
from ._call import keyword_only
from ._given import checked_call
from ._outlined import OutlinedModule
from ._params import Params
from ._recorded import kept


class LayerModule(OutlinedModule):
    """A module of a layer: its parameters are what `init` makes, and a call runs `fwd`.

    Args:
        graph: a node of its own.
        rng: gives the keys of the weights, and of random numbers in training.
        dtype: dtype of the weights; None: that of their initializers.
        metadata: of the parameters, by their names; that of sub-layers is nested.
    """

    draws_keys: ClassVar[bool] = False
    """Whether it draws random numbers."""

    # Running

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs of the layer."""
        return keyword_only(type(self))

    @property
    def _draws(self) -> bool:
        """Whether a call draws random numbers."""
        return self.draws_keys

    def call(
        self,
        entry: Callable[..., Any],
        params: Params,
        x: Any,
        is_training: bool,
        **inputs: Any,
    ) -> tuple[Any, Params]:
        """An entry point of the layer, such as `fwd`, with the parameters of this module."""
        if is_training is not True and is_training is not False:
            checks.static_flag(type(self).__name__, is_training=is_training)
        checked_call(self, params, x)
        sizes = self.sizes_for(entry, x)
        params, key = self._made(params, sizes), None
        rng = self.rng if self.draws_keys else None
        if rng is not None and is_training and rng.is_seeded(params):
            key, params = rng(params)
        try:
            return self._run_entry(entry, sizes, params, x, is_training, key, inputs)
        except checks.KeyRequired:
            if rng is None:
                raise
        key, params = rng(params)  # What draws at inference has asked, or has no seed.
        return self._run_entry(entry, sizes, params, x, is_training, key, inputs)

    def _run(
        self, params: Params, x: Any, is_training: bool, key: Any, **inputs: Any
    ) -> tuple[Any, Params]:
        """`fwd` with a key that is given."""
        sizes, fwd = self.inferred_sizes(x), self.functions.fwd
        return self._run_entry(fwd, sizes, params, x, is_training, key, inputs)

    def _run_entry(
        self,
        entry: Callable[..., Any],
        sizes: dict[str, Any],
        params: Params,
        x: Any,
        is_training: bool,
        key: Any,
        inputs: Mapping[str, Any],
    ) -> tuple[Any, Params]:
        outline = self._outline(sizes)
        trainables = outline.trainables.read(self, params)
        state = outline.non_trainables.read(self, params)
        y, new = entry(
            x, trainables, state, outline.hyperparams, not is_training, key, **inputs
        )
        if not self._is_settled:
            self._learn(sizes, (x, trainables, state))
        if new is not state:
            params = params.update(outline.non_trainables.by_path(new))
        return kept(self, (y, params))

    def _learn(self, sizes: dict[str, Any], given: Any) -> None:
        """Keep the sizes of the first call that succeeds, with arrays rather than traced."""
        traced = any(
            isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(given)
        )
        if self._known is None or not traced:
            self._known, self._is_settled = sizes, not traced

    def _trace(
        self,
        params: Params,
        calls: list[Any],
        x: Any,
        is_training: bool,
        key: Any,
        **inputs: Any,
    ) -> Any:
        """The result of a call whose parameters need not be there."""
        trees = self.init(jax.random.key(0), **self.inferred_sizes(x))
        return self.functions.fwd(x, *trees, not is_training, key, **inputs)[0]

    # Parameters

    def _create(
        self, params: Params, x: Any, is_training: bool = False, **inputs: Any
    ) -> Params:
        return self._made(params, self.inferred_sizes(x))

    def _made(self, params: Params, sizes: Mapping[str, Any]) -> Params:
        """The params with those that the layer of these sizes lacks."""
        return self._with_arrays(params, sizes, self.rng)
