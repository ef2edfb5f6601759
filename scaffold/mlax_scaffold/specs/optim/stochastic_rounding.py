import jax
from jax import lax

from mlax_scaffold.spec import DType, Optimizer, dithered_sum, saturate


class StochasticRounding(Optimizer):
    """Rounds weights of 16 bits up or down at random, so that small updates count.

    weight + update is rounded to one of the two nearest numbers, in proportion to how
    near they are: its expectation is the exact sum. The update that is returned is the
    difference to the weight. Wider weights are updated as they are.

    Gupta et al., 2015, arXiv:1502.02551. It is the last of a Chain, and a step needs a
    key. For updates below half a unit in the last place of a weight, which are lost
    otherwise.
    """

    noise_dtype: DType = "float32"  #: dtype of the random numbers

    def update(self, grad, param):
        if grad.dtype.itemsize > 2:
            return grad
        noise = jax.random.uniform(self.key(), grad.shape, self.noise_dtype)
        # Small numbers keep their precision in the cast: they are what matters.
        noise = lax.convert_element_type(noise, grad.dtype)
        return saturate(saturate(dithered_sum(param, grad, noise)) - param)
