from flax import linen as nn
import jax
import jax.numpy as jnp


class SentimentClassifier(nn.Module):
    """Embeds, encodes, and classifies."""

    vocab_size: int
    embedding_size: int
    hidden_size: int
    output_size: int
    dropout_rate: float = 0.1

    @nn.compact
    def __call__(self, tokens, deterministic: bool = True):
        x = nn.Embed(num_embeddings=self.vocab_size, features=self.embedding_size)(
            tokens
        )
        x = nn.Dropout(rate=self.dropout_rate)(x, deterministic=deterministic)
        ScanLSTM = nn.scan(
            nn.OptimizedLSTMCell,
            variable_broadcast="params",
            split_rngs={"params": False},
            in_axes=1,
            out_axes=1,
        )
        lstm = ScanLSTM(self.hidden_size)
        carry = lstm.initialize_carry(jax.random.key(0), x[:, 0].shape)
        _, outputs = lstm(carry, x)
        x = outputs[:, -1]
        x = nn.Dense(self.hidden_size)(x)
        x = nn.tanh(x)
        return nn.Dense(self.output_size)(x)
