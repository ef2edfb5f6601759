import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Block, Float, Fraction, Size, SubLayer, trainable, lecun_normal, ones


class AdaptiveComputationTime(Block):
    """Applies a layer as often as it chooses to, at most `max_steps` times.

    After each step a unit says how likely it is to halt; the result is the mean of the
    states, weighted by the probabilities to halt there. The dict that is returned also
    holds the ponder cost of each element (number of updates plus remainder).

    Graves, 2016, Adaptive Computation Time for Recurrent Neural Networks,
    arXiv:1603.08983.
    """

    layer: SubLayer  #: maps the state to a state of the same shape
    features: Size  #: size of the last axis of the state
    max_steps: Size = 8  #: most steps
    epsilon: Fraction = 0.01  #: halts once the sum of probabilities is above 1 - epsilon

    def setup(self):
        self.halt_kernel = trainable(lecun_normal(), (self.features, 1))
        self.halt_bias = trainable(ones, (1,))

    def forward(self, x: Float["*batch features"]) -> dict[str, jax.Array]:
        batch = x.shape[:-1]
        total = jnp.zeros(batch, dtype=x.dtype)
        remainder = jnp.zeros(batch, dtype=x.dtype)
        updates = jnp.zeros(batch, dtype=x.dtype)
        y = jnp.zeros_like(x)
        for n in range(self.max_steps):
            x = self.layer(x)
            p = jax.nn.sigmoid(x @ self.halt_kernel + self.halt_bias)[..., 0]
            running = total < 1 - self.epsilon
            last = running & ((total + p >= 1 - self.epsilon) | (n == self.max_steps - 1))
            weight = jnp.where(last, 1 - total, p) * running
            remainder = jnp.where(last, 1 - total, remainder)
            updates = updates + running
            total = total + weight
            y = y + weight[..., None] * x
        return {"output": y, "ponder_cost": updates + remainder}
