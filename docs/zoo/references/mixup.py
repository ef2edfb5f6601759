"""Zhang et al., 2018, arXiv:1710.09412, for a coefficient and an order that are given."""


def mixup(images, labels, coefficient, order):
    """order: a permutation of the examples."""
    return tuple(
        coefficient * a + (1 - coefficient) * a[order] for a in (images, labels)
    )
