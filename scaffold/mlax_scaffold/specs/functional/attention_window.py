import jax.numpy as jnp

from mlax_scaffold.spec import Bool, Count, Int, function


@function
def attention_window(
    queries: Int["*batch queries"],
    keys: Int["*batch keys"],
    *,
    keys_before: Count | None = None,  #: how far back a query reaches; None: to all
    keys_after: Count | None = None,  #: how far it reaches ahead; None: to all
) -> Bool["*batch queries keys"]:
    """True where the position of a key is near enough to that of a query.

    From q - keys_before to q + keys_after, both included: sliding-window attention
    (Beltagy et al., 2020, arXiv:2004.05150), with keys_after=0 the causal one.
    """
    # Unsigned integers have no distance that is below zero.
    queries, keys = queries.astype(int), keys.astype(int)
    distance = keys[..., None, :] - queries[..., :, None]
    near = jnp.full(distance.shape, True)
    if keys_before is not None:
        near = near & (distance >= -keys_before)
    if keys_after is not None:
        near = near & (distance <= keys_after)
    return near
