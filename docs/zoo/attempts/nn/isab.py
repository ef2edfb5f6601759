import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, glorot_uniform, trainable
from mlax_scaffold.specs.nn.layer_norm import LayerNorm
from mlax_scaffold.specs.nn.linear import Linear


class MAB(Layer):
    """Multihead attention block of a set transformer."""

    features: Size
    num_heads: Size

    def setup(self):
        self.q = Linear(self.features, self.features)
        self.k = Linear(self.features, self.features)
        self.v = Linear(self.features, self.features)
        self.o = Linear(self.features, self.features)
        self.norm0 = LayerNorm(self.features)
        self.norm1 = LayerNorm(self.features)

    def forward(
        self, x: Float["batch n features"], y: Float["batch m features"]
    ) -> Float["batch n features"]:
        def heads(t):
            return t.reshape(*t.shape[:-1], self.num_heads, -1)

        q, k, v = heads(self.q(x)), heads(self.k(y)), heads(self.v(y))
        a = jax.nn.softmax(
            jnp.einsum("bnhd,bmhd->bhnm", q, k) / jnp.sqrt(self.features), axis=-1
        )
        o = q + jnp.einsum("bhnm,bmhd->bnhd", a, v)
        h = self.norm0(o.reshape(x.shape))
        return self.norm1(h + jax.nn.relu(self.o(h)))


class ISAB(Layer):
    """Induced set attention block: ISAB(X) = MAB(X, MAB(I, X)).

    I are `inducing` learned points. Equivariant to permutations of the set, and linear in
    its size.

    Lee et al., 2019, Set Transformer, arXiv:1810.00825.
    """

    features: Size  #: size of the last axis
    inducing: Size  #: number of inducing points
    num_heads: Size = 4  #: number of heads

    def setup(self):
        self.I = trainable(glorot_uniform(), (self.inducing, self.features))
        self.mab0 = MAB(self.features, self.num_heads)
        self.mab1 = MAB(self.features, self.num_heads)

    def forward(self, x: Float["batch n features"]) -> Float["batch n features"]:
        i = jnp.broadcast_to(self.I, (x.shape[0],) + self.I.shape)
        h = self.mab0(i, x)
        return self.mab1(x, h)
