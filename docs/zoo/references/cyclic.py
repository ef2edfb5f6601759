"""Smith, 2017, arXiv:1506.01186, section 3.2."""


def cyclic(step, base, top, step_size, mode="triangular", gamma=1.0):
    """step: an integer from 0."""
    cycle, place = divmod(step, 2 * step_size)
    height = place / step_size if place <= step_size else 2 - place / step_size
    scale = {"triangular": 1.0, "triangular2": 0.5**cycle, "exp_range": gamma**step}[
        mode
    ]
    return base + (top - base) * height * scale
