from typing import NamedTuple

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Positive, Size, function, logsumexp


class Transport(NamedTuple):
    """A plan and what it costs."""

    plan: jax.Array
    cost: jax.Array


@function
def sinkhorn(
    cost: Float["n m"],
    a: Float["n"] | None = None,
    b: Float["m"] | None = None,
    *,
    epsilon: Positive = 0.1,  #: strength of the entropy
    iterations: Size = 50,  #: number of iterations
) -> Transport:
    """Optimal transport with entropy, between marginals a and b (uniform by default).

    Cuturi, 2013, Sinkhorn Distances: Lightspeed Computation of Optimal Transport,
    arXiv:1306.0895; in the log domain.
    """
    n, m = cost.shape
    log_a = -jnp.log(n) * jnp.ones(n) if a is None else jnp.log(a)
    log_b = -jnp.log(m) * jnp.ones(m) if b is None else jnp.log(b)
    K = -cost / epsilon

    def body(_, potentials):
        f, g = potentials
        f = log_a - logsumexp(K + g[None, :], axis=1)
        g = log_b - logsumexp(K + f[:, None], axis=0)
        return f, g

    f, g = jax.lax.fori_loop(0, iterations, body, (jnp.zeros(n), jnp.zeros(m)))
    plan = jnp.exp(K + f[:, None] + g[None, :])
    return Transport(plan, jnp.sum(plan * cost))
