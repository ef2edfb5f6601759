import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from mlax_scaffold.spec import Float, Layer, Size, state, trainable


class InvertibleConv(Layer):
    """Invertible 1x1 convolution with an LU decomposed kernel: W = P L (U + diag(s)).

    P is fixed, and so are the signs of s; L is unit lower triangular. Returns the result
    and log|det J| = h w sum log|s|.

    Kingma & Dhariwal, 2018, Glow: Generative Flow with Invertible 1x1 Convolutions,
    arXiv:1807.03039, section 3.2.
    """

    channels: Size  #: number of channels
    seed: int = 0  #: of the rotation that is decomposed

    def setup(self):
        rng = np.random.default_rng(self.seed)
        q, _ = np.linalg.qr(rng.standard_normal((self.channels, self.channels)))
        p, l, u = scipy.linalg.lu(q)
        s = np.diag(u)
        shape = (self.channels, self.channels)
        self.P = state(lambda k, sh, d: jnp.asarray(p, d), shape)
        self.sign_s = state(lambda k, sh, d: jnp.asarray(np.sign(s), d), (self.channels,))
        self.log_s = trainable(
            lambda k, sh, d: jnp.asarray(np.log(np.abs(s)), d), (self.channels,)
        )
        self.L = trainable(lambda k, sh, d: jnp.asarray(l, d), shape)
        self.U = trainable(lambda k, sh, d: jnp.asarray(np.triu(u, 1), d), shape)

    def _factors(self):
        lower = jnp.tril(self.L, -1) + jnp.eye(self.channels)
        upper = jnp.triu(self.U, 1) + jnp.diag(self.sign_s * jnp.exp(self.log_s))
        return lower, upper

    def forward(
        self, x: Float["batch height width channels"]
    ) -> tuple[Float["batch height width channels"], Float[""]]:
        lower, upper = self._factors()
        kernel = self.P @ lower @ upper
        logdet = x.shape[1] * x.shape[2] * jnp.sum(self.log_s)
        return x @ kernel.T, logdet

    def inverse(
        self, y: Float["batch height width channels"]
    ) -> Float["batch height width channels"]:
        lower, upper = self._factors()
        rhs = (y @ self.P).reshape(-1, self.channels).T
        rhs = jax.scipy.linalg.solve_triangular(lower, rhs, lower=True, unit_diagonal=True)
        return jax.scipy.linalg.solve_triangular(upper, rhs).T.reshape(y.shape)
