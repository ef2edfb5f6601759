"""Optimizers of training scripts: chains that functions put together, with schedules and masks."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


def decay_mask_fn(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)


def create_optimizer(
    peak_lr: float = 3e-4,
    warmup_steps: int = 2,
    total_steps: int = 10,
    weight_decay: float = 0.1,
    max_norm: float = 1.0,
):
    """AdamW with a warmup and a cosine decay; only matrices decay."""
    schedule = optax.warmup_cosine_decay_schedule(
        init_value=0.0,
        peak_value=peak_lr,
        warmup_steps=warmup_steps,
        decay_steps=total_steps,
        end_value=peak_lr * 0.1,
    )
    return optax.chain(
        optax.clip_by_global_norm(max_norm),
        optax.adamw(
            schedule, b1=0.9, b2=0.95, weight_decay=weight_decay, mask=decay_mask_fn
        ),
    )


def make_sgd(learning_rate=0.1, momentum=0.9, clip=None, weight_decay=0.0):
    components = []
    if clip is not None:
        components.append(optax.clip(clip))
    if weight_decay > 0:
        components.append(optax.add_decayed_weights(weight_decay))
    components.append(optax.sgd(learning_rate, momentum=momentum, nesterov=True))
    return optax.chain(*components)


def decayed_rms(lr=0.1, steps=3):
    def schedule(step):
        frac = 1.0 - step / steps
        return lr * jnp.maximum(frac, 0.0)

    return optax.chain(
        optax.scale_by_rms(0.9), optax.scale_by_schedule(schedule), optax.scale(-1.0)
    )


class HeavyBallState(NamedTuple):
    count: jax.Array
    m: optax.Updates


def scale_by_heavy_ball(betas=(0.9, 0.99), nesterov: bool = True, debias: bool = True):
    b1, b2 = betas

    def init_fn(params):
        m = jax.tree.map(jnp.zeros_like, params)
        return HeavyBallState(count=jnp.zeros([], jnp.int32), m=m)

    def update_fn(updates, state, params=None):
        del params
        count = optax.safe_increment(state.count)
        m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.m, updates)
        scale = 1.0
        if debias:
            scale /= 1 - b1**count
        if nesterov:
            out = jax.tree.map(lambda m, g: (b1 * m + (1 - b2) * g) * scale, m, updates)
        else:
            out = jax.tree.map(lambda m: m * scale, m)
        return out, HeavyBallState(count, m)

    return optax.GradientTransformation(init_fn, update_fn)
