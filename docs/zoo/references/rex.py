"""Chen et al., 2021, arXiv:2107.04197, equation 2, with a line before it."""


def rex(step, max_lr, total_steps, warmup=0, min_lr=0.0, d=0.9):
    """step: an integer from 0."""
    if step < warmup:
        return max_lr * (step + 1) / warmup
    left = 1 - min((step - warmup) / (total_steps - warmup), 1)
    return min_lr + (max_lr - min_lr) * left / (1 - d + d * left)
