"""A character model of haiku: an LSTM that is unrolled over time."""

import haiku as hk
import jax
import jax.numpy as jnp


class LoopValues(hk.Module):
    """Embeds characters, unrolls an LSTM, and predicts the next one."""

    def __init__(self, num_chars: int, hidden: int, name=None):
        super().__init__(name=name)
        self.num_chars = num_chars
        self.hidden = hidden

    def __call__(self, batch):
        core = hk.LSTM(self.hidden)
        x = jax.nn.one_hot(batch, self.num_chars)
        state = core.initial_state(x.shape[1])
        outputs, _ = hk.dynamic_unroll(core, x, state)
        return hk.BatchApply(hk.Linear(self.num_chars))(outputs)
