"""Axes of size 1 that stand where others are larger: jax stretches them, which a spec seldom means."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp


class Said(int):
    """A size that a type says by its number, and not by a name."""


def is_stretched(made: Any, said: Any) -> bool:
    """Whether a result has the shapes that its type says, but for axes that are 1 by their names alone.

    Args:
        made: a tree of the shapes that a result has.
        said: those that its type says.
    """
    shapes, tree = jax.tree.flatten(made)
    wanted, said_tree = jax.tree.flatten(said)
    if tree != said_tree or shapes == wanted:
        return False
    pairs = list(zip(shapes, wanted, strict=True))
    return all(a == b or (b == 1 and not isinstance(b, Said)) for a, b in pairs)


@contextlib.contextmanager
def stretching() -> Iterator[list[str]]:
    """The Einstein sums that are traced meanwhile, and for which a letter is 1 in one operand alone."""
    found: list[str] = []
    einsum: Any = jnp.einsum

    def watched(*operands: Any, **options: Any) -> Any:
        equation, *arrays = operands
        if isinstance(equation, str) and _stretches(equation, arrays):
            found.append(equation)
        return einsum(*operands, **options)

    # Code of specs and what is generated from it read the function from the module.
    jnp.einsum = watched
    try:
        yield found
    finally:
        jnp.einsum = einsum


def _stretches(equation: str, arrays: list[Any]) -> bool:
    sizes: dict[str, set[int]] = {}
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    for term, array in zip(terms, arrays, strict=False):
        shape = jnp.shape(array)
        first, _, last = term.partition("...")
        ends = shape[len(shape) - len(last) :] if last else ()
        for letter, size in (
            *zip(first, shape, strict=False),
            *zip(last, ends, strict=False),
        ):
            sizes.setdefault(letter, set()).add(size)
    return any(1 in found and len(found) > 1 for found in sizes.values())
