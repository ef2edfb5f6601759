"""What the tests of modules begin with."""

from __future__ import annotations

import mlax.graph as bx


def start(seed: int = 0) -> tuple[bx.Graph, bx.Rng, bx.Params]:
    """A graph, a generator in it, and its seed."""
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    return graph, rng, rng.seed(bx.Params(), seed=seed)
