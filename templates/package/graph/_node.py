"""A place in the graph: what every module is before it does anything."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from .._core.pickles import from_pickle, to_pickle
from ._graph import Graph, Path


class Node:
    """An object with a node of the graph, and other such objects in its attributes."""

    _gives_keys: ClassVar[bool] = False
    """Whether this is an `Rng`."""

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(
                f"{type(self).__name__}: the first argument must be a node of a graph, "
                f"graph.child(...), got {graph!r}"
            )
        graph.claim(self)
        self._graph = graph

    if not TYPE_CHECKING:  # The name of a class is still that of the class.

        @property
        def __name__(self) -> str:
            """What profiles, and messages of jax, call a module that is compiled: its path."""
            return "/".join(self.path)

    @property
    def graph(self) -> Graph:
        """The node of this module."""
        node = self.__dict__.get("_graph")
        if node is None:
            raise RuntimeError(
                f"{type(self).__name__} has no node of a graph: call "
                "super().__init__(graph) first in its __init__"
            )
        return node

    @property
    def path(self) -> Path:
        """The path of the node of this module."""
        return self.graph.path

    def param_path(self, name: str) -> Path:
        """The path of a parameter of this module."""
        return (*self.path, name)

    def modules(self) -> Iterator[Any]:
        """The module, and those in its attributes, each once, in the order of attributes."""
        return modules_in(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_graph":
            # A module without a node would work until something asks for its path.
            self.graph  # noqa: B018
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: to_pickle(value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            self.__dict__[name] = from_pickle(value)

    def __repr__(self) -> str:
        """The path, and what differs from the defaults. Modules in it are not shown."""
        node, defaults = self.__dict__.get("_graph"), _defaults(type(self))
        shown = [] if node is None else [repr("/".join(node.path))]
        for name, value in vars(self).items():
            plain = not name.startswith("_") and next(modules_in(value), None) is None
            if plain and not _equal(value, defaults.get(name, inspect.Parameter.empty)):
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def modules_in(value: Any) -> Iterator[Any]:
    """The modules in a value, such as a list of them, each once."""
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, Node):
            if id(item) in seen:
                continue
            seen.add(id(item))
            yield item
            waiting = [*vars(item).values(), *waiting]
        elif isinstance(item, Mapping):
            waiting = [*item.values(), *waiting]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting = [*item, *waiting]


@cache
def _defaults(cls: type) -> dict[str, Any]:
    parameters = inspect.signature(cls).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _equal(value: Any, default: Any) -> bool:
    """Whether a value is a default. Only plain values and functions compare to one truth value."""
    # Initializers are equal to their copies.
    plain = callable(default) or isinstance(default, bool | int | float | str | tuple)
    return value is default or (
        plain and type(value) is type(default) and value == default
    )
