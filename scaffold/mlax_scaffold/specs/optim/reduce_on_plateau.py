import jax.numpy as jnp

from mlax_scaffold.spec import (
    Count,
    Decay,
    NonNegative,
    Optimizer,
    Probability,
    Size,
    constant,
    ones,
    state,
    zeros,
)


class ReduceOnPlateau(Optimizer):
    """Scales updates down when the loss has stopped to fall.

    After `patience` values without one below best - rtol |best| - atol, the scale is
    multiplied by `factor`. A step needs the value: the loss at the weights, or that on
    other data. Deviation from optax, where the bound is (1 - rtol) best - atol: what is
    larger than a negative best value is no improvement.
    """

    factor: Decay = 0.1  #: factor of the scale
    patience: Size = 10  #: number of values without an improvement
    rtol: Probability = 1e-4  #: least relative improvement
    atol: NonNegative = 0.0  #: least absolute improvement
    cooldown: Count = 0  #: number of values after a reduction that are not counted
    accumulation_size: Size = 1  #: number of losses of which a value is the mean
    min_scale: NonNegative = 0.0  #: least scale

    def setup_tree(self, params):
        self.scale = state(ones, ())  #: factor of updates
        largest = float(jnp.finfo(jnp.float32).max)
        self.best = state(constant(largest), ())  #: least value so far
        self.mean = state(zeros, ())  #: mean of the losses of this value
        self.losses = state(zeros, (), jnp.int32)  #: number of them
        self.plateau = state(
            zeros, (), jnp.int32
        )  #: number of values without improvement
        self.waiting = state(
            zeros, (), jnp.int32
        )  #: number of values that do not count

    def prepare(self, grads, params):
        losses = self.losses + 1
        mean = self.mean + (self.value - self.mean) / losses.astype(self.mean.dtype)
        complete = losses == self.accumulation_size
        relative = jnp.where(self.best < 0.0, 1.0 + self.rtol, 1.0 - self.rtol)
        improved = mean < relative * self.best - self.atol
        plateau = jnp.where(improved, 0, self.plateau + 1)
        waits = self.waiting > 0
        reduces = ~waits & (plateau == self.patience)
        scale = jnp.maximum(self.scale * self.factor, self.min_scale)
        waiting = jnp.where(reduces, self.cooldown, jnp.maximum(self.waiting - 1, 0))
        self.best = jnp.where(complete & improved, mean, self.best)
        self.scale = jnp.where(complete & reduces, scale, self.scale)
        self.waiting = jnp.where(complete, waiting, self.waiting)
        counted = jnp.where(waits | reduces, 0, plateau)
        self.plateau = jnp.where(complete, counted, self.plateau)
        self.losses = jnp.where(complete, 0, losses)
        self.mean = jnp.where(complete, 0.0, mean)

    def update(self, grad, param):
        return self.scale * grad
