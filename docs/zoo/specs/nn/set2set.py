import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, Layer, Size, softmax, sum
from mlax_scaffold.specs.nn.lstm_cell import LSTMCell


class Set2Set(Layer):
    """Reads a set with an LSTM that attends to it, whatever the order (Vinyals et al., 2015, arXiv:1511.06391)."""

    features: Size
    processing_steps: Size = 3

    def setup(self):
        self.lstm = LSTMCell(2 * self.features, self.features)

    def forward(self, x: Float["batch n features"], mask: Bool["batch n"] | None = None) -> Float["batch 2*features"]:
        b = x.shape[0]
        q_star = jnp.zeros((b, 2 * self.features), dtype=x.dtype)
        carry = (jnp.zeros((b, self.features), dtype=x.dtype), jnp.zeros((b, self.features), dtype=x.dtype))
        for _ in range(self.processing_steps):
            q, carry = self.lstm(q_star, carry)
            e = sum(x * q[:, None, :], axis=-1)
            if mask is not None:
                e = jnp.where(mask, e, -1e9)
            a = softmax(e, axis=-1)
            r = sum(a[..., None] * x, axis=1)
            q_star = jnp.concatenate([q, r], axis=-1)
        return q_star
