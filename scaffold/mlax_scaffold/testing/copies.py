"""What is claimed of pickles and copies: they are equal to what they were made of."""

from __future__ import annotations

import copy
import pickle
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax

from mlax_scaffold.testing.module import call_module, graph_of, make_module
from mlax_scaffold.testing.situation import Situation


def assert_equal_copies(hyperparams: Any, *, what: str) -> None:
    """Pickles and deep copies of hyperparameters are equal to them, and have their hash.

    So what is compiled for one serves the others.
    """
    for name, again in _copied(hyperparams, what):
        if again != hyperparams or hash(again) != hash(hyperparams):
            raise AssertionError(
                f"{what}: {name} of its hyperparams is not equal to them, or has another "
                f"hash: {again} and {hyperparams}"
            )


def have_a_module_that_equals_its_copies(situation: Situation) -> None:
    """A pickle or a deep copy of a module is like it, and its call computes the same."""
    case = situation.case
    module, _, params = make_module(case)
    graph = graph_of(case)
    x, inputs = situation.arguments.x, situation.arguments.inputs

    def outline(module: Any) -> Any:
        return jax.eval_shape(
            lambda *arrays: call_module(case, module, params, False, *arrays), x, inputs
        )

    for name, again in _copied(module, case.name):
        if again is module or again.graph.root is module.graph.root:
            raise AssertionError(
                f"{case.name}: {name} of its module has the nodes of the module itself"
            )
        if repr(again) != repr(module):
            raise AssertionError(
                f"{case.name}: {name} of its module is {again}, expected {module}"
            )
        with situation.precision():
            (y, made), (other, others) = outline(module), outline(again)
        if (y, graph.Params, set(made)) != (other, type(others), set(others)):
            raise AssertionError(
                f"{case.name}: {name} of its module returns {other} and makes "
                f"{sorted(others)}, expected {y} and {sorted(made)}"
            )


def _copied(value: Any, what: str) -> Iterator[tuple[str, Any]]:
    ways: dict[str, Callable[[Any], Any]] = {"a deep copy": copy.deepcopy}
    if not any(map(_is_nameless, _held(value))):
        ways["a pickle"] = lambda value: pickle.loads(pickle.dumps(value))
    for name, way in ways.items():
        try:
            again = way(value)
        except Exception as error:
            raise AssertionError(f"{what}: {name} cannot be made: {error!r}") from error
        yield name, again


def _held(value: Any) -> Iterator[Any]:
    """What is in hyperparameters or in a module, but for numbers and text."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, tuple | list):
            waiting += item
        elif isinstance(item, dict):
            waiting += item.values()
        elif not isinstance(item, type | types.FunctionType | types.ModuleType):
            waiting += getattr(item, "__dict__", {}).values()


def _is_nameless(value: Any) -> bool:
    """Whether pickle, which writes names, has none for it: it is a lambda, or a local function or class."""
    kind = value if hasattr(value, "__qualname__") else type(value)
    return "<" in kind.__qualname__
