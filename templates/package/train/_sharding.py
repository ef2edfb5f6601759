"""Where a training state lies: a table of paths and partitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._core.paths import listed, named_leaves, shown
from .._core.placement import state_shardings
from ._state import State

Rules = Sequence[tuple[str, PartitionSpec]]


def shardings(tree: Any, mesh: Mesh, rules: Rules) -> Any:
    """The sharding of each array of a training state, or of any tree of weights.

    The first pattern that is found in the path of an array says how it is split; its path is
    what `flatten` calls it. Moments of the optimizer, and the average of the weights, lie
    where their weights lie, whatever their own paths are. Scalars and keys are on all devices.

    >>> rules = [
    ...     ("up/kernel$", P(None, "model")),
    ...     ("down/kernel$", P("model", None)),
    ...     (".*", P()),
    ... ]
    >>> placed = shardings(jax.eval_shape(create), mesh, rules)
    >>> state = jax.jit(create, out_shardings=placed)()
    >>> step = jax.jit(step, donate_argnums=0, out_shardings=(placed, None))

    Args:
        tree: a `State`, or weights, or their shapes.
        mesh: the devices, with the names of axes that the partitions have.
        rules: pairs of a regular expression and a partition.

    Returns:
        The tree with a sharding in the place of each array.

    Raises:
        TypeError: where a rule is no such pair.
        ValueError: where no pattern is found in a path, or a partition does not fit.
    """
    _check(rules, mesh)
    if not isinstance(tree, State):
        return _by_rules(tree, mesh, rules)
    trainables = _by_rules(tree.trainables, mesh, rules)
    everywhere: Any = NamedSharding(mesh, PartitionSpec())
    return State(
        trainables,
        _by_rules(tree.non_trainables, mesh, rules),
        state_shardings(tree.optimizer, tree.trainables, trainables),
        everywhere,
        everywhere,
        None if tree.average is None else trainables,
    )


def _check(rules: Rules, mesh: Mesh) -> None:
    for rule in rules:
        match rule:
            case (str() as pattern, PartitionSpec() as spec):
                unknown = _axes(spec) - set(mesh.axis_names)
            case _:
                raise TypeError(
                    "train.shardings: a rule must be a pair of a regular expression and a "
                    f"jax.sharding.PartitionSpec, got {rule!r}"
                )
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(
                f"train.shardings: {pattern!r} is no regular expression: {error}"
            ) from error
        if unknown:
            raise ValueError(
                f"train.shardings: {pattern!r} has {spec}, and the mesh has the axes "
                f"{', '.join(mesh.axis_names)}"
            )


def _axes(spec: PartitionSpec) -> set[str]:
    groups = [part if isinstance(part, tuple) else (part,) for part in spec if part]
    return {name for group in groups for name in group if isinstance(name, str)}


def _by_rules(tree: Any, mesh: Mesh, rules: Rules) -> Any:
    rows = named_leaves(tree)
    placed, without = [], []
    for path, leaf in rows:
        spec = PartitionSpec()
        if jnp.shape(leaf):
            found = next((s for p, s in rules if re.search(p, path)), None)
            if found is None:
                without.append(path)
            else:
                spec = found
                _check_fit(path, jnp.shape(leaf), spec, mesh)
        placed.append(NamedSharding(mesh, spec))
    if without:
        raise ValueError(
            f"train.shardings: no pattern is found in {listed(without)}; "
            'a last rule (".*", PartitionSpec()) puts the rest on all devices'
        )
    return jax.tree.unflatten(jax.tree.structure(tree), placed)


def _check_fit(
    path: str, shape: tuple[int, ...], spec: PartitionSpec, mesh: Mesh
) -> None:
    if len(spec) > len(shape):
        raise ValueError(
            f"train.shardings: {shown(path)} of the shape {shape} has fewer axes than {spec}"
        )
    for size, part in zip(shape, spec, strict=False):
        names = part if isinstance(part, tuple) else (part,)
        devices = 1
        for name in filter(None, names):
            devices *= mesh.shape[name]
        if size % devices:
            raise ValueError(
                f"train.shardings: {shown(path)} of the shape {shape} cannot be split by "
                f"{spec}: {size} does not divide by the {devices} devices of {part!r}"
            )
