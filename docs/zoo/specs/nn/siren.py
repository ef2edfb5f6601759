import math

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Positive, Size
from mlax_scaffold.specs.nn.linear import Linear


def uniform(bound):
    def init(key, shape, dtype=jnp.float32):
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return init


class SIREN(Layer):
    """Sinusoidal representation network, an MLP with sin(omega (W x + b)) as activation

    Sitzmann et al., 2020, Implicit Neural Representations with Periodic Activation
    Functions, arXiv:2006.09661. Weights are drawn as in section 3.2, so that the
    distribution of activations is the same at each depth.
    """

    in_features: Size  #: dimension of the coordinates
    hidden_features: Size  #: width
    out_features: Size  #: dimension of the signal
    hidden_layers: Size = 3  #: number of hidden layers
    first_omega: Positive = 30.0  #: frequency of the first layer
    omega: Positive = 30.0  #: frequency of the others

    def setup(self):
        bound = math.sqrt(6 / self.hidden_features) / self.omega
        layers = []
        layers.append(
            Linear(
                self.in_features,
                self.hidden_features,
                kernel_initializer=uniform(1 / self.in_features),
            )
        )
        for _ in range(self.hidden_layers):
            layers.append(
                Linear(
                    self.hidden_features,
                    self.hidden_features,
                    kernel_initializer=uniform(bound),
                )
            )
        self.layers = layers
        self.last = Linear(
            self.hidden_features, self.out_features, kernel_initializer=uniform(bound)
        )

    def forward(self, coords: Float["*batch in_features"]) -> Float["*batch out_features"]:
        x = coords
        for i, layer in enumerate(self.layers):
            omega = self.first_omega if i == 0 else self.omega
            x = jnp.sin(omega * layer(x))
        return self.last(x)
