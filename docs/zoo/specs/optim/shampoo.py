import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    NonNegative,
    Optimizer,
    Positive,
    Probability,
    Scheduled,
    Size,
    moment,
    widened,
    zeros,
)


def matrix_power(mat, p, eps):
    w, v = widened(jnp.linalg.eigh)(mat + eps * jnp.eye(mat.shape[0], dtype=mat.dtype))
    return (v * jnp.maximum(w, eps) ** p) @ v.T


class Shampoo(Optimizer):
    """Preconditions each axis of a weight by the root of its second moments.

    Gupta, Koren, Singer, 2018: "Shampoo: Preconditioned Stochastic Tensor Optimization". arXiv:1802.09568
    """

    learning_rate: Scheduled
    momentum: Probability = 0.9
    weight_decay: NonNegative = 0.0
    epsilon: Positive = 1e-4
    update_freq: Size = 2

    def setup(self, param):
        self.momentum_buffer = moment(zeros, param.shape)
        self.preconditioners = [
            moment(lambda key, shape, dtype: self.epsilon * jnp.eye(shape[0], dtype=dtype), (n, n))
            for n in param.shape
        ]
        self.inverses = [moment(zeros, (n, n)) for n in param.shape]

    def update(self, grad, param):
        grad = grad + self.weight_decay * param
        order = grad.ndim
        g = grad
        for axis, n in enumerate(grad.shape):
            flat = jnp.moveaxis(grad, axis, 0).reshape(n, -1)
            self.preconditioners[axis] = self.preconditioners[axis] + flat @ flat.T
            self.inverses[axis] = lax.cond(
                (self.step_number - 1) % self.update_freq == 0,
                lambda: matrix_power(self.preconditioners[axis], -1 / (2 * order), self.epsilon),
                lambda: self.inverses[axis],
            )
            g = jnp.moveaxis(jnp.tensordot(self.inverses[axis], g, axes=[[1], [axis]]), 0, axis)
        self.momentum_buffer = self.momentum * self.momentum_buffer + g
        return -self.learning_rate * self.momentum_buffer
