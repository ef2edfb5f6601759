"""What the contracts share: a case as a differentiable function, static values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from mlax_scaffold.testing.case import Arguments, Case
from mlax_scaffold.testing.dtypes import is_inexact

PyTree = Any


def abstract_key() -> jax.ShapeDtypeStruct:
    """The type of a typed PRNG key."""
    return jax.eval_shape(lambda: jax.random.key(0))


def assert_static(first: Any, second: Any, *, what: str) -> None:
    """Two hyperparameters of equal `init` calls are equal, hashable, and have no leaves."""
    try:
        hashes = hash(first), hash(second)
    except TypeError as error:
        raise AssertionError(
            f"{what}: hyperparams must be hashable: {error}"
        ) from error
    if leaves := jax.tree.leaves(first):
        raise AssertionError(
            f"{what}: hyperparams must be a static pytree, but have the leaves {leaves}"
        )
    if first != second or hashes[0] != hashes[1]:
        raise AssertionError(
            f"{what}: two calls of init gave hyperparams that are not equal or have "
            f"different hashes: {first} and {second}"
        )


class Differentiable:
    """`fwd` of a case as a function of the floating leaves of x, weights and inputs.

    `floats` and `others` are the leaves of the given arguments; `places` names the former.
    """

    def __init__(self, case: Case, arguments: Arguments, *, training: bool):
        self.case = case
        self.training = training
        self.hyperparams = arguments.hyperparams
        names = {"x": arguments.x, "trainables": arguments.trainables}
        tree = names | {"inputs": arguments.inputs}
        leaves, self._structure = jax.tree_util.tree_flatten_with_path(tree)
        self._positions = [i for i, (_, v) in enumerate(leaves) if is_inexact(v)]
        rest = set(range(len(leaves))) - set(self._positions)
        self._rest = sorted(rest)
        self.floats = [leaves[i][1] for i in self._positions]
        self.others = [leaves[i][1] for i in self._rest]
        self.places = [_place(leaves[i][0]) for i in self._positions]

    def __call__(
        self, floats: Sequence[Any], others: Sequence[Any], state: PyTree, key: Any
    ) -> tuple[list[Any], tuple[PyTree, PyTree]]:
        """The floating leaves of y, and `(y, non_trainables)`."""
        leaves: list[Any] = [None] * (len(floats) + len(others))
        for i, value in zip(self._positions, floats, strict=True):
            leaves[i] = value
        for i, value in zip(self._rest, others, strict=True):
            leaves[i] = value
        tree = jax.tree.unflatten(self._structure, leaves)
        arguments = Arguments(
            tree["x"], tree["trainables"], state, self.hyperparams, tree["inputs"]
        )
        y, new_state = self.case.call(arguments, training=self.training, key=key)
        return [v for v in jax.tree.leaves(y) if is_inexact(v)], (y, new_state)


def _place(path: Sequence[Any]) -> str:
    root, *rest = path
    return root.key + jax.tree_util.keystr(tuple(rest))
