"""Where parameters lie: shardings from their metadata."""

from __future__ import annotations

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ._graph import shown_path
from ._params import Params


def partition_specs(params: Params) -> Params:
    """The partition of each parameter: what `metadata["sharding"]` says, else replicated.

    It is a tree for `in_specs` and `out_specs` of `jax.shard_map`.

    Args:
        params: parameters, or their shapes, as `jax.eval_shape` returns them.

    Raises:
        TypeError: where a sharding is no `jax.sharding.PartitionSpec`.
        ValueError: where it has more axes than the parameter.
    """
    specs = {}
    for path, param in params.items():
        spec = param.sharding
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"partition_specs: the sharding of {shown_path(path)} must be a PartitionSpec, got {spec!r}"
            )
        if len(spec) > len(param.value.shape):
            raise ValueError(
                f"partition_specs: the sharding of {shown_path(path)} is {spec}, which has more axes than "
                f"its shape {param.value.shape}"
            )
        specs[path] = spec
    return params.update(specs)


def shardings(params: Params, mesh: Mesh) -> Params:
    """The sharding of each parameter over a mesh, by its metadata.

    It is a tree for `out_shardings` of `jax.jit`, so that each device creates its own part:

    >>> placed = shardings(jax.eval_shape(init), mesh)
    >>> params = jax.jit(init, out_shardings=placed)()

    Args:
        params: parameters, or their shapes, as `jax.eval_shape` returns them.
        mesh: the devices, with the names of axes that the partitions have.
    """
    return jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        partition_specs(params),
        is_leaf=lambda node: isinstance(node, PartitionSpec),
    )
