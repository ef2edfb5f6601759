import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import DType, Optimizer, saturate


class StochasticRounding(Optimizer):
    """Rounds weights of 16 bits up or down at random, so that small updates count.

    weight + update is rounded to one of the two nearest numbers, in proportion to how
    near they are: its expectation is the exact sum. The update that is returned is the
    difference to the weight. Wider weights are updated as they are.

    Gupta et al., 2015, arXiv:1502.02551. It is the last of a Chain, and a step needs a
    key. For updates below half a unit in the last place of a weight, which are lost
    otherwise.
    """

    noise_dtype: DType = "float32"  #: dtype of the random numbers and of the exact sum

    def update(self, grad, param):
        if grad.dtype.itemsize > 2:
            return grad
        info = jnp.finfo(grad.dtype)

        def rounded(x):
            # Compilers may keep more bits of a sum than its dtype has.
            return lax.reduce_precision(x, info.nexp, info.nmant)

        near = saturate(rounded(param + grad))
        exact = param.astype(self.noise_dtype) + grad.astype(self.noise_dtype)
        lost = exact - near.astype(self.noise_dtype)
        # The update to the neighbor beyond the sum. Where the update is coarser than the
        # weight, the neighbor may be out of reach: the next update goes past it.
        toward = jnp.where(lost > 0.0, jnp.full_like(near, jnp.inf), -jnp.inf)
        away = rounded(lax.nextafter(near, toward) - param)
        reached = rounded(param + away)
        away = jnp.where(reached == near, lax.nextafter(away, toward), away)
        reached = rounded(param + away)
        noise = jax.random.uniform(self.key(), grad.shape, self.noise_dtype)
        gap = reached.astype(self.noise_dtype) - near.astype(self.noise_dtype)
        moves = lax.is_finite(reached) & (lax.abs(lost) > noise * lax.abs(gap))
        back = rounded(near - param)
        stays = jnp.where(rounded(param + back) == near, back, grad)
        return jnp.where(moves, away, stays)
