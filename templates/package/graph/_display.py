"""Shows the parameters of a graph."""

from __future__ import annotations

import math
import sys
from typing import Any

import jax.numpy as jnp

from ._graph import Graph, Path
from ._params import Param, Params
from ._part import own_params


def display(graph: Graph, params: Params) -> None:
    """Show the parameters below a node: in a notebook with treescope, else as text.

    Raises:
        TypeError: where these are not a node of a graph and parameters.
        ImportError: in a notebook without treescope.
    """
    _check(graph, params)
    if not _in_notebook():
        print(summary(graph, params))
        return
    try:
        import treescope
    except ImportError as error:
        raise ImportError(
            "display needs treescope in a notebook: pip install treescope; "
            "print(summary(graph, params)) shows the text"
        ) from error
    treescope.display(_nested(graph, _shown(graph, params)))


def summary(graph: Graph, params: Params) -> str:
    """A tree of the parameters below a node: names, shapes, dtypes and numbers of elements.

    Those of the modules in the node's module are shown too, by their paths where they are
    elsewhere.

    Raises:
        TypeError: where these are not a node of a graph and parameters.
    """
    _check(graph, params)
    shown = _shown(graph, params)
    rows = [(graph.name, type(graph.module).__name__ if graph.module else "", "", "")]
    rows += _rows(_nested(graph, shown), graph, "")
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)
        )
        for row in rows
    ]
    total = sum(map(_size, shown.values()))
    trained = sum(_size(param) for param in shown.values() if param.trainable)
    state = "locked" if params.is_locked else "unlocked"
    lines.append(
        f"{len(shown)} parameters of {total:,} elements, {trained:,} of them trainable; {state}"
    )
    return "\n".join(line.rstrip() for line in lines)


def _check(graph: Any, params: Any) -> None:
    if not isinstance(graph, Graph):
        raise TypeError(
            "display: the first argument must be a node of a graph, such as module.graph, "
            f"got {type(graph).__name__}"
        )
    if not isinstance(params, Params):
        raise TypeError(
            f"display: the second argument must be Params, got {type(params).__name__}"
        )


def _shown(graph: Graph, params: Params) -> Params:
    """The parameters below a node, and those of the modules in its module, wherever they are."""
    own = own_params(graph.module, params) if graph.module else ()
    there = {path for path in params if path in own or _below(graph.path, path)}
    return params.split(lambda path, _: path in there)[0]


def _nested(graph: Graph, params: Params) -> dict[str, Any]:
    """Parameters as nested dicts: by names below a node, and by paths elsewhere."""
    root: dict[str, Any] = {}
    for path, param in params.items():
        *names, last = path[len(graph.path) :] if _below(graph.path, path) else path
        if not _below(graph.path, path):
            names = ["/".join(names)]
        place = root
        for name in names:
            if isinstance(place.get(name), Param):  # a parameter, and a node
                place[name] = {"": place[name]}
            place = place.setdefault(name, {})
        if isinstance(place.get(last), dict):
            place[last][""] = param
        else:
            place[last] = param
    return root


def _below(place: Path, path: Path) -> bool:
    return path[: len(place)] == place


def _rows(
    tree: dict[str, Any], graph: Graph | None, indent: str
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for i, (name, node) in enumerate(tree.items()):
        last = i == len(tree) - 1
        branch, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        if isinstance(node, Param):
            dtype = str(jnp.result_type(node.value))
            shape = f"{dtype}{list(jnp.shape(node.value))}"
            kind = "" if node.trainable else "not trainable"
            rows.append((indent + branch + name, shape, f"{_size(node):,}", kind))
            continue
        child = (
            None if graph is None else graph.children.get(name) or _node(graph, name)
        )
        module = (
            "" if child is None or child.module is None else type(child.module).__name__
        )
        rows.append((indent + branch + name, module, "", ""))
        rows += _rows(node, child, indent + below)
    return rows


def _node(graph: Graph, place: str) -> Graph | None:
    """The node of a path elsewhere."""
    node: Graph | None = graph.root
    for name in place.split("/")[1:]:
        node = None if node is None else node.children.get(name)
    return node


def _size(param: Param) -> int:
    return math.prod(jnp.shape(param.value))


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config
