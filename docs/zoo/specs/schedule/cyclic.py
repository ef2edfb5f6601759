import jax.numpy as jnp

from mlax_scaffold.spec import Fraction, Literal, Schedule, Size

SCALE = {
    "triangular": lambda cycle, step, gamma: 1.0,
    "triangular2": lambda cycle, step, gamma: 1 / 2.0 ** (cycle - 1),
    "exp_range": lambda cycle, step, gamma: gamma**step,
}


class Cyclic(Schedule):
    """Triangles between a lower and an upper value, which may shrink.

    Smith, 2017, Cyclical Learning Rates for Training Neural Networks, arXiv:1506.01186.
    """

    base_value: float  #: the lower value
    max_value: float  #: the upper value
    step_size: Size  #: number of steps in half a cycle
    mode: Literal["triangular", "triangular2", "exp_range"] = "triangular"  #: how they shrink
    gamma: Fraction = 1.0  #: of exp_range

    def value(self, step):
        cycle = jnp.floor(1 + step / (2 * self.step_size))
        x = jnp.abs(step / self.step_size - 2 * cycle + 1)
        height = (self.max_value - self.base_value) * jnp.maximum(0, 1 - x)
        return self.base_value + height * SCALE[self.mode](cycle, step, self.gamma)
