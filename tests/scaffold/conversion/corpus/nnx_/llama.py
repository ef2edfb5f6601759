import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@dataclasses.dataclass(frozen=True)
class LlamaConfig:
    vocab_size: int = 64
    dim: int = 32
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    hidden_dim: int = 64
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5


class LlamaNorm(nnx.Module):
    def __init__(self, dim: int, eps: float = 1e-6, *, rngs: nnx.Rngs):
        self.eps = eps
        self.weight = nnx.Param(jnp.ones((dim,)))

    def __call__(self, x: jax.Array) -> jax.Array:
        variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
        return x * jax.lax.rsqrt(variance + self.eps) * self.weight.value


def llama_rotate_half(x):
    x1, x2 = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([-x2, x1], axis=-1)


def llama_rope(x, theta: float):
    seq, dim = x.shape[1], x.shape[-1]
    inv_freq = 1.0 / (theta ** (jnp.arange(0, dim, 2).astype(x.dtype) / dim))
    angles = jnp.arange(seq, dtype=x.dtype)[:, None] * inv_freq[None, :]
    angles = jnp.concatenate([angles, angles], axis=-1)
    cos, sin = jnp.cos(angles)[None, :, None, :], jnp.sin(angles)[None, :, None, :]
    return x * cos + llama_rotate_half(x) * sin


class LlamaAttention(nnx.Module):
    def __init__(self, cfg: LlamaConfig, *, rngs: nnx.Rngs):
        self.cfg = cfg
        self.head_dim = cfg.dim // cfg.n_heads
        linear = partial(nnx.Linear, use_bias=False, rngs=rngs)
        self.wq = linear(cfg.dim, cfg.n_heads * self.head_dim)
        self.wk = linear(cfg.dim, cfg.n_kv_heads * self.head_dim)
        self.wv = linear(cfg.dim, cfg.n_kv_heads * self.head_dim)
        self.wo = linear(cfg.n_heads * self.head_dim, cfg.dim)

    def __call__(self, x, mask=None):
        b, s, _ = x.shape
        q = self.wq(x).reshape(b, s, self.cfg.n_heads, self.head_dim)
        k = self.wk(x).reshape(b, s, self.cfg.n_kv_heads, self.head_dim)
        v = self.wv(x).reshape(b, s, self.cfg.n_kv_heads, self.head_dim)
        q, k = llama_rope(q, self.cfg.rope_theta), llama_rope(k, self.cfg.rope_theta)
        rep = self.cfg.n_heads // self.cfg.n_kv_heads
        k, v = jnp.repeat(k, rep, axis=2), jnp.repeat(v, rep, axis=2)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(self.head_dim)
        causal = jnp.tril(jnp.ones((s, s), dtype=bool))
        scores = jnp.where(causal[None, None], scores, -1e9)
        probs = jax.nn.softmax(scores, axis=-1)
        out = jnp.einsum("bhqk,bkhd->bqhd", probs, v).reshape(b, s, -1)
        return self.wo(out)


class LlamaMlp(nnx.Module):
    def __init__(self, cfg: LlamaConfig, *, rngs: nnx.Rngs):
        linear = partial(nnx.Linear, use_bias=False, rngs=rngs)
        self.w1 = linear(cfg.dim, cfg.hidden_dim)
        self.w2 = linear(cfg.hidden_dim, cfg.dim)
        self.w3 = linear(cfg.dim, cfg.hidden_dim)

    def __call__(self, x):
        return self.w2(nnx.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nnx.Module):
    def __init__(self, cfg: LlamaConfig, *, rngs: nnx.Rngs):
        self.attention = LlamaAttention(cfg, rngs=rngs)
        self.feed_forward = LlamaMlp(cfg, rngs=rngs)
        self.attention_norm = LlamaNorm(cfg.dim, cfg.norm_eps, rngs=rngs)
        self.ffn_norm = LlamaNorm(cfg.dim, cfg.norm_eps, rngs=rngs)

    def __call__(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nnx.Module):
    def __init__(self, cfg: LlamaConfig, *, rngs: nnx.Rngs):
        self.tok_embeddings = nnx.Embed(cfg.vocab_size, cfg.dim, rngs=rngs)
        self.layers = nnx.List(
            [LlamaBlock(cfg, rngs=rngs) for _ in range(cfg.n_layers)]
        )
        self.norm = LlamaNorm(cfg.dim, cfg.norm_eps, rngs=rngs)
        self.output = nnx.Linear(cfg.dim, cfg.vocab_size, use_bias=False, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))
