"""Whether a generated layer costs what the same layer costs that is written by hand.

PYTHONPATH=generated_layers python -m tests.benchmarks.layers [NAME ...]

Compared are the flops, the transcendentals and the bytes of the compiled HLO, as XLA
counts them, of the forward pass and of a step of gradient descent. They are numbers of
the program, not times, so there is nothing to repeat. That the results agree is checked
first. The exit status is 1 where a generated layer costs more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tests.benchmarks import layers_by_hand as by_hand
from tests.benchmarks import measure

import mlax

COUNTS = ("flops", "transcendentals", "bytes accessed")
KEY = jax.random.key(0)
nn, block = mlax.nn, mlax.block


@dataclass(frozen=True)
class Case:
    """One layer: initialized, the module that runs it, its peer and an input."""

    layer: Any
    run: Callable[..., Any]
    peer: Callable[..., Any]
    x: Any
    takes_key: bool = False


def draw(*shape: int) -> jax.Array:
    """Normal numbers."""
    return jax.random.normal(jax.random.key(1), shape)


def cases() -> dict[str, Callable[[], Case]]:
    """Every layer and block of the library, by name."""
    image, sequence = (8, 16, 12, 12), (4, 24, 32)

    def linear(inner: int = 32, outer: int = 32) -> Any:
        return nn.Linear.init(KEY, inner, outer)

    def pair(*shape: int) -> tuple[jax.Array, jax.Array]:
        return draw(*shape), draw(*shape)

    def case(module: Any, arguments: tuple[Any, ...], *rest: Any, **named: Any) -> Case:
        return Case(module.init(*arguments), module.fwd, *rest, **named)

    def repeated() -> Case:
        keys = jax.random.split(KEY, 6)
        _, state, hyperparams = linear()
        weights = jax.vmap(lambda key: nn.Linear.init(key, 32, 32)[0])(keys)
        stacked = (weights, state, hyperparams)
        return case(block.Repeat, (stacked, 6), by_hand.repeat, draw(16, 32))

    return {
        "Linear": lambda: case(
            nn.Linear, (KEY, 32, 48), by_hand.linear, draw(*sequence)
        ),
        "Bias": lambda: case(nn.Bias, (KEY, 32), by_hand.bias, draw(*sequence)),
        "Scaler": lambda: case(nn.Scaler, (KEY, 32), by_hand.scaler, draw(*sequence)),
        "F": lambda: case(nn.F, (jax.nn.relu,), by_hand.relu, draw(*sequence)),
        "Embed": lambda: case(
            nn.Embed, (KEY, 100, 32), by_hand.embed, jnp.arange(40).reshape(4, 10)
        ),
        "Conv": lambda: case(nn.Conv, (KEY, 2, 16, 24, 3), by_hand.conv, draw(*image)),
        "LayerNorm": lambda: case(
            nn.LayerNorm, (KEY, 32), by_hand.layer_norm, draw(*sequence)
        ),
        "GroupNorm": lambda: case(
            nn.GroupNorm, (KEY, 2, 16), by_hand.group_norm, draw(*image)
        ),
        "BatchNorm": lambda: case(
            nn.BatchNorm, (KEY, 16), by_hand.batch_norm, draw(*image)
        ),
        "Dropout": lambda: case(
            nn.Dropout, (0.5,), by_hand.dropout, draw(*sequence), takes_key=True
        ),
        "LSTMCell": lambda: case(
            nn.LSTMCell,
            (KEY, 32, 48),
            by_hand.lstm_cell,
            (draw(16, 32), pair(16, 48)),
        ),
        "SpectralNorm": lambda: case(
            nn.SpectralNorm, (KEY, 32), by_hand.spectral_norm, draw(48, 32)
        ),
        "MultiHeadAttention": lambda: Case(
            nn.MultiHeadAttention.init(KEY, 32, 4, causal=True),
            nn.MultiHeadAttention.fwd,
            by_hand.attention,
            draw(*sequence),
        ),
        "Series": lambda: case(
            block.Series,
            ([linear(32, 64), nn.F.init(jax.nn.relu), linear(64, 16)],),
            by_hand.series,
            draw(16, 32),
        ),
        "Parallel": lambda: case(
            block.Parallel,
            ([linear(), linear()],),
            by_hand.parallel,
            pair(16, 32),
        ),
        "Residual": lambda: case(
            block.Residual, (linear(),), by_hand.residual, draw(16, 32)
        ),
        "Repeat": repeated,
        "Recurrent": lambda: case(
            block.Recurrent,
            (nn.LSTMCell.init(KEY, 32, 48),),
            by_hand.recurrent,
            draw(*sequence),
        ),
    }


def plain(tree: Any) -> Any:
    """The tree with plain tuples for NamedTuples; a block's only field is opened."""
    if isinstance(tree, tuple):
        fields = getattr(tree, "_fields", ())
        if fields in (("layers",), ("layer",), ("cell",)):
            return plain(tree[0])
        return tuple(map(plain, tree))
    return tree


def step_of(forward: Callable[..., Any]) -> Callable[..., Any]:
    """One step of descent on the sum of squares of the output.

    Args:
        forward: a function (x, weights, state, key) -> (y, state).

    Returns:
        A function of the same arguments: (weights, state, gradient of x).
    """

    def step(x: Any, weights: Any, state: Any, key: Any) -> Any:
        numbers, rebuild = split_floating(x)

        def loss(weights: Any, numbers: Any) -> Any:
            y, new_state = forward(rebuild(numbers), weights, state, key)
            return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(y)), new_state

        gradients, new_state = jax.grad(loss, argnums=(0, 1), has_aux=True)(
            weights, numbers
        )
        new = jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients[0])
        return new, new_state, gradients[1]

    return step


def split_floating(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """What of an input can be differentiated, and a function that gives back the whole."""
    if all(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(x)):
        return x, lambda numbers: numbers
    return (), lambda numbers: x


def cost(function: Callable[..., Any], *arguments: Any) -> dict[str, float]:
    """What XLA counts in the compiled function."""
    analysis = jax.jit(function).lower(*arguments).compile().cost_analysis()
    if analysis is None:
        sys.exit("This backend counts nothing; run on another: JAX_PLATFORMS=cpu")
    return {name: float(analysis.get(name, 0.0)) for name in COUNTS}


def compare(case: Case) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """The costs of the generated and of the hand-written layer, for both functions.

    Raises:
        AssertionError: their results differ.
    """
    weights, state, hyperparams = case.layer
    key = jax.random.key(2) if case.takes_key else None

    def generated(x: Any, weights: Any, state: Any, key: Any) -> Any:
        return case.run(x, weights, state, hyperparams, key=key)

    ours = (case.x, weights, state, key)
    theirs = (case.x, plain(weights), plain(state), key)
    pairs = {
        "forward": (generated, case.peer),
        "step": (step_of(generated), step_of(case.peer)),
    }
    found = {}
    for name, (mine, peer) in pairs.items():
        results = jax.tree.leaves(jax.jit(mine)(*ours))
        expected = jax.tree.leaves(jax.jit(peer)(*theirs))
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
        found[name] = cost(mine, *ours), cost(peer, *theirs)
    return found


def main() -> int:
    """Count, print, and return 1 where a generated layer costs more."""
    every = cases()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(every))
    names = parser.parse_args().names or list(every)
    rows, more, less = [], [], []
    for name in names:
        for what, (mine, peer) in compare(every[name]()).items():
            row = [f"{name}, {what}"]
            for count in COUNTS:
                ratio = mine[count] / peer[count] if peer[count] else 1.0
                if mine[count] > peer[count]:
                    more.append(f"{name}, {what}: {count}")
                elif mine[count] < peer[count]:
                    less.append(f"{name}, {what}: {count}")
                row += [f"{mine[count]:.0f}", f"{peer[count]:.0f}", f"{ratio:.4f}"]
            rows.append(row)
    short = {"bytes accessed": "bytes", "transcendentals": "transc."}
    header = ["function"]
    for count in COUNTS:
        header += [short.get(count, count), "by hand", "ratio"]
    measure.print_table(header, rows)
    total = len(rows) * len(COUNTS)
    print(f"\n{total - len(more) - len(less)} of {total} counts are equal.")
    for label, entries in (("More", more), ("Less", less)):
        for entry in entries:
            print(f"{label}: {entry}")
    print(f"No generated layer costs more: {'MISSED' if more else 'holds'}")
    print(f"\nBackend: {jax.default_backend()}.", end="")
    measure.print_versions("jax", "jaxlib")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
