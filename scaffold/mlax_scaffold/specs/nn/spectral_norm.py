import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Count,
    Float,
    Layer,
    Positive,
    Size,
    normal,
    range_scale,
    spread,
    state,
    sum,
)


class SpectralNorm(Layer, surrogate_gradient=True):
    """Divides a weight by its largest singular value, which power iteration estimates.

    The input is the weight W, a matrix (everything else, features): y = W / |W u|. In
    training u <- W^T W u / |W^T W u| comes first. No gradient goes through u. Apply the
    layer to a kernel, and hand the result to the layer that the kernel belongs to.

    Miyato et al., 2018, arXiv:1802.05957. Deviations: nothing is iterated at inference,
    and epsilon is relative: W and u are scaled before their norms are taken.
    """

    features: Size  #: size of the last axis of the weight, or of its first one
    features_first: bool = False  #: whether that is its first axis, as in Conv
    iterations: Count = 1  #: steps of power iteration in training
    epsilon: Positive = 1e-12  #: added to the squares of norms

    def setup(self):
        self.vector = state(normal(1.0), (self.features,))

    def forward(
        self, x: Float["features *rest if features_first else *rest features"]
    ) -> Float["features *rest if features_first else *rest features"]:
        epsilon = max(self.epsilon, float(jnp.finfo(x.dtype).tiny))
        # The result does not depend on the scale: at one, no square is near epsilon.
        scaled = x / range_scale(x, only_float16=False)
        if self.features_first:
            matrix = scaled.reshape(self.features, -1).T
        else:
            matrix = scaled.reshape(-1, self.features)
        fixed = lax.stop_gradient(matrix)
        u = self.vector
        u = u / range_scale(u, only_float16=False)
        u = u * spread(lax.rsqrt(sum(lax.square(u)) + epsilon), u.shape)
        if self.training:
            for _ in range(self.iterations):
                u = fixed.T.dot(fixed.dot(u))
                u = u / range_scale(u, only_float16=False)
                u = u * spread(lax.rsqrt(sum(lax.square(u)) + epsilon), u.shape)
            self.vector = u
        sigma = lax.sqrt(sum(lax.square(matrix.dot(u))) + epsilon)
        return scaled / spread(sigma, x.shape)
