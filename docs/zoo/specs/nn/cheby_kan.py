import jax.numpy as jnp

from mlax_scaffold.spec import Count, Float, Layer, Size, trainable, normal


class ChebyKAN(Layer):
    """Kolmogorov-Arnold layer with Chebyshev polynomials on its edges.

    y_o = sum_i sum_k C[i, o, k] T_k(tanh(x_i)), T_0 = 1, T_1 = x, T_k = 2 x T_{k-1} - T_{k-2}.

    Sidharth et al., 2024, Chebyshev Polynomial-Based Kolmogorov-Arnold Networks,
    arXiv:2405.07200; Liu et al., 2024, KAN, arXiv:2404.19756.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    degree: Count = 4  #: degree of the polynomials

    def setup(self):
        std = 1 / (self.in_features * (self.degree + 1))
        self.coefficients = trainable(
            normal(std), (self.in_features, self.out_features, self.degree + 1)
        )

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        x = jnp.tanh(x)
        T = [jnp.ones_like(x), x]
        while len(T) < self.degree + 1:
            T.append(2 * x * T[-1] - T[-2])
        basis = jnp.stack(T[: self.degree + 1], axis=-1)
        return jnp.einsum("...ik,iok->...o", basis, self.coefficients)
