from mlax_scaffold.spec import Float, Positive, function
from mlax_scaffold.specs.loss.cosine_similarity import cosine_similarity


@function
def cosine_distance(
    predictions: Float["*batch features"],
    targets: Float["*batch features"],
    *,
    epsilon: Positive = 1e-12,  #: the least norm to divide by
) -> Float["*batch"]:
    """One minus the cosine of the angle between vectors, see `cosine_similarity`."""
    return 1.0 - cosine_similarity(predictions, targets, epsilon=epsilon)
