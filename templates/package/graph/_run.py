"""A run of a block in which modules are layers, and may be the same module several times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from ._applied import Applied
from ._graph import Path, shown_path
from ._module import Module
from ._params import Params
from ._part import own_params
from ._stacks import of_one


class Run:
    """The parameters during one run of a block: each call sees what those before changed.

    Args:
        params: before the run.
        carried: weights that are handed on as state, because a module changes them in a loop
            of the block.
    """

    def __init__(self, params: Params, carried: frozenset[Path]) -> None:
        self.params = params.locked()
        self.carried = carried
        self.looked_at: dict[Path, Any] = {}
        self.changed_by: dict[Path, Running] = {}

    def layer(self, module: Module, stacked: bool) -> tuple[Slot, Slot, Running]:
        """A module as an initialized layer."""
        own = own_params(module, self.params)
        if stacked:
            own = of_one(own)
        parts = own.split()
        if not self.carried.isdisjoint(parts[0]):
            parts = own.split(lambda path, p: p.trainable and path not in self.carried)
        weights, state = parts
        layer = Running(module, self)
        return Slot(weights, layer), Slot(state, layer), layer

    def brought_to(self, slot: Slot) -> dict[Path, Any]:
        """Make the parameters those of a slot, and return their values.

        What its layer was the last to change is as it was in the slot: a block may drop the
        state that a call returns. What another layer changed since, of a module that both
        have, is as that left it.
        """
        slot.values = {
            path: slot.values[path]
            if path in slot.values and self.changed_by.get(path) is slot.layer
            else self.params.value(path)
            for path in slot.params
        }
        self.params = self.params.update(slot.values)
        return slot.values

    def after(self, slot: Slot, params: Params) -> Slot:
        """The state of a layer after a call that made these parameters of those in a slot."""
        assert slot.layer is not None
        self.params = params
        values = {path: params.value(path) for path in slot.params}
        for path, value in values.items():
            if value is not slot.values[path]:
                self.changed_by[path] = slot.layer
        return Slot(slot.params, slot.layer, values)

    def finished(self, owner: Module, non_trainables: Any) -> Params:
        """The params after the run, of which the block returned this state.

        Raises:
            ValueError: where a call in a loop of the block and another one changed the same
                state, so that one of the changes would be lost.
        """
        slots = jax.tree.leaves(
            non_trainables, is_leaf=lambda node: isinstance(node, Slot)
        )
        for slot in slots:
            if slot.layer is not None:
                self.brought_to(slot)
                continue
            for path in slot.params:
                if self.params.value(path) is not self.looked_at.get(path):
                    raise ValueError(
                        f"{type(owner).__name__} at {shown_path(owner.path)}: two of its modules share "
                        f"{shown_path(path)}, and it runs one of them in a loop, so that a change would "
                        "be lost; give each a module of its own"
                    )
            self.params = self.params.update(slot.params)
        return self.params


@jax.tree_util.register_pytree_node_class
class Slot:
    """Parameters of a module as the tree of a layer.

    A block that hands it on to a call hands on the run; a loop that takes it apart gets
    arrays, as they are at that moment.
    """

    def __init__(
        self,
        params: Params,
        layer: Running | None = None,
        values: Mapping[Path, Any] | None = None,
    ) -> None:
        self.params = params
        self.layer = layer
        self.values = dict(values or {})

    def now(self) -> Params:
        """The parameters as they are."""
        if self.layer is None:
            return self.params
        run = self.layer.run
        values = run.brought_to(self)
        run.looked_at |= values
        return self.params.update(values)

    def tree_flatten(self) -> tuple[tuple[Params], None]:
        """The parameters as they are, without the run."""
        return (self.now(),), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Params]) -> Slot:
        """A slot of arrays."""
        return cls(*children)


class Running(Applied):
    """A module in a run of a block."""

    def __init__(self, module: Module, run: Run) -> None:
        super().__init__(module)
        self.run = run

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        inference_mode: bool = False,
        key: Any = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """What a block calls, with slots."""
        run = self.run
        if trainables.layer is not None and non_trainables.layer is not None:
            run.brought_to(non_trainables)
            y, params = self.module._run(
                run.params, x, not inference_mode, key, **inputs
            )
            return y, run.after(non_trainables, params)
        y, state = super().apply(
            x, trainables.now(), non_trainables.now(), inference_mode, key, **inputs
        )
        return y, Slot(state)
