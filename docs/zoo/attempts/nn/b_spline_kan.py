import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Size, lecun_normal, normal, trainable


class BSplineKAN(Layer):
    """Kolmogorov-Arnold layer whose edges are B-splines (Liu et al., 2024, arXiv:2404.19756)."""

    in_features: Size
    out_features: Size
    grid_size: Size = 5
    order: Size = 3
    grid_min: float = -1.0
    grid_max: float = 1.0

    def setup(self):
        h = (self.grid_max - self.grid_min) / self.grid_size
        self.grid = np.arange(-self.order, self.grid_size + self.order + 1) * h + self.grid_min
        self.base = trainable(lecun_normal(), (self.in_features, self.out_features))
        self.coef = trainable(normal(0.1), (self.in_features, self.grid_size + self.order, self.out_features))

    def basis(self, x):
        """x: (..., in) -> (..., in, grid_size + order)"""
        g = self.grid
        x = x[..., None]
        bases = ((x >= g[:-1]) & (x < g[1:])).astype(x.dtype)
        for k in range(1, self.order + 1):
            left = (x - g[: -(k + 1)]) / (g[k:-1] - g[: -(k + 1)])
            right = (g[k + 1 :] - x) / (g[k + 1 :] - g[1:-k])
            bases = left * bases[..., :-1] + right * bases[..., 1:]
        return bases

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        spline = jnp.einsum("...ik,iko->...o", self.basis(x), self.coef)
        return jax.nn.silu(x) @ self.base + spline
