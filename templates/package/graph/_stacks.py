"""Parameters of several modules of a kind as one module's: stacked along a first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

from ._params import Params


def stacked(rows: list[Params]) -> Params:
    """The parameters of several, stacked; no axis of the stack is spread over devices."""
    return of_all(jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows))


def of_all(params: Params) -> Params:
    """The same arrays, whose shardings begin with an axis that is not spread."""
    return _with_specs(params, lambda spec: PartitionSpec(None, *spec))


def of_one(params: Params) -> Params:
    """The same arrays, whose shardings are those of one entry along the first axis."""
    return _with_specs(params, lambda spec: PartitionSpec(*spec[1:]))


def map_params(change: Callable[[Params], Params], tree: Any) -> Any:
    """The tree with each `Params` in it changed."""
    return jax.tree.map(
        lambda node: change(node) if isinstance(node, Params) else node,
        tree,
        is_leaf=lambda node: isinstance(node, Params),
    )


def _with_specs(params: Params, change: Any) -> Params:
    for path, param in params.items():
        spec = param.metadata.get("sharding")
        if isinstance(spec, PartitionSpec):
            metadata = {**param.metadata, "sharding": change(spec)}
            params = params.mark(path, metadata=metadata)
    return params
