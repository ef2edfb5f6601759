"""Whether inputs of more than two axes are reshaped to a matrix for a product, or not.

python -m tests.benchmarks.linear [--rounds N] [--sizes NAME ...]

Both ways are timed in turn, forward and in a step of gradient descent: of one affine map,
of one with a map of low rank beside it, and of an encoder layer, whose projections and
feed-forward maps are such products.
Printed is the processor's time, which other load on the machine changes less than the
clock's; a ratio below one says that the matrix is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from tests.benchmarks import measure

Product = Callable[[jax.Array, jax.Array], jax.Array]
SIZES = {"short": (8, 16, 64), "long": (8, 256, 128), "one token": (8, 1, 256)}
"""Batch, positions and features."""
RANK = 8
"""Of the map of low rank."""


def direct(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """One contraction of all axes."""
    return x @ kernel


def matrix(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """The product of two matrices."""
    y = x.reshape(-1, x.shape[-1]) @ kernel
    return y.reshape(*x.shape[:-1], kernel.shape[-1])


def linear(product: Product, weights: dict[str, Any], x: jax.Array) -> jax.Array:
    """One affine map."""
    return product(x, weights["query"]) + weights["bias"]


def low_rank(product: Product, weights: dict[str, Any], x: jax.Array) -> jax.Array:
    """An affine map with a map of low rank beside it."""
    low = product(product(x, weights["low_down"]), weights["low_up"])
    return linear(product, weights, x) + low


def encoder(product: Product, weights: dict[str, Any], x: jax.Array) -> jax.Array:
    """Self-attention with four heads and a feed-forward map, with norms before them."""

    def norm(x: jax.Array) -> jax.Array:
        x = x - jnp.mean(x, axis=-1, keepdims=True)
        return x * lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6)

    h = norm(x)
    parts = [
        product(h, weights[name]).reshape(*x.shape[:-1], 4, -1)
        for name in ("query", "key", "value")
    ]
    logits = jnp.einsum("bqhf,bkhf->bhqk", parts[0], parts[1])
    attended = jnp.einsum("bhqk,bkhf->bqhf", jax.nn.softmax(logits), parts[2])
    x = x + product(attended.reshape(x.shape), weights["output"])
    return x + product(jax.nn.relu(product(norm(x), weights["up"])), weights["down"])


def draw_weights(features: int) -> dict[str, jax.Array]:
    """Weights of both."""
    shapes = dict.fromkeys(("query", "key", "value", "output"), (features, features))
    shapes |= {"up": (features, 4 * features), "down": (4 * features, features)}
    shapes |= {"low_down": (features, RANK), "low_up": (RANK, features)}
    keys = jax.random.split(jax.random.key(0), len(shapes))
    weights = {
        name: jax.random.normal(key, shape) / shape[0] ** 0.5
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    return {**weights, "bias": jnp.zeros(features)}


def step(model: Callable[..., jax.Array]) -> Callable[..., Any]:
    """A step of gradient descent."""

    def run(weights: dict[str, Any], x: jax.Array) -> Any:
        loss = lambda weights: jnp.mean(jnp.square(model(weights, x)))  # noqa: E731
        gradients = jax.grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)

    return run


def timed(function: Callable[..., Any], *arguments: Any) -> Callable[[], float]:
    """A subject: processor seconds of one call, from enough calls to be measured."""
    compiled = jax.jit(function).lower(*arguments).compile()
    start = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    calls = max(1, int(0.05 / max(time.perf_counter() - start, 1e-5)))

    def run() -> float:
        start = time.process_time()
        for _ in range(calls):
            jax.block_until_ready(compiled(*arguments))
        return (time.process_time() - start) / calls

    return run


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    options = parser.parse_args()
    rows = []
    for length in options.sizes:
        shape = SIZES[length]
        weights = draw_weights(shape[-1])
        x = jax.random.normal(jax.random.key(1), shape)
        for model in (linear, low_rank, encoder):
            for mode in ("forward", "step"):
                subjects = {}
                for product in (matrix, direct):
                    ready = lambda w, x, p=product, m=model: m(p, w, x)  # noqa: E731
                    function = step(ready) if mode == "step" else ready
                    subjects[product.__name__] = timed(function, weights, x)
                samples = measure.alternate(subjects, options.rounds)
                ratio = samples["matrix"].ratio(samples["direct"])
                rows.append(
                    (
                        f"{model.__name__}, {mode}, {length} {shape}",
                        f"{samples['matrix'].median * 1e6:.0f}",
                        f"{samples['direct'].median * 1e6:.0f}",
                        f"{ratio.median:.2f}",
                        ratio.spread(digits=2),
                    )
                )
    header = ("product", "matrix us", "direct us", "ratio", "min-max")
    measure.print_table(header, rows)
    measure.print_versions("jax", "jaxlib")


if __name__ == "__main__":
    main()
