"""Vaswani et al., 2017, arXiv:1706.03762, equation 3."""


def noam(step, d_model, warmup_steps=4000, factor=1.0):
    """step: an integer from 0."""
    t = step + 1
    value = t / warmup_steps**1.5 if t < warmup_steps else 1 / t**0.5
    return factor * value / d_model**0.5
