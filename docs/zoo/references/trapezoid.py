"""Hägele et al., 2024, arXiv:2405.18392, equations 1 and 2."""

import math


def trapezoid(step, peak, total_steps, warmup_steps=0, cooldown=0.2):
    """step: an integer from 0."""
    start = total_steps - round(cooldown * total_steps)
    if step < warmup_steps:
        return peak * step / warmup_steps
    if step <= start:
        return peak
    return peak * (1 - math.sqrt(min(1.0, (step - start) / (total_steps - start))))
