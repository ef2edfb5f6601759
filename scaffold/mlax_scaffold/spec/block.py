"""Blocks, run eagerly: layers that take initialized layers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
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
        bound = zip(self._spec_fields.annotations, args, strict=False)
        given = {**dict(bound), **kwargs}
        layers = {n: v for n, v in given.items() if n in self._spec_fields.structural}
        # Those that `setup` of another layer makes, which have no arrays yet.
        self._spec_given = {n: v for n, v in layers.items() if any(leaves(v))}
        layers |= {n: _initialized(v) for n, v in self._spec_given.items()}
        # `setup` may read the hyperparameters of layers.
        handles = {n: self._spec_handle(n, v) for n, v in layers.items()}
        super().__init__(*args[len(given) :], **{**given, **handles})

    def _spec_handle(self, name: str, given: Any) -> Any:
        """What stands for the layers of a field."""
        if name in self._spec_several():
            return tuple(Handle(self, triple) for triple in given or ())
        return Handle(self, given)

    def _spec_begin(self, keys: Iterator[Any], dtype: Any) -> None:
        values = self._spec_hyperparameters
        for name, given in self._spec_given.items():
            if name in self._spec_fields.stacked:
                triple = _stacked(given, keys, self.depth, dtype)
                values[name] = Handle(self, triple)
                continue
            for layer in leaves(given):
                layer._spec_begin(keys, dtype)
            values[name] = self._spec_handle(name, _initialized(given))
        super()._spec_begin(keys, dtype)

    def _spec_load(self, trainables: Any, non_trainables: Any = None) -> None:
        super()._spec_load(trainables, non_trainables)
        for name, handles in self._spec_handles().items():
            weights = self._spec_get(trainables, name, handles)
            states = self._spec_get(non_trainables, name, handles)
            for handle, weight, state in zip(handles, weights, states, strict=True):
                handle.trainables, handle.non_trainables = weight, state

    def _spec_install(self, kind: str, tree: Any) -> None:
        super()._spec_install(kind, tree)
        attribute = "trainables" if kind == "trainable" else "non_trainables"
        for name, handles in self._spec_handles().items():
            given = self._spec_get(tree, name, handles)
            for handle, own in zip(handles, given, strict=True):
                setattr(handle, attribute, own)

    def _spec_collect(self, kind: str, nested: str) -> dict[str, Any] | None:
        found = dict(super()._spec_collect(kind, nested) or {})
        for name, handles in self._spec_handles().items():
            trees = tuple(getattr(handle, nested) for handle in handles)
            found[name] = trees if name in self._spec_several() else trees[0]
            if kind == "state" and all(tree is None for tree in trees):
                found[name] = None
        return found or None

    def _spec_clone(self) -> Block:
        values = dict(self._spec_hyperparameters)
        for name, handles in self._spec_handles().items():
            triples = tuple(handle.initialized for handle in handles)
            values[name] = triples if name in self._spec_several() else triples[0]
        return type(self)(**values)

    def _spec_keyword_inputs(self) -> tuple[str, ...]:
        parameters = inspect.signature(
            self._spec_entries["forward"]
        ).parameters.values()
        names = super()._spec_keyword_inputs()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            handles = [h for several in self._spec_handles().values() for h in several]
            names += tuple(n for handle in handles for n in handle.keyword_inputs)
        return names

    def _spec_taken(self, layer: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(layer, Handle):
            return inputs
        return {n: v for n, v in inputs.items() if n in layer.keyword_inputs}

    def _spec_keys(self, number: int, count: int) -> Any:
        # Whether a key is needed, the layers say.
        key = self._spec_current().draws[number]
        return [None] * count if key is None else jax.random.split(key, count)

    def _spec_of_loop(
        self, layer: Any, number: int | None, *x: Any, **inputs: Any
    ) -> Any:
        if not isinstance(layer, Handle):
            return super()._spec_of_loop(layer, number, *x, **inputs)
        return layer.thread(packed(x), self._spec_drawn(number), inputs)

    def _spec_sub_layer(
        self, name: str, number: int | None, *x: Any, **inputs: Any
    ) -> Any:
        handle = self._spec_hyperparameters.get(name)
        if not isinstance(handle, Handle):
            return super()._spec_sub_layer(name, number, *x, **inputs)
        return self._spec_of_loop(handle, number, *x, **inputs)

    def _spec_several(self) -> tuple[str, ...]:
        return self._spec_fields.holding("layers")

    def _spec_handles(self) -> dict[str, tuple[Handle, ...]]:
        values = self._spec_hyperparameters
        return {
            name: values[name] if name in self._spec_several() else (values[name],)
            for name in self._spec_fields.annotations
            if name in self._spec_several() or name in self._spec_fields.layers
        }

    def _spec_get(
        self, tree: Any, name: str, handles: tuple[Handle, ...]
    ) -> tuple[Any, ...]:
        found = tree.get(name) if isinstance(tree, dict) else getattr(tree, name, None)
        if name not in self._spec_several():
            return (found,)
        return (None,) * len(handles) if found is None else tuple(found)


def _initialized(given: Any) -> Any:
    """Layers as `init` returns them."""
    if isinstance(given, Layer):
        return given._spec_triple()
    return (
        [_initialized(g) for g in given] if isinstance(given, list | tuple) else given
    )


def _stacked(layer: Layer, keys: Iterator[Any], depth: int, dtype: Any) -> Any:
    """A layer that is made several times, its arrays stacked along a first axis."""
    own = [jax.random.split(next(keys), depth) for _ in keyed(layer)]

    def made(keys: list[Any]) -> Any:
        layer._spec_begin(iter(keys), dtype)
        return layer._spec_triple()[:2]

    trees = jax.vmap(made)(own) if own else made(own)
    return *trees, layer._spec_triple()[2]
