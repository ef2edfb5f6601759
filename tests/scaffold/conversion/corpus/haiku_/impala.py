"""Torso and policy head of IMPALA."""

import haiku as hk
import jax
import jax.numpy as jnp


class ResidualBlock(hk.Module):
    """Residual block."""

    def __init__(self, num_channels, name=None):
        super().__init__(name=name)
        self._num_channels = num_channels

    def __call__(self, x):
        main_branch = hk.Sequential(
            [
                jax.nn.relu,
                hk.Conv2D(
                    self._num_channels,
                    kernel_shape=[3, 3],
                    stride=[1, 1],
                    padding="SAME",
                ),
                jax.nn.relu,
                hk.Conv2D(
                    self._num_channels,
                    kernel_shape=[3, 3],
                    stride=[1, 1],
                    padding="SAME",
                ),
            ]
        )
        return main_branch(x) + x


class AtariDeepTorso(hk.Module):
    """Deep torso for Atari, from the IMPALA paper."""

    def __init__(self, name=None):
        super().__init__(name=name)

    def __call__(self, x):
        torso_out = x.astype(jnp.float32) / 255.0
        for i, (num_channels, num_blocks) in enumerate([(16, 2), (32, 2), (32, 2)]):
            conv = hk.Conv2D(
                num_channels, kernel_shape=[3, 3], stride=[1, 1], padding="SAME"
            )
            torso_out = conv(torso_out)
            torso_out = hk.max_pool(
                torso_out,
                window_shape=[1, 3, 3, 1],
                strides=[1, 2, 2, 1],
                padding="SAME",
            )
            for j in range(num_blocks):
                block = ResidualBlock(num_channels, name="residual_{}_{}".format(i, j))
                torso_out = block(torso_out)

        torso_out = jax.nn.relu(torso_out)
        torso_out = hk.Flatten()(torso_out)
        torso_out = hk.Linear(256)(torso_out)
        torso_out = jax.nn.relu(torso_out)
        return torso_out
