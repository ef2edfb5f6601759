"""Blocks, run eagerly: layers that take initialized layers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

import jax

from mlax_scaffold.spec.containers import keyed, leaves
from mlax_scaffold.spec.inputs import packed
from mlax_scaffold.spec.layer import Layer


class Handle:
    """An initialized layer in a block: its trees, and the way to run it."""

    def __init__(self, block: Block, initialized: tuple[Any, Any, Any]) -> None:
        self._block = block
        self.trainables, self.non_trainables, self._hyperparams = initialized

    @property
    def keyword_inputs(self) -> tuple[str, ...]:
        """The keyword inputs that the layer takes."""
        return tuple(getattr(self._hyperparams, "keyword_inputs", ()))

    @property
    def initialized(self) -> tuple[Any, Any, Any]:
        """The triple that the handle stands for."""
        return self.trainables, self.non_trainables, self._hyperparams

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        key: jax.Array | None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """Runs the layer on the given trees, and threads nothing."""
        return self._hyperparams.apply(
            x, trainables, non_trainables, not self._block.training, key, **inputs
        )

    def thread(self, x: Any, key: jax.Array | None, inputs: Any) -> Any:
        """Runs the layer, and keeps its state.

        Keyword inputs that are None are not handed on: the layer need not take them.
        """
        given = {name: value for name, value in inputs.items() if value is not None}
        y, self.non_trainables = self.apply(
            x, self.trainables, self.non_trainables, key, **given
        )
        return y

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._hyperparams, name)


class Block(Layer, abstract=True):
    """Base class of blocks."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        bound = zip(self._fields_.annotations, args, strict=False)
        given = {**dict(bound), **kwargs}
        layers = {n: v for n, v in given.items() if n in self._fields_.structural}
        # Those that `setup` of another layer makes, which have no arrays yet.
        self._given_ = {n: v for n, v in layers.items() if any(leaves(v))}
        layers |= {n: _initialized(v) for n, v in self._given_.items()}
        # `setup` may read the hyperparameters of layers.
        handles = {n: self._handle_(n, v) for n, v in layers.items()}
        super().__init__(*args[len(given) :], **{**given, **handles})

    def _handle_(self, name: str, given: Any) -> Any:
        """What stands for the layers of a field."""
        if name in self._several_():
            return tuple(Handle(self, triple) for triple in given or ())
        return Handle(self, given)

    def _begin_(self, keys: Iterator[Any], dtype: Any) -> None:
        values = self._hyperparameters_
        for name, given in self._given_.items():
            if name in self._fields_.stacked:
                triple = _stacked(given, keys, self.depth, dtype)
                values[name] = Handle(self, triple)
                continue
            for layer in leaves(given):
                layer._begin_(keys, dtype)
            values[name] = self._handle_(name, _initialized(given))
        super()._begin_(keys, dtype)

    def _load_(self, trainables: Any, non_trainables: Any = None) -> None:
        super()._load_(trainables, non_trainables)
        for name, handles in self._handles_().items():
            weights = self._get_(trainables, name, handles)
            states = self._get_(non_trainables, name, handles)
            for handle, weight, state in zip(handles, weights, states, strict=True):
                handle.trainables, handle.non_trainables = weight, state

    def _install_(self, kind: str, tree: Any) -> None:
        super()._install_(kind, tree)
        attribute = "trainables" if kind == "trainable" else "non_trainables"
        for name, handles in self._handles_().items():
            given = self._get_(tree, name, handles)
            for handle, own in zip(handles, given, strict=True):
                setattr(handle, attribute, own)

    def _collect_(self, kind: str, nested: str) -> dict[str, Any] | None:
        found = dict(super()._collect_(kind, nested) or {})
        for name, handles in self._handles_().items():
            trees = tuple(getattr(handle, nested) for handle in handles)
            found[name] = trees if name in self._several_() else trees[0]
            if kind == "state" and all(tree is None for tree in trees):
                found[name] = None
        return found or None

    def _clone_(self) -> Block:
        values = dict(self._hyperparameters_)
        for name, handles in self._handles_().items():
            triples = tuple(handle.initialized for handle in handles)
            values[name] = triples if name in self._several_() else triples[0]
        return type(self)(**values)

    def _keyword_inputs_(self) -> tuple[str, ...]:
        parameters = inspect.signature(self._entries_["forward"]).parameters.values()
        names = super()._keyword_inputs_()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            handles = [h for several in self._handles_().values() for h in several]
            names += tuple(n for handle in handles for n in handle.keyword_inputs)
        return names

    def _taken_(self, layer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(layer, Handle):
            return inputs
        return {n: v for n, v in inputs.items() if n in layer.keyword_inputs}

    def _keys_(self, number: int, count: int) -> Any:
        if not any(map(_applies, self._methods_.values())):
            return super()._keys_(number, count)
        # Whether a layer needs the key that it is handed, it says itself.
        key = self._current_().draws[number]
        return [None] * count if key is None else jax.random.split(key, count)

    def _of_loop_(self, layer: Any, number: int | None, *x: Any, **inputs: Any) -> Any:
        if not isinstance(layer, Handle):
            return super()._of_loop_(layer, number, *x, **inputs)
        return layer.thread(packed(x), self._drawn_(number), inputs)

    def _sub_layer_(self, name: str, number: int | None, *x: Any, **inputs: Any) -> Any:
        handle = self._hyperparameters_.get(name)
        if not isinstance(handle, Handle):
            return super()._sub_layer_(name, number, *x, **inputs)
        return self._of_loop_(handle, number, *x, **inputs)

    def _several_(self) -> tuple[str, ...]:
        return self._fields_.holding("layers")

    def _handles_(self) -> dict[str, tuple[Handle, ...]]:
        values = self._hyperparameters_
        return {
            name: values[name] if name in self._several_() else (values[name],)
            for name in self._fields_.annotations
            if name in self._several_() or name in self._fields_.layers
        }

    def _get_(
        self, tree: Any, name: str, handles: tuple[Handle, ...]
    ) -> tuple[Any, ...]:
        found = tree.get(name) if isinstance(tree, dict) else getattr(tree, name, None)
        if name not in self._several_():
            return (found,)
        return (None,) * len(handles) if found is None else tuple(found)


def _initialized(given: Any) -> Any:
    """Layers as `init` returns them."""
    if isinstance(given, Layer):
        return given._triple_()
    return (
        [_initialized(g) for g in given] if isinstance(given, list | tuple) else given
    )


def _stacked(layer: Layer, keys: Iterator[Any], depth: int, dtype: Any) -> Any:
    """A layer that is made several times, its arrays stacked along a first axis."""
    own = [jax.random.split(next(keys), depth) for _ in keyed(layer)]

    def made(keys: list[Any]) -> Any:
        layer._begin_(iter(keys), dtype)
        return layer._triple_()[:2]

    trees = jax.vmap(made)(own) if own else made(own)
    return *trees, layer._triple_()[2]


def _applies(function: Any) -> bool:
    """Whether a method calls layers by their pure `apply`."""
    pending = [function.__code__]
    for code in pending:
        pending += [c for c in code.co_consts if isinstance(c, CodeType)]
    return any("apply" in code.co_names for code in pending)
