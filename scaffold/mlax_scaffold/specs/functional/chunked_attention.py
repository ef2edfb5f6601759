import functools
import operator

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Count,
    DType,
    Float,
    Key,
    Positive,
    Precision,
    Probability,
    Size,
    apply_attention_mask,
    apply_attention_weights,
    attention_window,
    cap_softly,
    dot_product_attention_logits,
    dropout,
    function,
    map_chunks,
    range_scale,
    spread,
    sum,
)


@function
def chunked_attention(
    query: Float["*batch queries heads features"],
    key: Float["*batch keys kv_heads features"],
    value: Float["*batch keys kv_heads value_features"],
    mask: Bool["# *batch heads queries keys"] | None = None,
    bias: Float["# *batch heads queries keys"] | None = None,
    dropout_key: Key | None = None,
    *,
    chunk_size: Size,  #: queries, and keys, that are taken together
    causal: bool = False,  #: whether position i attends to positions up to i only
    keys_before: Count | None = None,  #: how far back a query reaches; None: to all
    keys_after: Count | None = None,  #: how far it reaches ahead; None: to all
    soft_cap: Positive | None = None,  #: see `cap_softly`; None: logits are not capped
    scale: float | None = None,  #: factor of the products; None: 1 / sqrt(features)
    dropout_rate: Probability = 0.0,  #: of the weights, where there is a dropout_key
    broadcast_dropout: bool = False,  #: whether batch and heads share what is dropped
    accum_dtype: DType | None = None,  #: dtype of the softmax; None: that of the query
    precision: Precision | None = None,  #: of the products, see jax.lax.Precision
) -> Float["*batch queries heads value_features"]:
    """`dot_product_attention` in memory that is linear in the length, gradients too.

    Rabe & Staats, 2021, arXiv:2112.05682: softmax and sum run over chunks of the keys,
    for one chunk of the queries after another, and are added up. Gradients compute the
    chunks again. Where it is causal or has a window, chunks of keys that no query of a
    chunk may attend to are not computed.

    It equals `dot_product_attention`, but that another part of the weights is dropped.
    """
    size, wide = chunk_size, accum_dtype or query.dtype
    *batch, queries, heads, _ = query.shape
    keys, features = key.shape[-3], value.shape[-1]
    rows, columns = -(-queries // size), -(-keys // size)
    more = (columns - 1).bit_length() if isinstance(columns, int) else 8
    share = 2.0**-more

    def split(x, count):
        """Chunks of the positions, along a new first axis; the last is filled up."""
        shape = x.shape
        widths = [(0, 0)] * x.ndim
        widths[-3] = (0, count * size - shape[-3])
        x = jnp.pad(x, widths).reshape(*shape[:-3], count, size, *shape[-2:])
        return jnp.moveaxis(x, -4, 0)

    def fill(x):
        """A mask or a bias, filled up to whole chunks where it does not broadcast."""
        shape = jnp.broadcast_shapes(x.shape, (1, 1))
        target = (rows * size, columns * size)
        widths = [
            (0, n - m) if m > 1 else (0, 0)
            for m, n in zip(shape[-2:], target, strict=True)
        ]
        return jnp.pad(x.reshape(shape), [(0, 0)] * (len(shape) - 2) + widths)

    def cut(x, row, column):
        """The part of a mask or a bias for a chunk of queries and a chunk of keys."""
        for axis, start in ((x.ndim - 2, row), (x.ndim - 1, column)):
            if x.shape[axis] > 1:
                x = lax.dynamic_slice_in_dim(x, start * size, size, axis)
        return x

    def skip(chunk):
        """In the place of a chunk that nothing attends to."""
        q = chunk[0][..., :1].astype(wide)
        total = jnp.swapaxes(jnp.zeros_like(q), -3, -2)
        y = jnp.zeros_like(jnp.broadcast_to(q, (*q.shape[:-1], features)))
        return jnp.full_like(total, -jnp.inf), total, y

    mask = None if mask is None else fill(mask)
    bias = None if bias is None else fill(bias)

    def attend(chunk):
        q, row = chunk

        def attend_to(chunk):
            q, k, v, column = chunk
            logits = dot_product_attention_logits(
                q, k, scale=scale, precision=precision
            )
            if soft_cap is not None:
                logits = cap_softly(logits, cap=soft_cap)
            if bias is not None:
                logits = logits + spread(cut(bias, row, column), logits.shape)
            position = column * size + jnp.arange(size)
            allowed = position < keys
            if causal:
                allowed &= position <= row * size + jnp.arange(size)[:, None]
            if keys_before is not None or keys_after is not None:
                allowed = allowed & attention_window(
                    row * size + jnp.arange(size),
                    position,
                    keys_before=keys_before,
                    keys_after=keys_after,
                )
            if mask is not None:
                allowed = allowed & cut(mask, row, column)
            logits = apply_attention_mask(logits, allowed).astype(wide)
            # What is subtracted cancels in the quotient, and has no gradient.
            top = jnp.max(lax.stop_gradient(logits), axis=-1, keepdims=True)
            weights = jnp.exp(logits - jnp.where(top == -jnp.inf, 0.0, top))
            total = sum(weights, axis=-1, keepdims=True)
            if dropout_key is not None and dropout_rate > 0.0:
                weights = dropout(
                    weights,
                    jax.random.fold_in(dropout_key, row * columns + column),
                    rate=dropout_rate,
                    broadcast_axis=tuple(range(len(batch) + 1))
                    if broadcast_dropout
                    else (),
                )
            y = apply_attention_weights(weights.astype(v.dtype), v, precision=precision)
            return top, total, y.astype(wide)

        def step(chunk):
            *_, column = chunk
            # Chunks that are wholly out of reach of the queries are left out.
            reached = []
            if causal:
                reached.append(column <= row)
            elif keys_after is not None:
                reached.append(column * size <= row * size + size - 1 + keys_after)
            if keys_before is not None:
                reached.append(column * size + size - 1 >= row * size - keys_before)
            if not reached:
                return attend_to(chunk)
            within = functools.reduce(operator.and_, reached)
            return lax.cond(within, attend_to, skip, chunk)

        # The gradient of the queries adds up what comes from each chunk.
        shape = (columns, *q.shape)
        q = jnp.broadcast_to(spread(q[None], shape), shape)
        chunks = (q, split(key, columns), split(value, columns), jnp.arange(columns))
        tops, totals, parts = map_chunks(jax.checkpoint(step), chunks)
        top = jnp.max(tops, axis=0)
        decay = jnp.exp(tops - jnp.where(top == -jnp.inf, 0.0, top))
        # All chunks in one sum, so that its error does not grow with their number.
        total = sum(totals * decay, axis=0, factor=share)
        total = jnp.where(total == 0.0, 1.0, total)
        # In the gradient the total is squared: in float16 it must be near one.
        unit = range_scale(total, axis=())
        total, decay = (jnp.swapaxes(x, -3, -2) for x in (total / unit, decay / unit))
        y = sum(parts * decay, axis=0, factor=share)
        return (y / spread(total, y.shape)).astype(query.dtype)

    y = map_chunks(jax.checkpoint(attend), (split(query, rows), jnp.arange(rows)))
    y = jnp.moveaxis(y, 0, -4)
    y = y.reshape(*batch, rows * size, heads, features)
    return y[..., :queries, :, :]
