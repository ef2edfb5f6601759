import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, Probability, function, sum


@function
def smooth_labels(
    labels: Float["*batch classes"],
    where: Bool["*batch classes"] | None = None,
    *,
    alpha: Probability,  #: share that is spread over all classes
) -> Float["*batch classes"]:
    """Labels of which a share is spread evenly: (1 - alpha) labels + alpha / classes.

    Among the classes of `where`, if it is given; others get 0. Muller et al., 2019,
    arXiv:1906.02629.
    """
    if where is None:
        return (1.0 - alpha) * labels + alpha / labels.shape[-1]
    counted = where.astype(labels.dtype)
    classes = jnp.maximum(sum(counted, axis=-1, keepdims=True), 1.0)
    return (1.0 - alpha) * labels * counted + alpha * counted / classes
