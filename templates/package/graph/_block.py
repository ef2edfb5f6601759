"""What the modules of blocks share: other modules in the place of initialized layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import jax

from .._core import checks
from .._core.arrays import each, keyword_inputs
from .._core.outlines import SHAPES
from ._applied import Applied, ChangedWeights
from ._arguments import initialized
from ._call import keyword_only
from ._creation import Call, Noted, created
from ._given import checked_call
from ._graph import Graph, Path, shown_path
from ._module import Module
from ._params import Params
from ._part import own_params
from ._recorded import kept
from ._rng import NotSeeded, Rng
from ._run import Run
from ._stacks import map_params, of_all, of_one
from ._trees import same_values


class BlockModule(Module):
    """A module of a block: it runs the block's `fwd`, in which its modules are layers.

    Args:
        graph: a node of its own.
        rng: gives the key of random numbers in training; None: that of its modules.
    """

    functions: ClassVar[Any]
    """The module with `init` and `fwd`."""
    structural: ClassVar[Mapping[str, str]]
    """The fields that hold modules, with their words in the spec."""
    aliases: ClassVar[Mapping[str, str]] = {}
    """The hyperparameters that are attributes of another name, with that."""
    hands_on: ClassVar[bool] = False
    """Whether its modules get the keyword inputs that it is given."""
    draws_keys: ClassVar[bool] = False
    """Whether it draws random numbers, beside its modules."""
    _passes_calls = True
    depth: int
    """How many times a module with stacked weights is applied, where there is one."""

    def __init__(self, graph: Graph, rng: Rng | None = None) -> None:
        super().__init__(graph)
        if rng is not None and not isinstance(rng, Rng):
            raise TypeError(
                f"{type(self).__name__}: rng must be an Rng, got {type(rng).__name__}"
            )
        self.rng = rng

    def init(self, key: Any = None, **layers: Any) -> tuple[Any, Any, Any]:
        """`init` of the block with the hyperparameters of this module."""
        return initialized(self, key, layers)

    def call(
        self,
        entry: Callable[..., Any],
        params: Params,
        x: Any,
        is_training: bool,
        **inputs: Any,
    ) -> tuple[Any, Params]:
        """An entry point of the block, such as `fwd`, with the parameters of its modules."""
        checks.static_flag(type(self).__name__, is_training=is_training)
        checked_call(self, params, x)
        params = self._made(params, x, is_training, **inputs)
        key, rng = None, self._rng() if self._draws else None
        if rng is not None and is_training and rng.is_seeded(params):
            key, params = rng(params)
        try:
            return self._run_entry(entry, params, x, is_training, key, inputs)
        except checks.KeyRequired:
            if rng is None:
                raise
        key, params = rng(params)  # What draws at inference has asked, or has no seed.
        return self._run_entry(entry, params, x, is_training, key, inputs)

    def _run(
        self, params: Params, x: Any, is_training: bool, key: Any, **inputs: Any
    ) -> tuple[Any, Params]:
        """`fwd` of the block with a key that is given."""
        return self._run_entry(self.functions.fwd, params, x, is_training, key, inputs)

    def _run_entry(
        self,
        entry: Callable[..., Any],
        params: Params,
        x: Any,
        is_training: bool,
        key: Any,
        inputs: Mapping[str, Any],
    ) -> tuple[Any, Params]:
        rng, carried = self._rng(), frozenset[Path]()
        while True:
            run = Run(params, carried)
            trees = self._trees(
                run.params,
                lambda name, m: run.layer(m, self._is_stacked(name)),  # noqa: B023
            )
            try:
                y, new = entry(x, *trees, not is_training, key, **inputs)
            except ChangedWeights as change:
                if change.paths <= carried:
                    raise
                carried |= change.paths
            except NotSeeded:
                # A module draws in a loop of the block, which has no generators in it.
                if key is not None or rng is None or not rng.is_seeded(params):
                    raise
                key, params = rng(params)
            else:
                after = self._finished(run, new)
                return kept(self, (y, after if params.is_locked else after.unlocked()))

    @property
    def _draws(self) -> bool:
        """Whether a call draws random numbers."""
        modules = (m for name in self.structural for m in self._of(name))
        return self.draws_keys or any(m._draws for m in modules)

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs of the block, and those of its modules where it hands them on."""
        own, hands_on = keyword_only(type(self)), self.hands_on
        modules = [m for name in self.structural if hands_on for m in self._of(name)]
        return (*own, *keyword_inputs(*modules))

    def _rng(self) -> Rng | None:
        return self.rng or next((m for m in self.modules() if isinstance(m, Rng)), None)

    def _of(self, name: str) -> tuple[Module, ...]:
        given = getattr(self, name)
        return given if self.structural[name] == "layers" else (given,)

    def _is_stacked(self, name: str) -> bool:
        return self.structural[name] == "stacked"

    def _init(self, layer: Any, key: Any = SHAPES) -> tuple[Any, Any, Any]:
        return self.init(key, **self._layers(layer))

    def _layers(self, layer: Any) -> dict[str, Any]:
        """What stands for its modules among the arguments of `init`."""
        made: dict[str, Any] = {}
        for name, form in self.structural.items():
            parts = [layer(name, module) for module in self._of(name)]
            made[name] = parts if form == "layers" else parts[0]
        return made

    def _trees(
        self, params: Params, layer: Any, check: bool = True
    ) -> tuple[Any, Any, Any]:
        """What `fwd` takes, with the trees of modules as `layer` makes them."""
        return self._init(layer)

    def _finished(self, run: Run, non_trainables: Any) -> Params:
        """The params after a run, of which the block returned this state."""
        return run.finished(self, non_trainables)

    # Creation

    def _create(
        self, params: Params, x: Any, is_training: bool = False, **inputs: Any
    ) -> Params:
        return self._made(params, x, is_training, **inputs)

    def _made(self, params: Params, x: Any, is_training: bool, **inputs: Any) -> Params:
        """The params with those that its modules lack for an input of this shape.

        The block is run without computing anything, to see the shapes that its modules get.
        """
        if params.is_locked:
            return params
        calls: list[Call] = []

        def run(x: Any, inputs: Mapping[str, Any]) -> Any:
            # One that draws at inference, too, gets its key when it is run.
            seeded = is_training or self.draws_keys
            key = jax.random.key(0) if seeded else None
            return BlockModule._trace(
                self, params, calls, x, is_training, key, **inputs
            )

        jax.eval_shape(run, x, inputs)
        for module, count, (shape, given) in calls:
            params = created(module, params, shape, is_training, given, count)
        return params

    def _trace(
        self,
        params: Params,
        calls: list[Call],
        x: Any,
        is_training: bool,
        key: Any,
        **inputs: Any,
    ) -> Any:
        """The result of a call, in which calls of modules are noted."""

        def layer(name: str, module: Module) -> tuple[Any, Any, Any]:
            count = self.depth if self._is_stacked(name) else None
            return Params(), Params(), Noted(module, count, params, calls)

        trees = self._init(layer, jax.random.key(0))
        y, _ = self.functions.fwd(x, *trees, not is_training, key, **inputs)
        return y

    # Pairs

    @property
    def hyperparams(self) -> Any:
        """The hyperparameters of `fwd`."""
        return self._init(lambda _, m: (None, None, m._pair_hyperparams()))[2]

    def _pair_hyperparams(self) -> Any:
        return self.hyperparams

    def _static_hyperparams(self) -> Any:
        return self._init(lambda _, m: (None, None, Applied(m)))[2]

    def _to_pair(self, params: Params) -> tuple[Any, Any]:
        """`(trainables, non_trainables)` of `fwd`."""

        def layer(name: str, module: Module) -> tuple[Any, Any, Any]:
            own = own_params(module, params)
            if self._is_stacked(name) and module._passes_calls and own:
                # Blocks look at the first axes of what they are given.
                pair = jax.vmap(lambda own: module._to_pair(params.update(own)))(own)
            else:
                pair = module._to_pair(params)
            if self._is_stacked(name):
                pair = map_params(of_one, pair)
            return *pair, module._pair_hyperparams()

        trainables, non_trainables, _ = self._trees(params, layer, check=False)
        return trainables, non_trainables

    def _from_pair(
        self,
        params: Params,
        trainables: Any,
        non_trainables: Any,
        stack: tuple[int, ...] = (),
    ) -> Params:
        """The params with the arrays of a pair."""
        seen: dict[Path, Any] = {}
        for name, form in self.structural.items():
            if not (hasattr(trainables, name) and hasattr(non_trainables, name)):
                raise ValueError(
                    f"{type(self).__name__} at {shown_path(self.path)}: trainables and non_trainables must "
                    f"be those of `init` of the block, with {name!r}; got "
                    f"{type(trainables).__name__} and {type(non_trainables).__name__}"
                )
            modules = self._of(name)
            pair = getattr(trainables, name), getattr(non_trainables, name)
            if form != "layers":
                pair = (pair[0],), (pair[1],)
            weights, states = (each(part, len(modules)) for part in pair)
            if len(weights) != len(modules) or len(states) != len(modules):
                raise ValueError(
                    f"{type(self).__name__} at {shown_path(self.path)}: {name} has {len(modules)} modules, "
                    f"and the pair {len(weights)} weights and {len(states)} states"
                )
            for module, weight, state in zip(modules, weights, states, strict=True):
                if self._is_stacked(name):
                    params = self._from_stack(params, module, weight, state, stack)
                else:
                    params = module._from_pair(params, weight, state, stack)
                self._check_again(seen, own_params(module, params))
        return params

    def _from_stack(
        self,
        params: Params,
        module: Module,
        weights: Any,
        state: Any,
        stack: tuple[int, ...],
    ) -> Params:
        """The params with the arrays of a pair whose first axis is the depth."""
        known = set(params)
        made = module._from_pair(params, weights, state, (*stack, self.depth))
        new, rest = made.split(lambda path, _: path not in known)
        return rest.merge(of_all(new))

    def _check_again(self, seen: dict[Path, Any], made: Params) -> None:
        """Refuse values of a module that is there several times which are not the same."""
        for path, param in made.items():
            value = seen.setdefault(path, param.value)
            if not same_values(value, param.value):
                raise ValueError(
                    f"{type(self).__name__} at {shown_path(self.path)}: {shown_path(path)} is "
                    "given twice, with other values: its module is there several times, "
                    "and a pair has weights and state for each; give each a module of its own"
                )
