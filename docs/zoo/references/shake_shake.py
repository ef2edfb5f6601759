"""Gastaldi, 2017, arXiv:1705.07485, equation 3, for draws that are given."""


def shake_shake(x, left, right, alpha=0.5):
    """left, right: values of the branches at x; alpha: of each example, with as many axes as x."""
    return x + alpha * left + (1 - alpha) * right


def gradients(cotangent, beta):
    """What arrives at the two branches in the backward pass."""
    return beta * cotangent, (1 - beta) * cotangent
