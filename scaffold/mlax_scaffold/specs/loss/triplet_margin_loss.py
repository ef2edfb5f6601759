import jax
from jax import lax

from mlax_scaffold.spec import Float, NonNegative, Positive, function, sum


@function
def triplet_margin_loss(
    anchors: Float["*batch features"],
    positives: Float["*batch features"],
    negatives: Float["*batch features"],
    *,
    margin: NonNegative = 1.0,  #: by how much negatives are to be farther away
    epsilon: Positive = 1e-6,  #: added to squared distances
) -> Float["*batch"]:
    """What anchors are closer to negatives than to positives, and a margin.

    max(0, d(anchors, positives) - d(anchors, negatives) + margin), with d(a, b) =
    sqrt(sum((a - b)^2) + epsilon). Schroff et al., 2015, arXiv:1503.03832.
    """
    near = lax.sqrt(sum(lax.square(anchors - positives), axis=-1) + epsilon)
    far = lax.sqrt(sum(lax.square(anchors - negatives), axis=-1) + epsilon)
    return jax.nn.relu(near - far + margin)
