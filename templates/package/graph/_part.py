"""What blocks ask of the modules in them."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from .._core import recording
from ._applied import Applied
from ._call import call, keyword_inputs, rng_by_name, takes_several
from ._graph import shown_path
from ._node import Node
from ._params import Params
from ._recorded import keeping
from ._trees import check_like


class Part(Node):
    """A part of a model. The modules of layers and of blocks have their own answers."""

    _takes_several: ClassVar[bool] = False
    """Whether its inputs stand one by one in a call, which are a tuple in a block."""
    _passes_calls: ClassVar[bool] = False
    """Whether it is a block, which hands on what its modules create."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        if "__call__" in own and not (hasattr(cls, "functions") or cls._gives_keys):
            # Those of layers and blocks keep their outputs in `call`.
            cls.__call__ = keeping(cls.__call__)  # type: ignore[attr-defined]
        if {"functions", "__init__"} <= own:
            cls.__init__ = rng_by_name(cls.__init__)
            cls._takes_several = takes_several(cls)
        elif "__call__" in own and hasattr(cls, "functions"):
            # A block runs the call of this class, and not the function of the layer.
            for name in _OF_CALLS:
                setattr(cls, name, vars(Part)[name])

    @property
    def _draws(self) -> bool:
        """Whether a call draws random numbers: an `Rng` is among its attributes."""
        return any(module._gives_keys for module in self.modules())

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs that a block may hand to it: those of `__call__` after x.

        With `**inputs` it takes any, which is written `**`.
        """
        return keyword_inputs(type(self))

    def _create(
        self, params: Params, x: Any, is_training: bool = False, **inputs: Any
    ) -> Params:
        """The params with those that this module lacks for inputs of these shapes.

        A module of one's own is called with zeros, for what it creates: no value changes in
        that call but the counters of keys.

        Args:
            params: unlocked.
            x: arrays, or `jax.ShapeDtypeStruct`s.
            is_training: whether it is created by a call in training.
            **inputs: keyword inputs, likewise.
        """
        zeros = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), (x, inputs))
        before = params.layout.changing
        if before is None:
            params = params.changing(self.graph.root.key_paths())
        with recording.frame():  # Zeros are nothing to look at.
            _, made = call(self, params, zeros[0], is_training, **zeros[1])
        return made.changing(before)

    def _run(
        self, params: Params, x: Any, is_training: bool, key: Any, **inputs: Any
    ) -> tuple[Any, Params]:
        """A call with one key for everything random in it; None: as somebody calls it.

        A module of one's own draws from its `Rng`s: they are seeded with the key for the call.
        """
        if key is None:
            return call(self, params, x, is_training, **inputs)
        before = params
        rngs: list[Any] = [m for m in self.modules() if m._gives_keys]
        for number, rng in enumerate(rngs):
            seed = jax.random.fold_in(key, number)
            params = rng.seed(params.unlocked(), seed=seed, counter=0)
        params = params.locked() if before.is_locked else params
        y, params = call(self, params, x, is_training, **inputs)
        seeded = {path for rng in rngs for path in rng.paths if path in params}
        kept = {path: before.value(path) for path in seeded if path in before}
        return y, params.update(kept).remove(seeded - set(kept))

    def _trace(
        self,
        params: Params,
        calls: list[Any],
        x: Any,
        is_training: bool,
        key: Any,
        **inputs: Any,
    ) -> Any:
        """The result of a call whose parameters need not be there. A block notes its `calls`."""
        return self._run(params.unlocked(), x, is_training, key, **inputs)[0]

    def _pair_hyperparams(self) -> Any:
        """What stands in the place of the hyperparameters of a layer."""
        return Applied(self)

    def _static_hyperparams(self) -> Any:
        """What a block calls the methods of a layer's hyperparameters on: this module."""
        return self

    def _to_pair(self, params: Params) -> tuple[Any, Any]:
        """Its parameters, those that are trainable and the others."""
        return own_params(self, params).split()

    def _from_pair(
        self,
        params: Params,
        trainables: Any,
        non_trainables: Any,
        stack: tuple[int, ...] = (),
    ) -> Params:
        """The params with the arrays of a pair, which `stack` modules have together."""
        for part in (trainables, non_trainables):
            if not isinstance(part, Params):
                raise ValueError(
                    f"{type(self).__name__} at {shown_path(self.path)}: the pair of a module of one's own "
                    f"is Params, as params_to_pair returns them, got {type(part).__name__}"
                )
        for path, param in trainables.merge(non_trainables).items():
            if path in params:
                check_like(self, path, param.value, params.value(path), exact=True)
                params = params.set(path, param.value)
            else:
                trainable, metadata = param.trainable, param.metadata
                params = params.add(
                    path, param.value, trainable=trainable, metadata=metadata
                )
        return params


_OF_CALLS = (
    "_create",
    "_run",
    "_trace",
    "_draws",
    "_passes_calls",
    "_pair_hyperparams",
    "_to_pair",
    "_from_pair",
    "keyword_inputs",
)
"""What a block asks of a module that has a call of one's own."""


def own_params(module: Part, params: Params) -> Params:
    """The parameters of a module and of those in it, without seeds and counters."""
    modules = list(module.modules())
    places = frozenset(m.path for m in modules if not m._gives_keys)
    return params.below(places, frozenset(m.path for m in modules if m._gives_keys))
