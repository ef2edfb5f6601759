import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, Layer, Literal, Size, Sizes
from mlax_scaffold.specs.nn.linear import Linear


class DeepSets(Layer):
    """Function of a set: rho(pool over elements of phi(x)).

    Zaheer et al., 2017, Deep Sets, arXiv:1703.06114.
    """

    in_features: Size  #: features of an element
    phi_sizes: Sizes  #: widths of the layers of phi
    rho_sizes: Sizes  #: widths of the layers of rho
    pooling: Literal["sum", "mean", "max"] = "sum"  #: over the elements

    def setup(self):
        phi = (self.in_features, *self.phi_sizes)
        rho = (self.phi_sizes[-1], *self.rho_sizes)
        self.phi = [Linear(i, o) for i, o in zip(phi[:-1], phi[1:])]
        self.rho = [Linear(i, o) for i, o in zip(rho[:-1], rho[1:])]

    @staticmethod
    def mlp(layers, x):
        *hidden, last = layers
        for layer in hidden:
            x = jax.nn.elu(layer(x))
        return last(x)

    def forward(
        self,
        x: Float["*batch elements in_features"],
        *,
        mask: Bool["*batch elements"] | None = None,
    ) -> Float["*batch out"]:
        h = self.mlp(self.phi, x)
        if mask is None:
            mask = jnp.ones(x.shape[:-1], bool)
        mask = mask[..., None]
        if self.pooling == "max":
            pooled = jnp.max(jnp.where(mask, h, -jnp.inf), axis=-2)
        else:
            pooled = jnp.sum(jnp.where(mask, h, 0), axis=-2)
            if self.pooling == "mean":
                pooled = pooled / jnp.sum(mask, axis=-2)
        return self.mlp(self.rho, pooled)
