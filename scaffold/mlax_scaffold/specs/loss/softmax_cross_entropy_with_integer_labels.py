import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Probability, function, log_softmax, mean, sum


@function
def softmax_cross_entropy_with_integer_labels(
    logits: Float["*batch classes"],
    labels: Int["*batch"],
    *,
    label_smoothing: Probability = 0.0,  #: share of each label that is spread evenly
    ignored_label: int | None = None,  #: label of what does not count: its loss is 0
) -> Float["*batch"]:
    """Cross-entropy of classes by number: -log_softmax(logits)[labels].

    NaN where a label is not from 0 to classes - 1, nor the one that is ignored.
    """
    # A number of classes may be none of int8.
    labels = labels.astype(int)
    chosen = jnp.arange(logits.shape[-1]) == labels[..., None]
    logs = log_softmax(logits)
    loss = -sum(jnp.where(chosen, logs, 0.0), axis=-1)
    if label_smoothing > 0.0:
        loss = (1.0 - label_smoothing) * loss - label_smoothing * mean(logs, axis=-1)
    known = jnp.any(chosen, axis=-1)
    loss = jnp.where(known, loss, jnp.nan)
    if ignored_label is None:
        return loss
    return jnp.where(labels == ignored_label, 0.0, loss)
