"""A decoder whose settings, initializers among them, are one object, flax linen."""

from typing import Any, Callable, Optional

import jax.numpy as jnp
from flax import linen as nn
from flax import struct


@struct.dataclass
class TransformerConfig:
    vocab_size: int = 64
    emb_dim: int = 16
    num_heads: int = 4
    num_layers: int = 2
    mlp_dim: int = 32
    max_len: int = 16
    dropout_rate: float = 0.1
    deterministic: bool = False
    dtype: Any = jnp.float32
    kernel_init: Callable = nn.initializers.xavier_uniform()
    bias_init: Callable = nn.initializers.normal(stddev=1e-6)


class MlpBlock(nn.Module):
    config: TransformerConfig
    out_dim: Optional[int] = None

    @nn.compact
    def __call__(self, inputs):
        config = self.config
        actual_out_dim = inputs.shape[-1] if self.out_dim is None else self.out_dim
        x = nn.Dense(
            config.mlp_dim, kernel_init=config.kernel_init, bias_init=config.bias_init
        )(inputs)
        x = nn.relu(x)
        x = nn.Dropout(rate=config.dropout_rate)(x, deterministic=config.deterministic)
        return nn.Dense(
            actual_out_dim, kernel_init=config.kernel_init, bias_init=config.bias_init
        )(x)


class Block(nn.Module):
    config: TransformerConfig

    @nn.compact
    def __call__(self, inputs, mask=None):
        config = self.config
        assert inputs.ndim == 3
        x = nn.LayerNorm(dtype=config.dtype)(inputs)
        x = nn.MultiHeadDotProductAttention(
            num_heads=config.num_heads,
            qkv_features=config.emb_dim,
            kernel_init=config.kernel_init,
            bias_init=config.bias_init,
            use_bias=False,
            dropout_rate=config.dropout_rate,
            deterministic=config.deterministic,
        )(x, mask=mask)
        x = x + inputs
        return x + MlpBlock(config=config)(nn.LayerNorm(dtype=config.dtype)(x))


class ConfiguredDecoder(nn.Module):
    """A pure decoder for language modelling."""

    config: TransformerConfig

    @nn.compact
    def __call__(self, inputs):
        config = self.config
        mask = nn.make_causal_mask(inputs)
        embed = nn.Embed(
            num_embeddings=config.vocab_size,
            features=config.emb_dim,
            embedding_init=nn.initializers.normal(stddev=1.0),
        )
        x = embed(inputs.astype("int32"))
        pos = self.param(
            "pos",
            nn.initializers.normal(stddev=0.02),
            (1, config.max_len, config.emb_dim),
        )
        x = x + pos[:, : x.shape[1], :]
        for lyr in range(config.num_layers):
            x = Block(config=config, name=f"block_{lyr}")(x, mask)
        x = nn.LayerNorm(dtype=config.dtype, name="ln_f")(x)
        return embed.attend(x) / jnp.sqrt(x.shape[-1])
