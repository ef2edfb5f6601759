import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    Float,
    Layer,
    Shape,
    bias_correction,
    ema,
    state,
    zeros,
)


class ExponentialMovingAverage(Layer):
    """Moving average of whatever it is given: m <- decay m + (1 - decay) x.

    y = m / (1 - decay^steps), or y = m without `debias`. In training the average moves;
    at inference the input does not count, and y is the average so far: zero before the
    first step.

    As haiku.ExponentialMovingAverage. The average is computed and kept in at least
    float32: in bfloat16 a decay of 0.999 is 1. For each array of a tree take a layer.
    """

    shape: Shape = ()  #: shape of the input
    decay: Decay = 0.999  #: decay of the average
    debias: bool = True  #: whether the zero that it begins with is made up for

    def setup(self):
        self.average = state(zeros, self.shape, at_least=jnp.float32)
        self.steps = state(zeros, (), jnp.int32)

    def forward(self, x: Float["*shape"]) -> Float["*shape"]:
        y = self.average
        if self.training:
            # Twice: what is returned in the dtype of x, what is kept in its own.
            y = ema(y, x, decay=self.decay)
            new = x.astype(self.stored.average.dtype)
            self.average = ema(self.stored.average, new, decay=self.decay)
            self.steps = lax.min(self.steps, jnp.int32(2**31 - 2)) + 1
        if not self.debias:
            return y
        count = jnp.maximum(self.steps, 1).astype(x.dtype)
        return y / bias_correction(count, decay=self.decay)
