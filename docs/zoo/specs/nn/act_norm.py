import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
    Positive,
    Size,
    mean,
    ones,
    state,
    std,
    sum,
    zeros,
)


class ActNorm(Layer):
    """Activation normalization of Glow: y = (x - mean) / std of the first batch.

    The statistics are those of the first batch that is seen in training; from then on
    they stay. Also returns log|det J|.

    Kingma & Dhariwal, 2018, Glow, arXiv:1807.03039.
    """

    features: Size  #: channels
    epsilon: Positive = 1e-6  #: added to the deviation

    def setup(self):
        self.loc = state(zeros, (self.features,))
        self.scale = state(ones, (self.features,))
        self.initialized = state(zeros, (), jnp.bool_)

    def forward(
        self, x: Float["batch height width features"]
    ) -> tuple[Float["batch height width features"], Float[""]]:
        if self.training:
            loc = mean(x, axis=(0, 1, 2))
            scale = 1 / (std(x, axis=(0, 1, 2)) + self.epsilon)
            self.loc = jnp.where(self.initialized, self.loc, loc)
            self.scale = jnp.where(self.initialized, self.scale, scale)
            self.initialized = jnp.array(True)
        _, height, width, _ = x.shape
        logdet = height * width * sum(jnp.log(jnp.abs(self.scale)))
        return (x - self.loc) * self.scale, logdet
