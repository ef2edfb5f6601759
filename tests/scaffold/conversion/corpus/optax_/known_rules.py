"""Rules of optax that are named, and not written out."""

import optax


def adamax_centered(learning_rate):
    return optax.chain(
        optax.scale_by_stddev(decay=0.95), optax.adamax(learning_rate, b1=0.8)
    )


def adan_decayed(learning_rate):
    return optax.adan(learning_rate, weight_decay=0.01)


def ams_then_yogi(learning_rate):
    return optax.chain(optax.scale_by_amsgrad(b2=0.9), optax.yogi(learning_rate))


def rectified(learning_rate, b2=0.9):
    return optax.chain(
        optax.zero_nans(), optax.radam(learning_rate, b2=b2, nesterov=True)
    )


def resilient():
    return optax.chain(
        optax.scale_by_param_block_rms(0.1),
        optax.rprop(0.01),
        optax.keep_params_nonnegative(),
    )


def ahead(learning_rate):
    return optax.chain(
        optax.scale_by_param_block_norm(0.01),
        optax.adadelta(1.0, weight_decay=0.1),
        optax.optimistic_gradient_descent(learning_rate, 0.5, 0.25),
    )


def believing(learning_rate):
    return optax.adabelief(learning_rate, nesterov=True)


def factored(learning_rate):
    return optax.adafactor(
        learning_rate, min_dim_size_to_factor=3, momentum=0.9, weight_decay_rate=0.1
    )


def layerwise(learning_rate):
    return optax.chain(
        optax.adaptive_grad_clip(0.1),
        optax.novograd(1.0, weight_decay=0.01),
        optax.lars(learning_rate, nesterov=True),
    )


def clipped_late(learning_rate):
    return optax.chain(
        optax.clip(0.5),
        optax.trace(0.9),
        optax.clip_by_global_norm(1.0),
        optax.scale_by_learning_rate(learning_rate),
    )


def polyak(eps=0.1):
    return optax.chain(optax.scale_by_trust_ratio(0.01), optax.polyak_sgd(0.5, eps=eps))
