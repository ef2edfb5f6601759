from mlax_scaffold.spec import Float, function, softmax, sum
from mlax_scaffold.specs.loss.softmax_cross_entropy import softmax_cross_entropy


@function
def poly_loss_cross_entropy(
    logits: Float["*batch classes"],
    labels: Float["*batch classes"],
    *,
    epsilon: float = 2.0,  #: what the first term of the series is changed by
) -> Float["*batch"]:
    """Cross-entropy whose first term as a series counts more: + epsilon (1 - p).

    p is the probability of the label. Leng et al., 2022, arXiv:2204.12511.
    """
    right = sum(labels * softmax(logits), axis=-1)
    return softmax_cross_entropy(logits, labels) + epsilon * (1.0 - right)
