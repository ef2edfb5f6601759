import jax

from mlax_scaffold.spec import Float, Function, function, logsumexp, sum


@function
def fenchel_young_loss(
    scores: Float["*batch classes"],
    targets: Float["*batch classes"],
    *,
    max_function: Function = logsumexp,  #: convex, of a vector of scores; what it returns is summed
) -> Float["*batch"]:
    """The loss that a convex function makes: max_function(scores) - scores targets.

    Its gradient is that of the function, a prediction, less the targets, so that it is zero
    where they are equal. Of `logsumexp` it is the cross-entropy of a softmax, without the
    entropy of the targets, of `jax.nn.softplus` that of sigmoids. Blondel et al., 2020,
    arXiv:1901.02324.
    """
    rows = scores.reshape(-1, scores.shape[-1])
    most = jax.vmap(lambda row: sum(max_function(row)))(rows)
    return most.reshape(scores.shape[:-1]) - sum(scores * targets, axis=-1)
