import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    NonNegative,
    Optimizer,
    Positive,
    SubOptimizer,
    saturate,
    sum,
    tree_add,
    tree_dot,
)


class DifferentiallyPrivate(Optimizer, per_example=True):
    """Clips the gradients of each example, and gives an optimizer their noisy mean.

    update = that of the optimizer for (sum of g min(1, clip_norm / norm(g)) + s z) / n,
    with n examples, s = noise_multiplier clip_norm, and z standard normal.

    Abadi et al., 2016, arXiv:1607.00133; with Sgd it is their DP-SGD. A step needs a key.
    Gradients are those of `jax.vmap(jax.grad(loss_fn), (None, 0))(trainables, batch)`.
    An optimizer around this one would need the gradients of weights: it is the outermost.
    """

    optimizer: SubOptimizer  #: the optimizer
    clip_norm: Positive  #: the largest norm of the gradients of an example
    noise_multiplier: NonNegative  #: deviation of the noise over that norm
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def step(self, grads, params):
        leaves, structure = jax.tree.flatten(grads)
        examples = max((leaf.shape[0] for leaf in leaves), default=0)
        unit = self.clip_norm / max(examples, 1)

        # One example after the other: norms need no array of another dtype.
        def clipped(_, example):
            norm = lax.sqrt(tree_dot(example, example, self.accum_dtype))
            return None, unit / jnp.maximum(norm, self.clip_norm)

        def summed(g):
            scale = lax.broadcast_in_dim(scales.astype(g.dtype), g.shape, (0,))
            return saturate(sum(saturate(scale * g), axis=0))

        _, scales = lax.scan(clipped, None, grads, examples)
        mean = jax.tree.map(summed, grads)
        drawn = jax.random.split(self.key(), len(leaves))
        noise = structure.unflatten(
            jax.random.normal(own, leaf.shape[1:], leaf.dtype)
            for own, leaf in zip(drawn, leaves, strict=True)
        )
        noisy = tree_add(mean, noise, unit * self.noise_multiplier)
        return self.optimizer(noisy, params)
