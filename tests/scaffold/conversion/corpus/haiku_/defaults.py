"""A policy network as a function with default arguments."""

import haiku as hk
import jax
import jax.numpy as jnp


def atari_policy(obs, num_actions=6, hidden=64):
    """A convolutional torso, a policy and a value."""
    x = obs
    for channels, kernel, stride in ((16, 8, 4), (32, 4, 2)):
        x = jax.nn.relu(hk.Conv2D(channels, kernel, stride, padding="VALID")(x))
    x = hk.Flatten()(x)
    x = jax.nn.relu(hk.Linear(hidden)(x))
    return hk.Linear(num_actions)(x), hk.Linear(1)(x)
