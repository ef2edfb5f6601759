"""The graph: a tree of names. Each module has a node of it, whose path names its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from .._core.paths import path_name

Path = tuple[str, ...]
"""Where a parameter is: the names from the root of the graph to it."""


class Graph:
    """A node of a tree of names: the root, or a child of another node.

    A graph holds no arrays. It is static: never traced, safe to close over, and hashable
    by identity.

    >>> graph = Graph("model")
    >>> graph.child("encoder").path
    ('model', 'encoder')

    `metadata` is a dictionary for notes of your own, which nothing here reads.

    Args:
        name: the first part of the path of every parameter of the graph.

    Raises:
        TypeError, ValueError: where the name is not a string, or empty.
    """

    def __init__(self, name: str) -> None:
        self._name = _checked(name)
        self._parent: Graph | None = None
        self._children: dict[str, Graph] = {}
        self._module: Any = None
        self.metadata: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._name

    @property
    def path(self) -> Path:
        """The names from the root to this node."""
        above = () if self._parent is None else self._parent.path
        return (*above, self._name)

    @property
    def parent(self) -> Graph | None:
        """The node above this one; of the root None."""
        return self._parent

    @property
    def root(self) -> Graph:
        """The node that all others are below."""
        return self if self._parent is None else self._parent.root

    def key_paths(self) -> Iterator[Path]:
        """The paths of the seeds and counters below this node."""
        if self._module is not None and self._module._gives_keys:
            yield from self._module.paths
        for node in self._children.values():
            yield from node.key_paths()

    @property
    def children(self) -> Mapping[str, Graph]:
        """The nodes below this one, by name."""
        return MappingProxyType(self._children)

    @property
    def module(self) -> Any:
        """The module that has this node, or None."""
        return self._module

    def walk(self) -> Iterator[tuple[Path, Any]]:
        """Path and module of each node below this one that has a module, depth first."""
        for node in self._children.values():
            if node._module is not None:
                yield node.path, node._module
            yield from node.walk()

    def child(self, name: str) -> Graph:
        """A new node below this one, which `graph / name` is, too.

        Raises:
            ValueError: where there is a child of that name. Keep the node that the first
                call returned, or choose another name.
        """
        if _checked(name) in self._children:
            raise ValueError(
                f"Graph: {shown_path(self.path)} has a child {name!r} already; "
                "keep the node that the first call returned, or choose another name (in a "
                "notebook: run the cell that makes the root again)"
            )
        node = Graph(name)
        node._parent = self
        self._children[name] = node
        return node

    def __truediv__(self, name: str) -> Graph:
        return self.child(name)

    def claim(self, module: Any) -> None:
        """Make this the node of a module. A node has one module, and the root has none.

        Raises:
            ValueError: where this is the root, or has a module.
        """
        owner = type(module).__name__
        if self._parent is None:
            raise ValueError(
                f"{owner}: a module needs a node below the root; "
                f"pass graph.child(...) and not Graph({self._name!r}) itself"
            )
        if self._module is not None:
            raise ValueError(
                f"{owner}: the node {shown_path(self.path)} is that of a {type(self._module).__name__}; "
                "pass a node of its own, graph.child(...)"
            )
        self._module = module

    def __repr__(self) -> str:
        return f"Graph({'/'.join(self.path)!r})"


def shown_path(path: Any) -> str:
    """A path as it stands in a message: as weights are called everywhere, `'model/l/kernel'`."""
    return repr(path_name((path,)) if isinstance(path, tuple) else path)


def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"Graph: a name must be a string, got {name!r}")
    if not name:
        raise ValueError("Graph: a name must not be empty")
    return name
