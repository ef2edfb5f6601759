"""Optimizers of optax, as the chains that they are."""

from __future__ import annotations

ALIASES = """
def adam(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False
):
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
    learning_rate, decay=0.9, eps=1e-8, initial_scale=0.0, eps_in_sqrt=True, centered=False,
    momentum=None, nesterov=False, bias_correction=False,
):
    return optax.chain(
        optax.scale_by_stddev(decay, eps, initial_scale, eps_in_sqrt, bias_correction)
        if centered
        else optax.scale_by_rms(decay, eps, initial_scale, eps_in_sqrt, bias_correction),
        optax.scale_by_learning_rate(learning_rate),
        optax.trace(momentum, nesterov) if momentum is not None else optax.identity(),
    )

def adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7):
    return optax.chain(
        optax.scale_by_rss(initial_accumulator_value, eps),
        optax.scale_by_learning_rate(learning_rate),
    )

def adabelief(
    learning_rate, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, weight_decay=None,
    weight_decay_mask=None, *, nesterov=False,
):
    return optax.chain(
        optax.scale_by_belief(b1, b2, eps, eps_root, nesterov=nesterov),
        optax.add_decayed_weights(weight_decay, mask=weight_decay_mask)
        if weight_decay is not None
        else optax.identity(),
        optax.scale_by_learning_rate(learning_rate),
    )

def adadelta(learning_rate, rho=0.9, eps=1e-6, weight_decay=0.0, weight_decay_mask=None):
    return optax.chain(
        optax.add_decayed_weights(weight_decay, mask=weight_decay_mask),
        optax.scale_by_adadelta(rho, eps),
        optax.scale_by_learning_rate(learning_rate),
    )

def adamax(learning_rate, b1=0.9, b2=0.999, eps=1e-8):
    return optax.chain(
        optax.scale_by_adamax(b1, b2, eps),
        optax.scale_by_learning_rate(learning_rate),
    )

def adamaxw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=1e-4, mask=None):
    return optax.chain(
        optax.scale_by_adamax(b1, b2, eps),
        optax.add_decayed_weights(weight_decay, mask),
        optax.scale_by_learning_rate(learning_rate),
    )

def adan(
    learning_rate, b1=0.98, b2=0.92, b3=0.99, eps=1e-8, eps_root=1e-8, weight_decay=0.0, mask=None
):
    return optax.chain(
        optax.scale_by_adan(b1, b2, b3, eps, eps_root),
        optax.add_decayed_weights(weight_decay, mask),
        optax.scale_by_learning_rate(learning_rate),
    )

def amsgrad(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None,
    bias_correction_mu=True, bias_correction_nu=True,
):
    return optax.chain(
        optax.scale_by_amsgrad(
            b1, b2, eps, eps_root, None, bias_correction_mu, bias_correction_nu
        ),
        optax.scale_by_learning_rate(learning_rate),
    )

def yogi(learning_rate, b1=0.9, b2=0.999, eps=1e-3):
    return optax.chain(
        optax.scale_by_yogi(b1, b2, eps),
        optax.scale_by_learning_rate(learning_rate),
    )

def radam(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov=False
):
    return optax.chain(
        optax.scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov),
        optax.scale_by_learning_rate(learning_rate),
    )

def rprop(learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0):
    return optax.chain(
        optax.scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size),
        optax.scale(-1.0),
    )

def optimistic_gradient_descent(learning_rate, alpha=1.0, beta=1.0):
    return optax.chain(
        optax.scale_by_optimistic_gradient(alpha, beta),
        optax.scale_by_learning_rate(learning_rate),
    )

def sign_sgd(learning_rate):
    return optax.chain(optax.scale_by_sign(), optax.scale_by_learning_rate(learning_rate))

def signum(learning_rate, beta=0.9):
    return optax.chain(
        optax.ema(beta, debias=False),
        optax.scale_by_sign(),
        optax.scale_by_learning_rate(learning_rate),
    )

def novograd(learning_rate, b1=0.9, b2=0.25, eps=1e-6, eps_root=0.0, weight_decay=0.0):
    return optax.chain(
        optax.scale_by_novograd(b1, b2, eps, eps_root, weight_decay),
        optax.scale_by_learning_rate(learning_rate),
    )

def noisy_sgd(learning_rate, eta=0.01, gamma=0.55, key=None, *, seed=None):
    return optax.chain(
        optax.add_noise(eta, gamma), optax.scale_by_learning_rate(learning_rate)
    )

def polyak_sgd(max_learning_rate=1.0, scaling=1.0, f_min=0.0, eps=0.0, variant="sps"):
    return optax.chain(
        optax.scale_by_learning_rate(scaling),
        optax.scale_by_polyak(f_min, max_learning_rate, eps, variant),
    )

def lars(
    learning_rate, weight_decay=0.0, weight_decay_mask=True, trust_coefficient=0.001, eps=0.0,
    trust_ratio_mask=True, momentum=0.9, nesterov=False,
):
    return optax.chain(
        optax.add_decayed_weights(weight_decay, mask=weight_decay_mask),
        optax.masked(optax.scale_by_trust_ratio(0.0, trust_coefficient, eps), trust_ratio_mask),
        optax.scale_by_learning_rate(learning_rate),
        optax.trace(momentum, nesterov),
    )

def fromage(learning_rate, min_norm=1e-6):
    return optax.chain(
        optax.scale_by_trust_ratio(min_norm),
        optax.scale_by_learning_rate(learning_rate / (1 + learning_rate**2) ** 0.5),
        optax.add_decayed_weights(1 / (1 + learning_rate**2) ** 0.5 - 1),
    )

def optimistic_adam(
    learning_rate, optimism=None, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *,
    nesterov=True,
):
    return optax.chain(
        optax.scale_by_adam(b1, b2, eps, eps_root, nesterov=nesterov),
        optax.scale_by_optimistic_gradient(
            learning_rate, learning_rate if optimism is None else optimism
        ),
        optax.scale(-1.0),
    )

def adafactor(
    learning_rate=None, min_dim_size_to_factor=128, decay_rate=0.8, decay_offset=0,
    multiply_by_parameter_scale=True, clipping_threshold=1.0, momentum=None,
    dtype_momentum=None, weight_decay_rate=None, eps=1e-30, factored=True,
    weight_decay_mask=None,
):
    return optax.chain(
        optax.scale_by_factored_rms(
            factored, decay_rate, decay_offset, min_dim_size_to_factor, eps
        ),
        optax.clip_by_block_rms(clipping_threshold)
        if clipping_threshold is not None
        else optax.identity(),
        optax.scale_by_learning_rate(learning_rate, flip_sign=False)
        if learning_rate is not None
        else optax.identity(),
        optax.scale_by_param_block_rms() if multiply_by_parameter_scale else optax.identity(),
        optax.ema(momentum, debias=False) if momentum is not None else optax.identity(),
        optax.add_decayed_weights(weight_decay_rate, mask=weight_decay_mask)
        if weight_decay_rate is not None
        else optax.identity(),
        optax.scale(-1.0),
    )
"""
"""Each is read as a function of the person's own file would be."""
