"""Parts of a package that no spec decides: when a library has them."""

from __future__ import annotations

from mlax_scaffold.model.definition import Kind, Reference
from mlax_scaffold.model.library import Library

_OF_METRICS = (
    Reference("functional", "double_sum"),
    Reference("functional", "in_top_k"),
    Reference("functional", "pair_counts"),
    Reference("functional", "two_sum"),
    Reference("loss", "softmax_cross_entropy_with_integer_labels"),
)
"""The functions that running metrics call."""

_OF_GENERATION = tuple(
    Reference("functional", name)
    for name in (
        *("categorical", "log_softmax", "min_p_logits"),
        *("repetition_penalty", "top_k_logits", "top_p_logits"),
    )
)
"""The functions that choose tokens."""


def has_optimizers(library: Library) -> bool:
    """Whether it has optimizers, which training is about."""
    return bool(library.within(Kind.OPTIMIZER.section))


def has_blocks(library: Library) -> bool:
    """Whether it has layers of layers, which surgery is about."""
    return bool(library.within(Kind.BLOCK.section))


def has_metrics(library: Library) -> bool:
    """Whether it has all that running metrics are built on."""
    return all(reference in library.definitions for reference in _OF_METRICS)


def has_generation(library: Library) -> bool:
    """Whether it has layers of layers, and all that chooses tokens."""
    chosen = all(reference in library.definitions for reference in _OF_GENERATION)
    return chosen and has_blocks(library)


def parts_of(library: Library) -> list[str]:
    """The folders that are there, beside initializers and what is common to all."""
    conditions = {
        "generation": has_generation,
        "metric": has_metrics,
        "surgery": has_blocks,
        "train": has_optimizers,
    }
    return [part for part, holds in conditions.items() if holds(library)]
