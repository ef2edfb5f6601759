import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Count,
    Float,
    Layer,
    Positive,
    Size,
    l2_norm,
    logsumexp,
    normal,
    softmax,
    sum,
    trainable,
)


class Hopfield(Layer):
    """Modern Hopfield layer: retrieves stored patterns that are learned.

    The state is updated until it does not move by more than `tolerance`, at most
    `max_steps` times: xi <- softmax(beta xi Y^T) Y.

    Ramsauer et al., 2021, Hopfield Networks is All You Need, arXiv:2008.02217.
    """

    features: Size  #: size of states and patterns
    patterns: Size  #: number of stored patterns
    beta: Positive = 1.0  #: inverse temperature
    max_steps: Count = 5  #: most updates
    tolerance: Positive = 1e-4  #: change below which the retrieval stops

    def setup(self):
        self.Y = trainable(normal(1.0), (self.patterns, self.features))

    def energy(self, xi: Float["*batch features"]) -> Float["*batch"]:
        """Energy of states, up to a constant: -lse(beta, xi Y^T) + |xi|^2 / 2."""
        lse = logsumexp(self.beta * xi @ self.Y.T, axis=-1) / self.beta
        return 0.5 * sum(xi**2, axis=-1) - lse

    def forward(self, xi: Float["*batch features"]) -> Float["*batch features"]:
        def update(xi):
            return softmax(self.beta * xi @ self.Y.T, axis=-1) @ self.Y

        def body(_, carry):
            xi, moving = carry
            new = jnp.where(moving, update(xi), xi)
            change = l2_norm(new - xi, axis=-1, keepdims=True)
            return new, moving & (change > self.tolerance)

        moving = jnp.ones((*xi.shape[:-1], 1), bool)
        xi, _ = lax.fori_loop(0, self.max_steps, body, (xi, moving))
        return xi
