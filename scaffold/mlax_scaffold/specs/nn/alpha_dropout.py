import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Probability, bernoulli


class AlphaDropout(Layer):
    """Dropout for SELU: dropped elements become its lower limit, and moments are kept.

    y = a (x where kept, else s) + b, where s = -1.7581 is the limit of SELU,
    a = 1 / sqrt((1 - rate) (1 + rate s^2)) and b = -a rate s: an input of mean 0 and
    variance 1 keeps both.

    Klambauer et al., 2017, arXiv:1706.02515.
    """

    rate: Probability = 0.5  #: probability that an element is dropped

    def forward(self, x: Float["*shape"]) -> Float["*shape"]:
        if not self.training or self.rate == 0.0:
            return x
        if self.rate == 1.0:
            return jnp.zeros_like(x)
        limit = -1.0507009873554805 * 1.6732632423543772
        a = 1.0 / math.sqrt((1.0 - self.rate) * (1.0 + self.rate * limit**2))
        keep = bernoulli(self.key(), shape=x.shape, p=1.0 - self.rate)
        return a * jnp.where(keep, x, limit) - a * self.rate * limit
