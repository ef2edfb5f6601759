import jax.numpy as jnp

from mlax_scaffold.spec import (
    Decay,
    Function,
    Optimizer,
    bias_correction,
    ema,
    mean,
    moment,
    zeros,
)


class Monitor(Optimizer):
    """Keeps a measure of each update, and leaves updates as they are.

    The measure is a function of one array, such as `jnp.abs` or
    `lambda u: jnp.linalg.norm(u)`, and what is kept for each weight the mean of its
    numbers: with a decay an exponential moving average over steps, which is divided by
    the weight of its terms.

    Several in a Chain measure before and after its other optimizers.
    """

    measure: Function  #: a function of an update
    decay: Decay = 0.0  #: decay of the average over steps; 0: the last measure alone

    def setup(self, param):
        self.average = moment(zeros, ())  #: the average, not yet divided.
        self.measured = moment(zeros, ())  #: the average of the measures.

    def prepare(self, grads, params):
        self.scale = 1.0 / bias_correction(self.step, decay=self.decay)

    def update(self, grad, param):
        measure = jnp.asarray(self.measure(grad)).astype(grad.dtype)
        self.average = ema(self.average, mean(measure), self.dither, decay=self.decay)
        self.measured = self.average * self.scale
        return grad
