"""How the functions inside of a method run eagerly: each call has a key, and the states before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax

from mlax_scaffold.spec.containers import mapped
from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.draws import Draws
from mlax_scaffold.spec.runtime import runtime

Function = Callable[..., Any]


class Threads:
    """What a layer does for them. The method is compiled anew to ask for it."""

    _run_: Any
    _arrays_: dict[str, Any]
    _declared_: dict[str, Any]
    _layers_: dict[str, Any]
    _lists_: dict[str, list[Any]]
    _trees_: dict[str, Any]
    _arrays_of_: dict[str, Any]
    _current_: Callable[[], Any]
    _cast_: Callable[[Any, bool], Any]
    _is_state_: Callable[[str], bool]
    trainables: Any
    non_trainables: Any

    def _drawn_(self, number: int | None) -> jax.Array | None:
        """The key of a place; None where it takes none, or the caller gave none."""
        return None if number is None else self._current_().draws[number]

    def _passes_(self, number: int, places: int, items: Any, most: int | None) -> Any:
        return self._current_().draws.passes(number, places, items, most)

    def _turns_(self, number: int, places: int, goes_on: Callable[[], Any]) -> Any:
        return self._current_().draws.turns(number, places, goes_on)

    def _arrive_(self, name: str) -> None:
        """Casts a weight or a state where the run of the method knows it, and not where it is read.

        Functions of a construct are traced apart: what one casts is nothing to another.
        """
        array = self._arrays_[name]
        self._run_.cast[name] = self._cast_(array, self._is_state_(name))

    def _install_(self, kind: str, tree: Any) -> None:
        """Installs the arrays of a kind, with those of sub-layers, by the names of fields."""
        for name, declared in self._declared_.items():
            if declared.kind == kind:
                self._arrays_[name] = part_of(tree, name)
                if kind == "state" and self._run_ is not None:
                    self._arrive_(name)
        for name, layer in self._layers_.items():
            layer._install_(kind, part_of(tree, name))
        for name, held in self._trees_.items():
            given = part_of(tree, name), self._arrays_of_[name]
            leaf = functools.partial(_installed, kind)
            self._arrays_of_[name] = mapped(held, leaf, *given)
        for name, layers in self._lists_.items():
            several = part_of(tree, name) or [None] * len(layers)
            for layer, own in zip(layers, several, strict=True):
                layer._install_(kind, own)

    def _cast_weights_(self, casts: bool) -> Any:
        """Where a method casts all weights first, installs them so; gives the others back."""
        weights, dtype = self.trainables, self._current_().dtype
        if not casts or dtype is None:
            return None
        self._install_("trainable", runtime("_core.arrays").cast(weights, dtype))
        return weights

    def _put_back_(self, weights: Any) -> None:
        if weights is not None:
            self._install_("trainable", weights)

    def _function_(self, places: int, changes: bool) -> Callable[[Function], Function]:
        """A function that is given the key of its call first, and the states where it changes them.

        Args:
            places: how many of its calls draw.
            changes: whether it changes states, and returns them beside its result.
        """

        def made(function: Function) -> Function:
            def run(key: Any, *args: Any, **inputs: Any) -> Any:
                current = self._current_()
                draws, cast = current.draws, current.cast
                current.draws, current.cast = Draws(key, places), dict(cast)
                before = self.non_trainables if changes else None
                try:
                    if not changes:
                        return function(*args, **inputs)
                    self._install_("state", args[0])
                    result = function(*args[1:], **inputs)
                    return result, self.non_trainables
                finally:
                    if changes:
                        self._install_("state", before)
                    current.draws, current.cast = draws, cast

            return run

        return made

    def _run_function_(
        self,
        number: int | None,
        changes: bool,
        function: Function,
        *args: Any,
        **inputs: Any,
    ) -> Any:
        """Calls such a function."""
        key = self._drawn_(number)
        if not changes:
            return function(key, *args, **inputs)
        result, states = function(key, self.non_trainables, *args, **inputs)
        self._install_("state", states)
        return result

    def _run_construct_(
        self, name: str, number: int | None, changes: bool, *args: Any, **options: Any
    ) -> Any:
        """Calls what calls such functions."""
        run, key = getattr(runtime("_core.effects"), name), self._drawn_(number)
        if not changes:
            return run(*args, **options, key=key)
        result, states = run(*args, **options, key=key, state=self.non_trainables)
        self._install_("state", states)
        return result

    def _made_(self, name: str, *args: Any, **options: Any) -> Function:
        """What makes such a function of one."""
        return getattr(runtime("_core.effects"), name)(*args, **options)

    def _keyed_(self, function: Function) -> Function:
        return runtime("_core.effects").keyed(function)

    def _threaded_(self, function: Function) -> Function:
        return runtime("_core.effects").threaded(function)

    def _pure_(self, function: Function) -> Function:
        return runtime("_core.effects").pure(function)


def _installed(kind: str, member: Any, value: Any, old: Any) -> Any:
    """The array of a member of a container; a layer is given its tree."""
    if isinstance(member, Threads):
        member._install_(kind, value)
    own = isinstance(member, Declaration) and member.kind == kind
    return value if own else old


def part_of(tree: Any, name: str) -> Any:
    """A part of a tree, which has it as an attribute or an item; None where it has not."""
    if isinstance(tree, Mapping):
        return tree.get(name)
    return getattr(tree, name, None)
