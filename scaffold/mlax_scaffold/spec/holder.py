"""What layers that run eagerly do with their lists and dictionaries of layers and arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import containers
from mlax_scaffold.spec.arrays import cast
from mlax_scaffold.spec.declarations import Declaration
from mlax_scaffold.spec.declared import Several, Tree, declarations, holds, takes_key
from mlax_scaffold.spec.draws import split
from mlax_scaffold.spec.threads import part_of


class Holder:
    """The containers of a layer."""

    _trees_: dict[str, Any]
    _lists_: dict[str, Any]
    _layers_: dict[str, Any]
    _declared_: dict[str, Declaration]
    _arrays_: dict[str, jax.Array]
    _arrays_of_: dict[str, Any]
    """The arrays of each container, in its form."""
    _run_: Any

    def _initialize_(self, key: Any = None, dtype: Any = None) -> None:
        """Makes the weights and states."""
        raise NotImplementedError

    def _of_loop_(self, layer: Any, number: int | None, *x: Any, **inputs: Any) -> Any:
        raise NotImplementedError

    def _initialize_tree_(self, tree: Any, key: Any, dtype: Any, name: str) -> None:
        """Makes the arrays of a container, each member with a part of its key."""
        members = containers.keyed(tree)
        single = members == [tree]
        keys = iter([key] if single else split(key, len(members)) if members else [])

        def made(leaf: Any) -> Any:
            if isinstance(leaf, Holder):
                leaf._begin_(keys, dtype)
            return (
                leaf.made(next(keys), dtype) if isinstance(leaf, Declaration) else None
            )

        self._arrays_of_[name] = containers.mapped(tree, made)

    def _begin_(self, keys: Iterator[Any], dtype: Any) -> None:
        """Makes the arrays of a member, with the next keys."""
        if self._has_arrays_():
            self._initialize_(next(keys), dtype)

    def _has_arrays_(self) -> bool:
        """Whether there are arrays of its own, or of layers that it declares."""
        return takes_key(type(self))

    def _collected_(self, name: str, kind: str, nested: str) -> Any:
        """Arrays of one kind of a container, None elsewhere."""

        def leaf(member: Any, array: Any) -> Any:
            if isinstance(member, Holder):
                return getattr(member, nested)
            own = isinstance(member, Declaration) and member.kind == kind
            return array if own else None

        tree = self._trees_.get(name)
        return containers.mapped(tree, leaf, self._arrays_of_.get(name))

    def _view_(self, name: str) -> Any:
        """A container, with arrays in the compute dtype."""
        tree, arrays = self._trees_[name], self._arrays_of_.get(name)

        def leaf(member: Any, array: Any) -> Any:
            if not isinstance(member, Declaration):
                return member
            return self._cast_(array, member.kind == "state")

        return containers.mapped(tree, leaf, arrays)

    def _functions_(self, name: str) -> Any:
        """The layers of a container as functions of their inputs."""

        def leaf(member: Any) -> Any:
            if not isinstance(member, Holder):
                return member
            return lambda *x, **inputs: self._of_loop_(member, None, *x, **inputs)

        tree = self._trees_[name] if name in self._trees_ else self._lists_[name]
        return containers.mapped(tree, leaf)

    def _places_(self, name: str) -> containers.Places:
        """A container of states, whose items can be set."""
        return containers.Places(functools.partial(self._replace_state_, name))

    def _replace_state_(self, name: str, steps: tuple[Any, ...], value: Any) -> None:
        old = self._arrays_of_[name]
        for step in steps:
            old = old[step]
        stored = containers.mapped(old, _as_stored, value)
        self._arrays_of_[name] = containers.replaced(
            self._arrays_of_[name], steps, stored
        )

    def _part_of_(self, layer: Holder, name: str) -> jax.Array | None:
        """A weight or a state of a layer in this one, in its compute dtype."""
        return self._cast_(layer._arrays_.get(name), layer._is_state_(name))

    def _is_state_(self, name: str) -> bool:
        raise NotImplementedError

    def _cast_(self, array: jax.Array | None, state: bool) -> jax.Array | None:
        run = self._run_
        dtype = None if run is None else run.dtype if state else run.weights_dtype
        return array if array is None or dtype is None else cast(array, dtype)

    def load(self, trainables: Any, non_trainables: Any = None) -> None:
        """Installs arrays by the names of fields.

        Args:
            trainables: an object with the fields as attributes, or a mapping; nested
                for sub-layers; None where there is nothing.
            non_trainables: likewise.
        """
        self._load_(trainables, non_trainables)

    def _load_(self, trainables: Any, non_trainables: Any = None) -> None:
        trees = {"trainable": trainables, "state": non_trainables}
        for name, declared in self._declared_.items():
            self._arrays_[name] = part_of(trees[declared.kind], name)
        for name, layer in self._layers_.items():
            layer._load_(part_of(trainables, name), part_of(non_trainables, name))
        for name, tree in self._trees_.items():
            given = part_of(trainables, name), part_of(non_trainables, name)
            self._arrays_of_[name] = containers.mapped(tree, loaded, *given)
        for name, layers in self._lists_.items():
            nothing = [None] * len(layers)
            weights = part_of(trainables, name) or nothing
            states = part_of(non_trainables, name) or nothing
            for layer, weight, state in zip(layers, weights, states, strict=True):
                layer._load_(weight, state)

    @property
    def trainables(self) -> dict[str, Any] | None:
        """The weights by name, nested for sub-layers; None where there are none."""
        return self._collect_("trainable", "trainables")

    @property
    def non_trainables(self) -> dict[str, Any] | None:
        """The states by name, nested for sub-layers; None where there are none."""
        return self._collect_("state", "non_trainables")

    def _collect_(self, kind: str, nested: str) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        for name, declared in declarations(type(self)).items():
            if isinstance(declared, Tree):
                if any(
                    part == kind if isinstance(part, str) else holds(part, kind)
                    for part in declared.kinds
                ):
                    found[name] = self._collected_(name, kind, nested)
            elif declared == kind:
                found[name] = self._arrays_.get(name)
            elif isinstance(declared, Several):
                if holds(declared.layer, kind):
                    layers = self._lists_[name]
                    found[name] = tuple(getattr(layer, nested) for layer in layers)
            elif not isinstance(declared, str) and holds(declared, kind):
                layer = self._layers_.get(name)
                found[name] = None if layer is None else getattr(layer, nested)
        return found or None


def loaded(member: Any, weight: Any, state: Any) -> Any:
    """The array of a member that is one; a layer is given its trees."""
    if isinstance(member, Holder):
        member._load_(weight, state)
        return None
    if not isinstance(member, Declaration):
        return None
    return weight if member.kind == "trainable" else state


def _as_stored(old: Any, value: Any) -> Any:
    return None if old is None else jnp.asarray(value).astype(old.dtype)
