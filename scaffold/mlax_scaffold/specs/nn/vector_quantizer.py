from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    AxisName,
    Decay,
    Float,
    Layer,
    NonNegative,
    Positive,
    Size,
    bias_correction,
    ema,
    mean,
    segment_sum,
    state,
    sum,
    take_rows,
    trainable,
    variance_scaling,
    zeros,
)


class Quantized(NamedTuple):
    """Vectors of a table in the place of others."""

    y: jax.Array
    """The vectors of the table, with the gradient of the input."""
    indices: jax.Array
    """Their places in the table, int32."""
    loss: jax.Array
    """What training adds to its loss."""
    perplexity: jax.Array
    """Of how many vectors the batch makes use: exp of the entropy of the indices."""


class VectorQuantizer(Layer, surrogate_gradient=True):
    """The nearest vector of a table in the place of each vector.

    loss = mean((y - stop(x))^2) + commitment * mean((y - x)^2), the second without a
    gradient of the table, which the first one has alone: that of y goes to x as it is.

    van den Oord et al., 2017, arXiv:1711.00937. As haiku.nets.VectorQuantizer, whose
    table is (features, entries).
    """

    entries: Size  #: number of vectors of the table
    features: Size  #: size of a vector
    commitment: NonNegative = 0.25  #: weight of the loss that draws x to the table
    axis_name: AxisName | None = None  #: mapped axes of devices, for the perplexity

    def setup(self):
        self.embedding = trainable(
            variance_scaling(1.0, "fan_in", "uniform", in_axis=1, out_axis=0),
            (self.entries, self.features),
        )

    def forward(self, x: Float["*batch features"]) -> Quantized:
        table = lax.stop_gradient(self.embedding)
        fixed = lax.stop_gradient(x)
        indices = nearest(fixed, table)
        y = take_rows(self.embedding, indices)
        near = lax.stop_gradient(y)
        loss = mean(lax.square(y - fixed))
        loss = loss + self.commitment * mean(lax.square(near - x))
        perplexity = used(indices, table, self.axis_name)
        return Quantized(near + (x - fixed), indices, loss, perplexity)


class VectorQuantizerEMA(Layer, surrogate_gradient=True):
    """The nearest vector of a table in the place of each, a table of moving averages.

    In training, with c_i vectors of sum s_i that are nearest to e_i, and n = sum(ema(c)):
    e_i <- ema(s_i) / (n (ema(c_i) + epsilon) / (n + entries epsilon)), which the next call
    sees. loss = commitment * mean((y - x)^2); the gradient of y goes to x as it is.

    van den Oord et al., 2017, arXiv:1711.00937, appendix A.1. As
    haiku.nets.VectorQuantizerEMA: averages begin with zero, which is made up for. They are
    computed and kept in at least float32. An empty batch leaves them alone.
    """

    entries: Size  #: number of vectors of the table
    features: Size  #: size of a vector
    commitment: NonNegative = 0.25  #: weight of the loss
    decay: Decay = 0.99  #: decay of the averages
    epsilon: Positive = 1e-5  #: added to the average counts
    axis_name: AxisName | None = None  #: mapped axes of devices that have one table

    def setup(self):
        shape = (self.entries, self.features)
        self.embedding = state(
            variance_scaling(1.0, "fan_in", "uniform", in_axis=1, out_axis=0),
            shape,
            at_least=jnp.float32,
        )
        self.counts = state(zeros, (self.entries,), at_least=jnp.float32)
        self.sums = state(zeros, shape, at_least=jnp.float32)
        self.steps = state(zeros, (), jnp.int32)

    def forward(self, x: Float["*batch features"]) -> Quantized:
        table = self.embedding
        fixed = lax.stop_gradient(x)
        indices = nearest(fixed, table)
        y = take_rows(table, indices)
        loss = self.commitment * mean(lax.square(y - x))
        perplexity = used(indices, table, self.axis_name)
        if self.training and x.size > 0:
            dtype, places = self.stored.sums.dtype, indices.reshape(-1)
            vectors = fixed.reshape(-1, self.features).astype(dtype)
            counts = segment_sum(jnp.ones(places.shape, dtype), places, self.entries)
            sums = segment_sum(vectors, places, self.entries)
            if self.axis_name is not None:
                counts, sums = lax.psum((counts, sums), self.axis_name)
            counts = ema(self.stored.counts, counts, decay=self.decay)
            sums = ema(self.stored.sums, sums, decay=self.decay)
            self.counts, self.sums = counts, sums
            self.steps = lax.min(self.steps, jnp.int32(2**31 - 2)) + 1
            begun = bias_correction(self.steps.astype(dtype), decay=self.decay)
            counts, sums = counts / begun, sums / begun
            total = sum(counts)
            share = (counts + self.epsilon) / (total + self.entries * self.epsilon)
            self.embedding = sums / (share * total)[:, None]
        return Quantized(y + (x - fixed), indices, loss, perplexity)


def nearest(x, table):
    """The place in the table of the vector with the least distance to each."""
    # |x - e|^2 less |x|^2, which all distances have in common.
    return jnp.argmin(sum(lax.square(table), axis=-1) - 2 * x.dot(table.T), axis=-1)


def used(indices, table, axis_name):
    """The perplexity of the indices."""
    chosen = indices[..., None] == jnp.arange(table.shape[0])
    share = mean(chosen.astype(table.dtype), axis=tuple(range(indices.ndim)))
    share = share if axis_name is None else lax.pmean(share, axis_name)
    return jnp.exp(-sum(share * jnp.log(jnp.where(share > 0, share, 1))))
