import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Positive, Size, lecun_normal, state, trainable


def gaussian_orthogonal(key, shape, dtype=jnp.float32):
    """Rows that are orthogonal in blocks, with the norms of Gaussian vectors."""
    rows, columns = shape
    blocks = []
    for _ in range(-(-rows // columns)):
        key, subkey = jax.random.split(key)
        q, _ = jnp.linalg.qr(jax.random.normal(subkey, (columns, columns)))
        blocks.append(q.T)
    matrix = jnp.concatenate(blocks)[:rows]
    norms = jnp.linalg.norm(jax.random.normal(key, (rows, columns)), axis=1)
    return (norms[:, None] * matrix).astype(dtype)


class PerformerAttention(Layer):
    """Linear-time softmax attention with positive orthogonal random features (FAVOR+).

    Choromanski et al., 2021, Rethinking Attention with Performers, arXiv:2009.14794.
    """

    features: Size  #: size of the last axis
    num_heads: Size  #: number of heads
    num_random_features: Size = 64  #: m, features of the approximation per head
    epsilon: Positive = 1e-4  #: added to the features

    def setup(self):
        self.head_dim = self.features // self.num_heads
        shape = (self.features, self.num_heads, self.head_dim)
        self.query = trainable(lecun_normal(), shape)
        self.key_kernel = trainable(lecun_normal(), shape)
        self.value = trainable(lecun_normal(), shape)
        self.out = trainable(
            lecun_normal(), (self.num_heads, self.head_dim, self.features)
        )
        self.omega = state(
            gaussian_orthogonal, (self.num_random_features, self.head_dim)
        )

    def phi(self, x, is_query):
        x = x / self.head_dim**0.25
        projection = jnp.einsum("blhd,md->blhm", x, self.omega)
        square = jnp.sum(x * x, axis=-1, keepdims=True) / 2
        axis = -1 if is_query else (1, 3)
        stabilizer = jax.lax.stop_gradient(
            jnp.max(projection, axis=axis, keepdims=True)
        )
        features = jnp.exp(projection - square - stabilizer) + self.epsilon
        return features / jnp.sqrt(self.num_random_features)

    def forward(
        self, x: Float["batch length features"]
    ) -> Float["batch length features"]:
        q = self.phi(jnp.einsum("blf,fhd->blhd", x, self.query), True)
        k = self.phi(jnp.einsum("blf,fhd->blhd", x, self.key_kernel), False)
        v = jnp.einsum("blf,fhd->blhd", x, self.value)
        kv = jnp.einsum("blhm,blhd->bhmd", k, v)
        normalizer = jnp.einsum("blhm,bhm->blh", q, k.sum(axis=1))
        y = jnp.einsum("blhm,bhmd->blhd", q, kv) / normalizer[..., None]
        return jnp.einsum("blhd,hdf->blf", y, self.out)
