import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Layer, Size, sum
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.rms_norm import RMSNorm


def normalize(x):
    return x / jnp.sqrt(sum(x * x, axis=-1, keepdims=True) + 1e-6)


class GatedDeltaNet(Layer):
    """Linear attention by the gated delta rule, S = a S (I - b k k^T) + b v k^T (Yang et al., 2024, arXiv:2412.06464)."""

    dim: Size
    num_heads: Size = 2
    head_dim: Size = 4

    def setup(self):
        inner = self.num_heads * self.head_dim
        self.qkv = Linear(self.dim, 3 * inner, use_bias=False)
        self.gates = Linear(self.dim, 2 * self.num_heads)
        self.out_norm = RMSNorm(self.head_dim)
        self.out = Linear(inner, self.dim, use_bias=False)

    def forward(self, x: Float["batch time dim"]) -> Float["batch time dim"]:
        b, t, _ = x.shape
        qkv = self.qkv(x).reshape(b, t, 3, self.num_heads, self.head_dim)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        q, k = normalize(jax.nn.silu(q)), normalize(jax.nn.silu(k))
        alpha, beta = jnp.split(jax.nn.sigmoid(self.gates(x)), 2, axis=-1)

        def step(S, inputs):
            q_t, k_t, v_t, a_t, b_t = inputs
            S = a_t[..., None, None] * S
            old = jnp.einsum("bhvk,bhk->bhv", S, k_t)
            S = S + b_t[..., None, None] * jnp.einsum("bhv,bhk->bhvk", v_t - old, k_t)
            return S, jnp.einsum("bhvk,bhk->bhv", S, q_t)

        S0 = jnp.zeros((b, self.num_heads, self.head_dim, self.head_dim), dtype=x.dtype)
        xs = jax.tree.map(lambda a: jnp.moveaxis(a, 1, 0), (q, k, v, alpha, beta))
        _, y = lax.scan(step, S0, xs)
        y = self.out_norm(jnp.moveaxis(y, 0, 1))
        return self.out(y.reshape(b, t, -1))
