import math
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    DType,
    Optimizer,
    Positive,
    SubOptimizer,
    saturate,
    sum,
    tree_dot,
)


class ClipExamples(Optimizer, per_example=True):
    """Clips the gradients of each example, and gives an optimizer their mean.

    update = that of the optimizer for (sum of g min(1, clip_norm / norm(g))) / n, with n
    examples. The norm is that of all weights, or each weight is clipped by its own: to
    clip_norm sqrt(1 / weights), or to clip_norm sqrt(its elements / all elements).

    Abadi et al., 2016, arXiv:1607.00133; McMahan et al., 2018, arXiv:1710.06963 (norms of
    each weight). Gradients are those of
    `jax.vmap(jax.grad(loss_fn), (None, 0))(trainables, batch)`. An optimizer around this
    one would need the gradients of weights: it is the outermost. With noise it is
    DifferentiallyPrivate.
    """

    optimizer: SubOptimizer  #: the optimizer
    clip_norm: Positive  #: the largest norm of the gradients of an example
    #: what has a norm: all weights together, or each, with equal bounds or by its size
    norms: Literal["all", "each", "by_size"] = "all"
    accum_dtype: DType | None = None  #: dtype of the squares; None: of each gradient

    def bounds(self, sizes):
        """The largest norm of each group of weights: of all, or of each."""
        shares = [1.0]
        if self.norms != "all":
            counts = [max(size, 1) if self.norms == "by_size" else 1 for size in sizes]
            shares = [count / math.fsum(counts) for count in counts]
        return [self.clip_norm * share**0.5 for share in shares]

    def step(self, grads, params):
        leaves, structure = jax.tree.flatten(grads)
        examples = max((leaf.shape[0] for leaf in leaves), default=0)
        bounds = self.bounds([leaf.size for leaf in jax.tree.leaves(params)])

        # One example after the other: norms need no array of another dtype.
        def scales_of(_, example):
            groups = [example] if self.norms == "all" else jax.tree.leaves(example)
            norms = [lax.sqrt(tree_dot(g, g, self.accum_dtype)) for g in groups]
            return None, [
                bound / max(examples, 1) / jnp.maximum(norm, bound)
                for norm, bound in zip(norms, bounds, strict=True)
            ]

        def summed(g, scales):
            scale = lax.broadcast_in_dim(scales.astype(g.dtype), g.shape, (0,))
            return saturate(sum(saturate(scale * g), axis=0))

        _, scales = lax.scan(scales_of, None, grads, examples)
        if self.norms == "all":
            scales = scales * len(leaves)
        mean = [summed(g, s) for g, s in zip(leaves, scales, strict=True)]
        return self.optimizer(structure.unflatten(mean), params)
