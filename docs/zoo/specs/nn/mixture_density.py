import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, log_softmax, logsumexp, sum
from mlax_scaffold.specs.nn.linear import Linear

LOG_2PI = math.log(2 * math.pi)


class Mixture(NamedTuple):
    """Parameters of a mixture of isotropic Gaussians."""

    log_pi: jax.Array
    mu: jax.Array
    sigma: jax.Array


class MixtureDensity(Layer):
    """Mixture density head: a mixture of Gaussians for each input.

    Bishop, 1994, Mixture Density Networks, Aston University NCRG/94/004.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: dimension of the target
    components: Size = 5  #: number of Gaussians

    def setup(self):
        self.heads = {
            "pi": Linear(self.in_features, self.components),
            "mu": Linear(self.in_features, self.components * self.out_features),
            "sigma": Linear(self.in_features, self.components),
        }

    def forward(self, x: Float["*batch in_features"]) -> Mixture:
        mu = self.heads["mu"](x)
        return Mixture(
            log_pi=log_softmax(self.heads["pi"](x)),
            mu=mu.reshape(*x.shape[:-1], self.components, self.out_features),
            sigma=jnp.exp(self.heads["sigma"](x)),
        )

    def log_prob(
        self, x: Float["*batch in_features"], target: Float["*batch out_features"]
    ) -> Float["*batch"]:
        """Log density of the target under the mixture."""
        log_pi, mu, sigma = self.forward(x)
        square = sum((target[..., None, :] - mu) ** 2, axis=-1)
        log_density = (
            -0.5 * square / sigma**2
            - self.out_features * jnp.log(sigma)
            - 0.5 * self.out_features * LOG_2PI
        )
        return logsumexp(log_pi + log_density, axis=-1)
