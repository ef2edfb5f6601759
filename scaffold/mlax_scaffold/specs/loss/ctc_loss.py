import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    DType,
    Float,
    Int,
    function,
    log_softmax,
    logsumexp,
    require,
    scan,
    sum,
    take_rows,
)


@function
def ctc_loss(
    logits: Float["batch time classes"],
    labels: Int["batch symbols"],
    logit_lengths: Int["batch"] | None = None,
    label_lengths: Int["batch"] | None = None,
    *,
    blank: int = 0,  #: class that stands for no symbol
    accum_dtype: DType | None = None,  #: dtype of the computation; None: that of logits
) -> Float["batch"]:
    """Connectionist temporal classification: -log of the probability of the symbols.

    Summed over all alignments: sequences of `time` classes that are the symbols once
    classes in a row are joined, and blanks taken out. Positions beyond the lengths do not
    count; without lengths all do. It is infinite where symbols do not fit into the time,
    with a gradient of zero. Graves et al., 2006, doi:10.1145/1143844.1143891.
    """
    require(0 <= blank < logits.shape[-1], "blank must be one of the classes")
    wide = logits if accum_dtype is None else logits.astype(accum_dtype)
    # A class may be none of the integers that labels have, nor twice a length.
    labels = labels.astype(int)
    batch, symbols = labels.shape
    # A blank before, between and after the symbols.
    path = jnp.pad(labels[..., None], ((0, 0), (0, 0), (1, 0)), constant_values=blank)
    path = jnp.reshape(path, (batch, 2 * symbols))
    path = jnp.pad(path, ((0, 0), (0, 1)), constant_values=blank)
    before = jnp.pad(path[:, :-2], ((0, 0), (2, 0)), constant_values=blank)[
        :, : path.shape[1]
    ]
    skips = (path != blank) & (path != before)
    # By place in the path, and time.
    logs = jax.vmap(take_rows)(jnp.moveaxis(log_softmax(wide), 1, 2), path)
    if logit_lengths is None:
        logit_lengths = jnp.full((batch,), logits.shape[1])
    if label_lengths is None:
        label_lengths = jnp.full((batch,), symbols)
    logit_lengths, label_lengths = logit_lengths.astype(int), label_lengths.astype(int)

    def shifted(alphas, count):
        moved = jnp.pad(alphas, ((0, 0), (count, 0)), constant_values=-jnp.inf)
        return moved[:, : alphas.shape[1]]

    def step(alphas, given):
        time, log = given
        jumped = jnp.where(skips, shifted(alphas, 2), -jnp.inf)
        ways = jnp.stack([alphas, shifted(alphas, 1), jumped])
        new = logsumexp(ways, axis=0) + log
        return jnp.where(time < logit_lengths[:, None], new, alphas), None

    # Before the first position it is as if a blank had been left.
    places = jnp.arange(path.shape[1])
    alphas = jnp.where(places == 0, sum(jnp.zeros_like(logs), axis=-1), -jnp.inf)
    times = jnp.arange(logits.shape[1])
    alphas, _ = scan(step, alphas, (times, jnp.moveaxis(logs, 2, 0)))
    ends = (places - 2 * label_lengths[:, None] <= 0) & (
        places - 2 * label_lengths[:, None] >= -1
    )
    return -logsumexp(jnp.where(ends, alphas, -jnp.inf), axis=-1).astype(logits.dtype)
