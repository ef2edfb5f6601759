"""Runs the text of an optimizer's spec as the class of Python that it is, with nothing of the scaffolder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp


def tree_add(a: Any, b: Any, scale: float = 1.0) -> Any:
    """A + scale b."""
    return jax.tree.map(lambda x, y: x + scale * y, a, b)


class Optimizer:
    """What classes of specs are based on."""

    def __init__(self, *given: Any, **named: Any) -> None:
        fields = zip(type(self).__annotations__, given, strict=False)
        for name, value in [*fields, *named.items()]:
            setattr(self, name, value)

    def key(self) -> None:
        """What is drawn is given: no key is looked at."""

    def prepare(self, grads: Any, params: Any) -> None:
        """Nothing is computed of all leaves."""

    def finish(self, updates: Any, params: Any) -> None:
        """Nothing follows."""


_WORDS = SimpleNamespace(
    Decay=float,
    Mask=Callable,
    Optimizer=Optimizer,
    Scheduled=float,
    SubOptimizer=Any,
    SubOptimizers=Any,
    mean=jnp.mean,
    tree_add=tree_add,
    tree_dot=lambda a, b: sum(map(jnp.vdot, jax.tree.leaves(a), jax.tree.leaves(b))),
    tree_where=lambda c, a, b: jax.tree.map(lambda x, y: jnp.where(c, x, y), a, b),
)


def plain_classes(texts: Iterable[str]) -> Mapping[str, Any]:
    """The classes of specs."""
    names: dict[str, Any] = dict(vars(_WORDS))
    for text in texts:
        imports = r"^from mlax_scaffold\S* import (\([^)]*\)|.*)"
        exec(re.sub(imports, "", text, flags=re.M), names)
    return names


class Called:
    """An optimizer in another one: calls replace its state."""

    def __init__(self, optimizer: Optimizer, state: Any) -> None:
        self.optimizer = optimizer
        self.state = state

    def __call__(self, grads: Any, params: Any) -> Any:
        updates, self.state = self.apply(grads, self.state, params)
        return updates

    def apply(self, grads: Any, state: Any, params: Any) -> tuple[Any, Any]:
        """The updates, and the state after them."""
        return stepped(self.optimizer, grads, state, params)

    def initial_state(self, params: Any) -> Any:
        """The state before the first step: drawn optimizers begin with zeros."""
        return jax.tree.map(jnp.zeros_like, self.state)


def stepped(
    optimizer: Any, grads: dict[str, Any], state: Any, params: dict[str, Any]
) -> tuple[Any, Any]:
    """The updates of a step, and the state after it, whose moments are dictionaries like `params`."""
    run = object.__new__(type(optimizer))
    mask = getattr(optimizer, "mask", None)
    vars(run).update(vars(optimizer))
    held = {n: _held(getattr(run, n, None), v) for n, v in state._asdict().items()}
    number = held.pop("step", 0) + 1
    vars(run).update(held, step_number=number)
    if hasattr(type(run), "step"):
        updates = run.step(grads, params)
    else:
        run.step = jnp.asarray(number, float)
        run.prepare(grads, params)
        updates = {}
        moments = [n for n, value in held.items() if _is_moment(value, params)]
        trees = {n: getattr(run, n) for n in moments}
        new = {n: {} for n in moments}
        for name, param in params.items():
            for n in moments:
                setattr(run, n, _at(name, trees[n], params))
            run.mask = mask is None or mask(name, param)
            updates[name] = run.update(grads[name], param)
            for n in moments:
                new[n][name] = getattr(run, n)
        for n in moments:
            setattr(run, n, _joined(new[n]))
        run.finish(updates, params)
    after = {n: _state(getattr(run, n)) for n in held}
    if "step" in state._fields:
        after["step"] = number
    return updates, state._replace(**after)


def _held(field: Any, value: Any) -> Any:
    """What a method reads: lists can be changed, optimizers be called."""
    match field, value:
        case Optimizer(), _:
            return Called(field, value)
        case (Optimizer(), *_), _:
            return [*map(Called, field, value)]
        case _, tuple() | list():
            return [_held(None, part) for part in value]
        case _, dict():
            return {name: _held(None, part) for name, part in value.items()}
    return value


def _state(value: Any) -> Any:
    match value:
        case Called():
            return value.state
        case list():
            return [*map(_state, value)]
    return value


def _is_moment(value: Any, params: dict[str, Any]) -> bool:
    match value:
        case dict():
            return value.keys() == params.keys() or _is_moment(
                [*value.values()], params
            )
        case list():
            return all(_is_moment(part, params) for part in value)
    return False


def _at(name: str, value: Any, params: dict[str, Any]) -> Any:
    """A moment, or a container of moments, of one leaf."""
    match value:
        case dict() if value.keys() == params.keys():
            return value[name]
        case dict():
            return {place: _at(name, part, params) for place, part in value.items()}
        case list():
            return [_at(name, part, params) for part in value]
    return value


def _joined(of_leaves: dict[str, Any]) -> Any:
    """Of each leaf what a moment, or a container of moments, is; as a container of trees."""
    parts = [*of_leaves.values()]
    match parts[0]:
        case None:
            return None
        case list():
            places = range(len(parts[0]))
            return [_joined({n: v[i] for n, v in of_leaves.items()}) for i in places]
        case dict():
            return {
                place: _joined({n: v[place] for n, v in of_leaves.items()})
                for place in parts[0]
            }
    return of_leaves
