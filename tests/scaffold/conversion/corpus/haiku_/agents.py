from typing import Optional

import haiku as hk
import jax
import jax.numpy as jnp


class ResBlock(hk.Module):
    """A bottleneck with batch norm."""

    def __init__(self, channels: int, stride: int = 1, name: Optional[str] = None):
        super().__init__(name=name)
        self.channels = channels
        self.stride = stride

    def __call__(self, inputs, is_training: bool):
        shortcut = hk.Conv2D(
            self.channels, 1, stride=self.stride, with_bias=False, name="shortcut_conv"
        )(inputs)
        shortcut = hk.BatchNorm(True, True, 0.9, name="shortcut_bn")(
            shortcut, is_training
        )
        out = hk.Conv2D(self.channels // 2, 1, with_bias=False)(inputs)
        out = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(out, is_training))
        out = hk.Conv2D(self.channels, 3, stride=self.stride, with_bias=False)(out)
        out = hk.BatchNorm(True, True, 0.9)(out, is_training)
        return jax.nn.relu(out + shortcut)


class DQN(hk.Module):
    """Dueling heads over a small torso."""

    def __init__(self, num_actions, hidden=(32, 32), name=None):
        super().__init__(name)
        self._num_actions = num_actions
        self._torso = hk.nets.MLP(hidden, activate_final=True)

    def __call__(self, obs):
        h = self._torso(obs)
        v = hk.Linear(1)(h)
        a = hk.Linear(self._num_actions, w_init=hk.initializers.VarianceScaling(0.1))(h)
        return v + a - a.mean(axis=-1, keepdims=True)
