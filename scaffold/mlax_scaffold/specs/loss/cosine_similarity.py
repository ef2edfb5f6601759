from mlax_scaffold.spec import Float, Positive, function, l2_normalize, sum


@function
def cosine_similarity(
    predictions: Float["*batch features"],
    targets: Float["*batch features"],
    *,
    epsilon: Positive = 1e-12,  #: the least norm to divide by
) -> Float["*batch"]:
    """Cosine of the angle between vectors: their product, divided by both norms.

    That of a vector of zeros is 0, with a finite gradient.
    """
    a = l2_normalize(predictions, epsilon=epsilon)
    b = l2_normalize(targets, epsilon=epsilon)
    return sum(a * b, axis=-1)
