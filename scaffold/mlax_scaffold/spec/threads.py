"""How the functions inside of a method run eagerly: each call has a key, and the states before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from mlax_scaffold.spec.containers import mapped
from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.draws import Draws
from mlax_scaffold.spec.runtime import runtime

Function = Callable[..., Any]


class Threads:
    """What a layer does for them. The method is compiled anew to ask for it."""

    _spec_run: Any
    _spec_arrays: dict[str, Any]
    _spec_declared: dict[str, Any]
    _spec_layers: dict[str, Any]
    _spec_lists: dict[str, list[Any]]
    _spec_trees: dict[str, Any]
    _spec_arrays_of: dict[str, Any]
    _spec_current: Callable[[], Any]
    _spec_read: Callable[[str], Any]
    _spec_drawn: Callable[[int | None], Any]
    trainables: Any
    non_trainables: Any

    def _spec_install(self, kind: str, tree: Any) -> None:
        """Installs the arrays of a kind, with those of sub-layers, by the names of fields."""
        for name, declared in self._spec_declared.items():
            if declared.kind == kind:
                self._spec_arrays[name] = part_of(tree, name)
                if kind == "state" and self._spec_run is not None:
                    self._spec_run.cast.pop(name, None)
        for name, layer in self._spec_layers.items():
            layer._spec_install(kind, part_of(tree, name))
        for name, held in self._spec_trees.items():
            given = part_of(tree, name), self._spec_arrays_of[name]
            leaf = functools.partial(_installed, kind)
            self._spec_arrays_of[name] = mapped(held, leaf, *given)
        for name, layers in self._spec_lists.items():
            several = part_of(tree, name) or [None] * len(layers)
            for layer, own in zip(layers, several, strict=True):
                layer._spec_install(kind, own)

    def _spec_cast_weights(self, casts: bool) -> Any:
        """Where a method casts all weights first, installs them so; gives the others back."""
        weights, dtype = self.trainables, self._spec_current().dtype
        if not casts or dtype is None:
            return None
        self._spec_install("trainable", runtime("_core.arrays").cast(weights, dtype))
        return weights

    def _spec_put_back(self, weights: Any) -> None:
        if weights is not None:
            self._spec_install("trainable", weights)

    def _spec_function(
        self, places: int, changes: bool, weights: tuple[str, ...]
    ) -> Callable[[Function], Function]:
        """A function that is given the key of its call first, and the states where it changes them.

        Args:
            places: how many of its calls draw.
            changes: whether it changes states, and returns them beside its result.
            weights: those that it reads, which are cast where it is defined.
        """
        for name in weights:
            self._spec_read(name)

        def made(function: Function) -> Function:
            def run(key: Any, *args: Any, **inputs: Any) -> Any:
                current = self._spec_current()
                draws, cast = current.draws, current.cast
                current.draws, current.cast = Draws(key, places), dict(cast)
                before = self.non_trainables if changes else None
                try:
                    if not changes:
                        return function(*args, **inputs)
                    self._spec_install("state", args[0])
                    result = function(*args[1:], **inputs)
                    return result, self.non_trainables
                finally:
                    if changes:
                        self._spec_install("state", before)
                    current.draws, current.cast = draws, cast

            return run

        return made

    def _spec_run_function(
        self, number: int | None, changes: bool, function: Function, *args: Any
    ) -> Any:
        """Calls such a function."""
        key = self._spec_drawn(number)
        if not changes:
            return function(key, *args)
        result, states = function(key, self.non_trainables, *args)
        self._spec_install("state", states)
        return result

    def _spec_run_construct(
        self, name: str, number: int | None, changes: bool, *args: Any, **options: Any
    ) -> Any:
        """Calls what calls such functions."""
        run, key = getattr(runtime("_core.effects"), name), self._spec_drawn(number)
        if not changes:
            return run(*args, **options, key=key)
        result, states = run(*args, **options, key=key, state=self.non_trainables)
        self._spec_install("state", states)
        return result

    def _spec_made(self, name: str, *args: Any, **options: Any) -> Function:
        """What makes such a function of one."""
        return getattr(runtime("_core.effects"), name)(*args, **options)

    def _spec_keyed(self, function: Function) -> Function:
        return runtime("_core.effects").keyed(function)

    def _spec_threaded(self, function: Function) -> Function:
        return runtime("_core.effects").threaded(function)

    def _spec_pure(self, function: Function) -> Function:
        return runtime("_core.effects").pure(function)


def _installed(kind: str, member: Any, value: Any, old: Any) -> Any:
    """The array of a member of a container; a layer is given its tree."""
    if isinstance(member, Threads):
        member._spec_install(kind, value)
    own = isinstance(member, Declaration) and member.kind == kind
    return value if own else old


def part_of(tree: Any, name: str) -> Any:
    """A part of a tree, which has it as an attribute or an item; None where it has not."""
    if isinstance(tree, Mapping):
        return tree.get(name)
    return getattr(tree, name, None)
