"""A recurrent agent of haiku."""

import collections

import haiku as hk
import jax
import jax.numpy as jnp

AgentOutput = collections.namedtuple("AgentOutput", ["policy_logits", "value"])


class RecurrentNet(hk.Module):
    """MLP torso, LSTM core, and two heads."""

    def __init__(self, num_actions: int, hidden_size: int = 64, name=None):
        super().__init__(name=name)
        self._num_actions = num_actions
        self._torso = hk.nets.MLP([128, hidden_size], activate_final=True)
        self._core = hk.LSTM(hidden_size)

    def initial_state(self, batch_size):
        return self._core.initial_state(batch_size)

    def __call__(self, inputs, state):
        torso_out = self._torso(inputs)
        core_out, state = self._core(torso_out, state)
        logits = hk.Linear(self._num_actions, name="policy_head")(core_out)
        value = hk.Linear(1, name="value_head")(core_out)
        return (logits, jnp.squeeze(value, axis=-1)), state
