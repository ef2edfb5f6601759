"""What it saves that attention in chunks leaves out the future.

python -m tests.benchmarks.attention [--rounds N] [--lengths N ...] [--chunk N]

Causal attention in chunks, beside that of all positions to all in the same chunks, and
causal attention all at once: forward and with gradients. With n chunks of the positions
(n + 1) / 2n of the products are needed. Printed is the processor's time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from tests.benchmarks import measure
from tests.benchmarks.linear import timed

from mlax.functional import dot_product_attention

HEADS, FEATURES = 4, 32


def gradients(attend: Callable[..., jax.Array]) -> Callable[..., Any]:
    """The gradients of the queries, the keys and the values."""
    return jax.grad(lambda *x: jnp.sum(jnp.square(attend(*x))), argnums=(0, 1, 2))


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lengths", nargs="+", type=int, default=[512, 2048])
    parser.add_argument("--chunk", type=int, default=128)
    options = parser.parse_args()
    ways = {
        "causal": {"causal": True, "chunk_size": options.chunk},
        "all to all": {"causal": False, "chunk_size": options.chunk},
        "at once": {"causal": True},
    }
    rows = []
    for length in options.lengths:
        keys = jax.random.split(jax.random.key(0), 3)
        x = [jax.random.normal(key, (length, HEADS, FEATURES)) for key in keys]
        for mode in ("forward", "gradients"):
            subjects = {}
            for name, hyper in ways.items():
                attend = lambda *x, hyper=hyper: dot_product_attention(*x, **hyper)  # noqa: E731
                function = gradients(attend) if mode == "gradients" else attend
                subjects[name] = timed(function, *x)
            samples = measure.alternate(subjects, options.rounds)
            rows.append(
                (
                    f"{mode}, {length} positions",
                    *(f"{samples[name].median * 1e3:.1f}" for name in ways),
                    *(
                        f"{samples['causal'].ratio(samples[name]).median:.2f}"
                        for name in ("all to all", "at once")
                    ),
                )
            )
    header = ("attention", "causal, ms", "all to all, ms", "at once, ms")
    measure.print_table((*header, "to all to all", "to at once"), rows)
    measure.print_versions("jax", "jaxlib")


if __name__ == "__main__":
    main()
