import jax
import jax.numpy as jnp
from flax import nnx


class Expert(nnx.Module):
    def __init__(self, dim: int, hidden: int, rngs: nnx.Rngs):
        self.up = nnx.Linear(dim, hidden, rngs=rngs)
        self.down = nnx.Linear(hidden, dim, rngs=rngs)

    def __call__(self, x):
        return self.down(nnx.gelu(self.up(x)))


class MoE(nnx.Module):
    def __init__(
        self, dim: int, hidden: int, num_experts: int, top_k: int = 2, *, rngs: nnx.Rngs
    ):
        self.num_experts = num_experts
        self.top_k = top_k
        self.gate = nnx.Linear(dim, num_experts, use_bias=False, rngs=rngs)
        self.experts = nnx.List([Expert(dim, hidden, rngs) for _ in range(num_experts)])

    def __call__(self, x):
        logits = self.gate(x)
        weights, indices = jax.lax.top_k(logits, self.top_k)
        weights = jax.nn.softmax(weights, axis=-1)
        one_hot = jax.nn.one_hot(indices, self.num_experts, dtype=x.dtype)
        combine = jnp.einsum("...k,...ke->...e", weights, one_hot)
        out = jnp.zeros_like(x)
        for i, expert in enumerate(self.experts):
            out += combine[..., i, None] * expert(x)
        return out


class MoEBlock(nnx.Module):
    def __init__(
        self, dim: int, heads: int, hidden: int, num_experts: int, rngs: nnx.Rngs
    ):
        self.norm1 = nnx.RMSNorm(dim, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(
            num_heads=heads, in_features=dim, decode=False, rngs=rngs
        )
        self.norm2 = nnx.RMSNorm(dim, rngs=rngs)
        self.moe = MoE(dim, hidden, num_experts, rngs=rngs)

    def __call__(self, x, mask=None):
        x = x + self.attn(self.norm1(x), mask=mask)
        return x + self.moe(self.norm2(x))
