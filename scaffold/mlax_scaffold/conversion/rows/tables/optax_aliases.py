"""Optimizers of optax, as the chains that they are."""

from __future__ import annotations

ALIASES = """
def adam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, *, nesterov=False):
    return optax.chain(
        optax.scale_by_adam(b1=b1, b2=b2, eps=eps, eps_root=eps_root, nesterov=nesterov),
        optax.scale_by_learning_rate(learning_rate),
    )

def nadam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0):
    return optax.adam(learning_rate, b1, b2, eps, eps_root, nesterov=True)

def adamw(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, weight_decay=1e-4,
    mask=None, *, nesterov=False,
):
    return optax.chain(
        optax.scale_by_adam(b1=b1, b2=b2, eps=eps, eps_root=eps_root, nesterov=nesterov),
        optax.add_decayed_weights(weight_decay, mask),
        optax.scale_by_learning_rate(learning_rate),
    )

def lion(learning_rate, b1=0.9, b2=0.99, mu_dtype=None, weight_decay=1e-3, mask=None):
    return optax.chain(
        optax.scale_by_lion(b1=b1, b2=b2),
        optax.add_decayed_weights(weight_decay, mask),
        optax.scale_by_learning_rate(learning_rate),
    )

def lamb(
    learning_rate, b1=0.9, b2=0.999, eps=1e-6, eps_root=0.0, weight_decay=0.0, mask=None
):
    return optax.chain(
        optax.scale_by_adam(b1=b1, b2=b2, eps=eps, eps_root=eps_root),
        optax.add_decayed_weights(weight_decay, mask),
        optax.scale_by_trust_ratio(),
        optax.scale_by_learning_rate(learning_rate),
    )

def sgd(learning_rate, momentum=None, nesterov=False):
    return optax.chain(
        optax.trace(momentum, nesterov) if momentum is not None else optax.identity(),
        optax.scale_by_learning_rate(learning_rate),
    )

def rmsprop(
    learning_rate, decay=0.9, eps=1e-8, initial_scale=0.0, *, momentum=None, nesterov=False
):
    return optax.chain(
        optax.scale_by_rms(decay, eps, initial_scale),
        optax.scale_by_learning_rate(learning_rate),
        optax.trace(momentum, nesterov) if momentum is not None else optax.identity(),
    )

def adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7):
    return optax.chain(
        optax.scale_by_rss(initial_accumulator_value, eps),
        optax.scale_by_learning_rate(learning_rate),
    )

def adabelief(learning_rate, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16):
    return optax.chain(
        optax.scale_by_belief(b1, b2, eps, eps_root),
        optax.scale_by_learning_rate(learning_rate),
    )

def signum(learning_rate, momentum=0.9):
    return optax.chain(
        optax.ema(momentum, debias=False),
        optax.scale_by_sign(),
        optax.scale_by_learning_rate(learning_rate),
    )
"""
"""Each is read as a function of the person's own file would be."""
