import jax
from jax.lax import stop_gradient

from mlax_scaffold.spec import Block, Float, SubLayer


class ShakeShake(Block):
    """Two branches, mixed at random anew in the forward and in the backward pass.

    y = x + alpha f(x) + (1 - alpha) g(x), with alpha uniform per example when training and
    1/2 otherwise; the gradient is that with another draw beta in the place of alpha.

    Gastaldi, 2017, Shake-Shake regularization, arXiv:1705.07485.
    """

    left: SubLayer  #: one branch
    right: SubLayer  #: the other

    def forward(self, x: Float["batch *features"]) -> Float["batch *features"]:
        a, b = self.left(x), self.right(x)
        if not self.training:
            return x + 0.5 * (a + b)
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        alpha, beta = (jax.random.uniform(self.key(), shape, x.dtype) for _ in range(2))
        backward = beta * a + (1 - beta) * b
        forward = alpha * a + (1 - alpha) * b
        return x + backward + stop_gradient(forward - backward)
