import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
    Positive,
    Size,
    glorot_uniform,
    l2_norm,
    sum,
    trainable,
    zeros,
)

MIN_NORM = 1e-15


def norm(x):
    return jnp.maximum(l2_norm(x, axis=-1, keepdims=True), MIN_NORM)


def mobius_add(x, y, c):
    xy = sum(x * y, axis=-1, keepdims=True)
    x2 = sum(x * x, axis=-1, keepdims=True)
    y2 = sum(y * y, axis=-1, keepdims=True)
    numerator = (1 + 2 * c * xy + c * y2) * x + (1 - c * x2) * y
    return numerator / (1 + 2 * c * xy + c**2 * x2 * y2)


def expmap0(v, c):
    return jnp.tanh(c**0.5 * norm(v)) * v / (c**0.5 * norm(v))


def mobius_matvec(m, x, c):
    mx = x @ m
    return (
        jnp.tanh(norm(mx) / norm(x) * jnp.arctanh(c**0.5 * norm(x))) * mx / (norm(mx) * c**0.5)
    )


class PoincareLinear(Layer):
    """Linear layer of the Poincaré ball: y = (M ⊗ x) ⊕ exp_0(b).

    Ganea, Bécigneul & Hofmann, 2018, Hyperbolic Neural Networks, arXiv:1805.09112.
    """

    in_features: Size  #: dimension of the ball of the input
    out_features: Size  #: dimension of the ball of the output
    c: Positive = 1.0  #: curvature: the ball has radius 1 / sqrt(c)

    def setup(self):
        self.M = trainable(glorot_uniform(), (self.in_features, self.out_features))
        self.b = trainable(zeros, (self.out_features,))

    def project(self, x):
        """Back into the ball, where rounding left it."""
        limit = (1 - 1e-3) / self.c**0.5
        return jnp.where(norm(x) > limit, x / norm(x) * limit, x)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        x = self.project(x)
        y = mobius_add(mobius_matvec(self.M, x, self.c), expmap0(self.b, self.c), self.c)
        return self.project(y)
