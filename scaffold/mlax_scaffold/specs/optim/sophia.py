import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Decay,
    DType,
    Mask,
    NonNegative,
    Optimizer,
    Positive,
    Scheduled,
    Size,
    bernoulli,
    bias_correction,
    ema,
    moment,
    zeros,
)


class Sophia(Optimizer):
    """Steps along the mean gradient over the curvature, each clipped.

    m = b1 m + (1 - b1) g;
    update = -learning_rate * (clip(m / (1 - b1^t) / max(gamma h, epsilon)) + decay w);
    in every `update_interval`-th step, from the first one on,
    h = b2 h + (1 - b2) r * (H r), with the Hessian H and random signs r.

    Liu et al., 2023, arXiv:2305.14342. A step needs value_and_gradients, which is
    differentiated, and a key. As in optax, signs are drawn, and not normal numbers, and
    steps use the h of the steps before. Deviations: `epsilon` is at least the smallest
    normal number of the dtype; on several devices value_and_gradients averages.
    """

    learning_rate: Scheduled  #: step size
    b1: Decay = 0.965  #: decay of the mean of the gradients
    b2: Decay = 0.99  #: decay of the mean of the curvature
    epsilon: NonNegative = 1e-8  #: the smallest curvature that a step is divided by
    gamma: Positive = 0.01  #: factor of the curvature
    clip_threshold: Positive | None = 1.0  #: the largest element of a step; None: any
    weight_decay: NonNegative = 1e-4  #: strength of the decay
    mask: Mask | None = None  #: weights that decay; None: all
    update_interval: Size = 10  #: number of steps from one estimate to the next
    moment_dtype: DType | None = None  #: dtype of the moments; None: that of the weight

    def setup(self, param):
        self.mean = moment(zeros, param.shape, self.moment_dtype)
        self.curvature = moment(zeros, param.shape, self.moment_dtype)

    def step(self, grads, params):
        unbias = 1.0 / bias_correction(self.step, decay=self.b1)
        rate = self.learning_rate

        def averaged(m, g):
            return ema(m, g.astype(m.dtype), self.dither.astype(m.dtype), decay=self.b1)

        def moved(m, h, w, decays):
            epsilon = max(self.epsilon, float(jnp.finfo(m.dtype).tiny))
            u = m * unbias.astype(m.dtype) / jnp.maximum(self.gamma * h, epsilon)
            if self.clip_threshold is not None:
                u = jnp.clip(u, -self.clip_threshold, self.clip_threshold)
            if decays:
                u = u + self.weight_decay * w.astype(m.dtype)
            return (-rate.astype(m.dtype) * u).astype(w.dtype)

        self.mean = jax.tree.map(averaged, self.mean, grads)
        updates = jax.tree.map(moved, self.mean, self.curvature, params, self.mask)

        leaves, structure = jax.tree.flatten(params)
        drawn = jax.random.split(self.key(), len(leaves))
        signs = structure.unflatten(
            2 * bernoulli(own, shape=leaf.shape, p=0.5).astype(leaf.dtype) - 1
            for own, leaf in zip(drawn, leaves, strict=True)
        )

        def followed(h, r, product):
            estimate = (r * product).astype(h.dtype)
            return ema(h, estimate, self.dither.astype(h.dtype), decay=self.b2)

        def estimated(curvature):
            def gradients_at(weights):
                return self.value_and_gradients(weights)[1]

            _, products = jax.jvp(gradients_at, (params,), (signs,))
            return jax.tree.map(followed, curvature, signs, products)

        self.curvature = lax.cond(
            (self.step_number - 1) % self.update_interval == 0,
            estimated,
            lambda curvature: curvature,
            self.curvature,
        )
        return updates
