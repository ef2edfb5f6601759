"""What tests try."""

from mlax_scaffold.testing.strategies import Domain, levels


def evens(max: int = 6) -> Domain[int]:
    """`Even`."""
    return levels([2], range(4, max + 1, 2))
