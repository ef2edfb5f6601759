from mlax_scaffold.spec import Float, NonNegative, Positive, function, sum


@function(smooth_at={"probabilities": (0.1, 0.9), "targets": (0.1, 0.9)})
def dice_loss(
    probabilities: Float["batch *spatial classes"],
    targets: Float["batch *spatial classes"],
    *,
    alpha: NonNegative = 0.5,  #: weight of what is predicted and not there
    beta: NonNegative = 0.5,  #: weight of what is there and not predicted
    smooth: Positive = 1.0,  #: added to both sides of the quotient
) -> Float["batch classes"]:
    """How little the regions of each class overlap with those that are predicted.

    1 - (I + smooth) / (I + alpha (P - I) + beta (T - I) + smooth), with the sums over all
    positions of probabilities P, of targets T, and of their product I. Milletari et al.,
    2016, arXiv:1606.04797; with other weights it is the loss of Tversky (Salehi et al.,
    2017, arXiv:1706.05721).
    """
    axes = tuple(range(1, probabilities.ndim - 1))
    both = sum(probabilities * targets, axis=axes)
    extra = sum(probabilities * (1.0 - targets), axis=axes)
    missed = sum((1.0 - probabilities) * targets, axis=axes)
    wrong = alpha * extra + beta * missed
    return wrong / (both + wrong + smooth)
