"""Loshchilov & Hutter, 2017, arXiv:1608.03983, equation 5 with eta_min = 0 and a floor."""

import math


def cosine_restarts(step, peak, restarts, floor=0.0, decay=1.0):
    """step: an integer from 0; restarts: at least one step."""
    starts = [0, *restarts]
    cycle = max(i for i, start in enumerate(starts) if start <= step)
    ends = [*starts[1:], 2 * starts[-1] - starts[-2]]
    progress = min(1.0, (step - starts[cycle]) / (ends[cycle] - starts[cycle]))
    return max(floor, peak * decay**cycle * (1 + math.cos(math.pi * progress)) / 2)
