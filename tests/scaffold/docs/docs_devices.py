"""The programs for a grid of devices, run where there are eight: the losses, and where weights lie."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import jax
from docs_examples import EXAMPLES, FORMS, in_pairs, in_params

import mlax


def main() -> None:
    """Print what each of the three programs measured, and how weights and moments were split."""
    sys.path.insert(0, str(EXAMPLES))
    pairs, modules, flax = (importlib.import_module(f"devices_{f}") for f in FORMS)
    mesh = jax.make_mesh(
        (2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2
    )
    model, optimizer = flax.create(0, mesh)
    state, hyperparams, adam = in_pairs(model, *pairs.create(0, mesh))
    other, net, module_adam = in_params(state, *modules.create(0, mesh))
    batches = list(importlib.import_module("data").digits(8))
    state, ours = pairs.fit(state, hyperparams, adam, mesh, batches)
    other, of_modules = modules.fit(other, net, module_adam, mesh, batches)
    theirs = flax.fit(model, optimizer, mesh, batches)
    trees = [
        tree
        for each in (state, other)
        for tree in (each.trainables, each.optimizer.mean)
    ]
    json.dump(
        {"losses": [ours, of_modules, theirs], "places": [_split(t) for t in trees]},
        sys.stdout,
    )


def _split(tree: Any) -> list[str]:
    """How each kernel is split."""
    kernels = [leaf for leaf in mlax.flatten(tree).values() if leaf.ndim == 2]
    return [" ".join(kernel.sharding.spec) for kernel in kernels]


if __name__ == "__main__":
    main()
