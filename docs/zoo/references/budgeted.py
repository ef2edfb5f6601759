"""Li, Yumer & Ramanan, 2020, arXiv:1905.04753; Chen, Wolfe & Kyrillidis, 2022, arXiv:2107.04197."""


def budgeted(step, init, budget, profile="rex"):
    """step: an integer from 0."""
    p = min(step / budget, 1.0)
    return init * ((1 - p) if profile == "linear" else (1 - p) / (1 / 2 + (1 - p) / 2))
