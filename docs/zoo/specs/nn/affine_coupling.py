import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, sum, zeros
from mlax_scaffold.specs.nn.linear import Linear


class AffineCoupling(Layer):
    """Affine coupling layer of RealNVP, with its inverse.

    The first half x1 of the features passes through and gives scale and shift of the
    second: y2 = x2 * exp(s(x1)) + t(x1), log|det J| = sum s(x1).

    Dinh, Sohl-Dickstein & Bengio, 2017, Density estimation using Real NVP,
    arXiv:1605.08803.
    """

    features: Size  #: size of the last axis
    hidden: Size = 64  #: width of the network of scale and shift
    swap: bool = False  #: whether the second half is the one that passes through

    def setup(self):
        if self.features < 2:
            raise ValueError("a coupling needs at least two features")
        self.kept = self.features // 2
        changed = self.features - self.kept
        self.inner = Linear(self.kept, self.hidden)
        self.outer = Linear(self.hidden, 2 * changed, kernel_initializer=zeros)

    def scale_and_shift(self, x1):
        s, t = jnp.split(self.outer(jax.nn.relu(self.inner(x1))), 2, axis=-1)
        return jnp.tanh(s), t

    def forward(
        self, x: Float["*batch features"]
    ) -> tuple[Float["*batch features"], Float["*batch"]]:
        if self.swap:
            x = jnp.flip(x, axis=-1)
        x1, x2 = x[..., : self.kept], x[..., self.kept :]
        s, t = self.scale_and_shift(x1)
        y = jnp.concatenate([x1, x2 * jnp.exp(s) + t], axis=-1)
        if self.swap:
            y = jnp.flip(y, axis=-1)
        return y, sum(s, axis=-1)

    def inverse(self, y: Float["*batch features"]) -> Float["*batch features"]:
        if self.swap:
            y = jnp.flip(y, axis=-1)
        y1, y2 = y[..., : self.kept], y[..., self.kept :]
        s, t = self.scale_and_shift(y1)
        x = jnp.concatenate([y1, (y2 - t) * jnp.exp(-s)], axis=-1)
        return jnp.flip(x, axis=-1) if self.swap else x
