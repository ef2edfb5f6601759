"""Losses of reinforcement learning."""

import jax
import jax.numpy as jnp


def ppo_loss(log_probs, old_log_probs, advantages, clip_eps=0.2):
    """The clipped surrogate of PPO."""
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = jnp.exp(log_probs - old_log_probs)
    unclipped = ratio * advantages
    clipped = jnp.clip(ratio, 1.0 - clip_eps, 1.0 + clip_eps) * advantages
    return -jnp.mean(jnp.minimum(unclipped, clipped))


def gae(rewards, values, dones, gamma=0.99, lam=0.95):
    """Generalized advantage estimation over time-major rollouts."""

    def step(carry, xs):
        advantage, next_value = carry
        reward, value, done = xs
        delta = reward + gamma * next_value * (1 - done) - value
        advantage = delta + gamma * lam * (1 - done) * advantage
        return (advantage, value), advantage

    init = (jnp.zeros_like(values[-1]), values[-1])
    _, advantages = jax.lax.scan(step, init, (rewards, values, dones), reverse=True)
    return advantages
