"""Outputs of the layers within a layer, by their paths."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import jax

from .._core import outlines, recording
from .._core.checks._layers import applies
from .._core.paths import listed
from .._core.static import static
from ._places import parts
from ._standing import StandIn


@jax.tree_util.register_pytree_node_class
class _Found:
    """A state with the outputs that were found beside it."""

    def __init__(self, state: Any, outputs: dict[str, Any]) -> None:
        self.state, self.outputs = state, outputs

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        """State and outputs."""
        return (self.state, self.outputs), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any, Any]) -> _Found:
        """The same of other leaves."""
        return cls(*children)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "state":
            raise AttributeError(name)
        return getattr(self.state, name)


@static
class _Tap(StandIn):
    """A layer whose output is kept. A loop of a block returns it as it does its state."""

    path: str | None
    """Where the layer is; None: what is kept are outputs of layers in it."""
    has_state: bool
    """Whether the layer around it takes a state of it."""

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        inference_mode: bool = False,
        key: Any = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """`fwd` of the layer, and what is kept."""
        run, found = self.hyperparams.apply, {}
        if isinstance(non_trainables, _Found):
            # The layer around it calls it more than once.
            found, non_trainables = dict(non_trainables.outputs), non_trainables.state
        arguments = x, trainables, non_trainables, inference_mode, key
        if not self.has_state:
            y, state = run(*arguments, **inputs)
            if self.path is not None:
                recording.keep(self.path, y)
            return y, state
        with recording.frame() as outputs:
            y, state = run(*arguments, **inputs)
        if self.path is not None:
            outputs[self.path] = y
        for path, output in outputs.items():
            recording.put(found, path, output)
        return y, _Found(state, found)


@static
class _Recorded(StandIn):
    """A layer that returns its output and those of layers in it."""

    def apply(
        self,
        x: Any,
        trainables: Any,
        non_trainables: Any,
        inference_mode: bool = False,
        key: Any = None,
        **inputs: Any,
    ) -> tuple[Any, Any]:
        """`((y, outputs), non_trainables)`."""
        with recording.frame() as outputs:
            y, state = self.hyperparams.apply(
                x, trainables, non_trainables, inference_mode, key, **inputs
            )
        return (y, outputs), _stripped(state, outputs)


def recorded(
    hyperparams: Any, paths: Iterable[str] | Callable[[str], bool] | None = None
) -> Any:
    """Hyperparameters of the same layer that also return what layers in it put out.

        inside = recorded(hyperparams, ["layers/0/attention"])
        (y, outputs), non_trainables = inside.apply(x, trainables, non_trainables)
        outputs["layers/0/attention"]

    It computes what it did, with the same weights and state, and is as pure: compiled,
    differentiated, mapped. In a Repeat outputs are stacked along a first axis. A layer that
    is called several times has a tuple, and one that is not called is left out. Within a
    Recurrent there is nothing to see: its cell carries no more than its state.

    Args:
        hyperparams: of any layer.
        paths: of the layers, as `parts` names them; or a function that chooses some of
            these; None: all.

    Returns:
        Hyperparameters, whose `apply` returns `((y, outputs), non_trainables)`.

    Raises:
        ValueError: where there is no layer at a path.
    """
    if not applies(hyperparams):
        raise TypeError(
            "surgery.recorded: hyperparams must be those of a layer, got "
            f"{type(hyperparams).__name__}"
        )
    known = list(parts((None, None, hyperparams)))
    if paths is None:
        wanted = known
    elif callable(paths):
        wanted = [path for path in known if paths(path)]
    else:
        wanted = [paths] if isinstance(paths, str) else list(paths)
    unknown = [path for path in wanted if path not in known]
    if unknown or not wanted:
        raise ValueError(
            f"surgery.recorded: there is no layer at {listed(unknown) or 'such a path'}; "
            f"there are {listed(known) or 'none'}"
        )
    return _Recorded(_tapped(hyperparams, frozenset(wanted), ""))


def _tapped(hyperparams: Any, wanted: frozenset[str], place: str) -> Any:
    """The hyperparameters of a layer with those of layers in it that keep outputs."""
    if isinstance(hyperparams, StandIn):
        inner = _tapped(hyperparams.hyperparams, wanted, place)
        return dataclasses.replace(hyperparams, hyperparams=inner)
    if not dataclasses.is_dataclass(hyperparams):
        return hyperparams
    state, changes = outlines.layer(hyperparams)[1], {}
    for field in dataclasses.fields(hyperparams):
        value = getattr(hyperparams, field.name)
        path = f"{place}/{field.name}" if place else field.name
        has_state = outlines.runs_any(hyperparams) or hasattr(state, field.name)
        new = _tapped_value(value, wanted, path, has_state)
        if new is not value:
            changes[field.name] = new
    return _changed(hyperparams, changes) if changes else hyperparams


def _changed(hyperparams: Any, changes: dict[str, Any]) -> Any:
    return dataclasses.replace(hyperparams, **changes)


def _tapped_value(
    value: Any, wanted: frozenset[str], path: str, has_state: bool
) -> Any:
    if type(value) is tuple:
        items = [
            _tapped_value(item, wanted, f"{path}/{i}", has_state)
            for i, item in enumerate(value)
        ]
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else tuple(items)
    if type(value) is dict:
        made = {
            name: _tapped_value(item, wanted, f"{path}/{name}", has_state)
            for name, item in value.items()
        }
        return value if all(made[name] is value[name] for name in made) else made
    if not applies(value):
        return value
    inner = _tapped(value, wanted, path)
    if path in wanted or (has_state and inner is not value):
        return _Tap(inner, path if path in wanted else None, has_state)
    return inner


def _stripped(state: Any, outputs: dict[str, Any]) -> Any:
    """A state without what was found beside it, which goes into `outputs`."""

    def is_found(node: Any) -> bool:
        return isinstance(node, _Found)

    def leaf(node: Any) -> Any:
        if not is_found(node):
            return node
        for path, output in node.outputs.items():
            recording.put(outputs, path, output)
        return _stripped(node.state, outputs)

    return jax.tree.map(leaf, state, is_leaf=is_found)
