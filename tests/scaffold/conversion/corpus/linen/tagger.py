import flax.linen as nn
import jax.numpy as jnp


class BiLSTMTagger(nn.Module):
    vocab_size: int
    num_tags: int
    embed_dim: int = 64
    hidden_dim: int = 128
    dropout_rate: float = 0.5

    @nn.compact
    def __call__(self, tokens, train: bool):
        mask = tokens > 0
        x = nn.Embed(self.vocab_size, self.embed_dim)(tokens)
        x = nn.Dropout(self.dropout_rate, deterministic=not train)(x)
        forward = nn.RNN(nn.LSTMCell(self.hidden_dim))(x)
        backward = nn.RNN(nn.LSTMCell(self.hidden_dim), reverse=True, keep_order=True)(
            x
        )
        x = jnp.concatenate([forward, backward], axis=-1)
        x = nn.Dropout(self.dropout_rate, deterministic=not train)(x)
        logits = nn.Dense(self.num_tags)(x)
        return jnp.where(mask[..., None], logits, 0.0)
