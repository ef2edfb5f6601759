import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Float, Probability, function, log_softmax, sum
from mlax_scaffold.specs.loss.smooth_labels import smooth_labels


@function
def softmax_cross_entropy(
    logits: Float["*batch classes"],
    labels: Float["*batch classes"],
    where: Bool["*batch classes"] | None = None,
    *,
    label_smoothing: Probability = 0.0,  #: see `smooth_labels`
) -> Float["*batch"]:
    """Cross-entropy of distributions over classes: -sum(labels log_softmax(logits)).

    Classes that `where` leaves out have no probability, and their labels do not
    count. A label of zero counts nothing where a logit is -inf.
    """
    if label_smoothing > 0.0:
        labels = smooth_labels(labels, where, alpha=label_smoothing)
    if where is not None:
        logits = jnp.where(where, logits, -jnp.inf)
        labels = jnp.where(where, labels, 0.0)
    logs = log_softmax(logits)
    impossible = (labels == 0.0) & (logs == -jnp.inf)
    logs = jnp.where(impossible, 0.0, logs)
    return -sum(labels * logs, axis=-1)
