import math

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Activation,
    DType,
    Float,
    Layer,
    Positive,
    Precision,
    Size,
    gelu,
    lecun_normal,
    mean,
    require,
    softmax,
    spread,
    state,
    sum,
    trainable,
    zeros,
)


class MixtureOfExperts(Layer):
    """Feed-forward networks, of which a router chooses a few for each position.

    p = softmax(x R), and y is the sum of p_e FFN_e(x) over the top_k largest p_e, which
    are scaled to sum to one where top_k > 1. An expert takes capacity_factor * top_k *
    positions / experts positions, first choices first; what it has no place for adds 0.
    In training the state load_balancing_loss becomes experts * sum(f_e mean(p_e)), where
    f_e is the fraction of positions whose first choice is e: add it to the loss.

    Shazeer et al., 2017, arXiv:1701.06538; Fedus et al., 2021, arXiv:2101.03961.
    """

    features: Size  #: size of the last axis of the input and of the output
    hidden_features: Size  #: size between the two maps of an expert
    experts: Size  #: number of experts
    top_k: Size = 2  #: number of experts that a position takes
    capacity_factor: Positive | None = 1.25  #: room of the experts; None: for all
    activation: Activation = gelu  #: between the two maps of an expert
    accum_dtype: DType | None = None  #: of the router's softmax; None: that of x
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        require(self.top_k <= self.experts, "top_k must be at most experts")
        narrow, wide = (
            (self.experts, self.features),
            (self.experts, self.hidden_features),
        )
        self.router = trainable(lecun_normal(), (self.features, self.experts))
        self.widen = trainable(lecun_normal(batch_axis=0), (*narrow, wide[1]))
        self.widen_bias = trainable(zeros, wide)
        self.narrow = trainable(lecun_normal(batch_axis=0), (*wide, narrow[1]))
        self.narrow_bias = trainable(zeros, narrow)
        self.load_balancing_loss = state(zeros, ())

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        tokens = x.reshape(-1, self.features)
        count = tokens.shape[0]
        logits = tokens.dot(self.router, precision=self.precision)
        p = softmax(logits, axis=-1, accum_dtype=self.accum_dtype)
        _, chosen = lax.top_k(lax.stop_gradient(p), self.top_k)
        places = (jnp.arange(count)[:, None], chosen)
        gates = p.at[places].get(unique_indices=True)
        if self.top_k > 1:
            total = sum(gates, axis=-1, keepdims=True)
            gates = gates / spread(total, gates.shape)
        if self.training:
            first = jax.nn.one_hot(chosen[:, 0], self.experts, dtype=x.dtype)
            balance = mean(first, axis=0) * mean(p, axis=0)
            self.load_balancing_loss = self.experts * sum(balance)

        # Places are given out to all first choices, then to all second ones.
        chosen = chosen.T.reshape(-1)
        taken = jax.nn.one_hot(chosen, self.experts, dtype=jnp.int32)
        places = jnp.cumsum(taken, axis=0) - 1
        place = jnp.take_along_axis(places, chosen[:, None], axis=1)[:, 0]
        room = count
        if (
            self.capacity_factor is not None
            and self.capacity_factor * self.top_k < self.experts
        ):
            # In whole numbers, and small ones: the count may be a symbol.
            share = round(1e6 * self.capacity_factor) * self.top_k
            whole = 1000000 * self.experts
            common = math.gcd(share, whole)
            room = -(-count * (share // common) // (whole // common))

        inputs = jnp.zeros((self.experts, room, self.features), x.dtype)
        given = jnp.concatenate([tokens] * self.top_k)
        inputs = inputs.at[chosen, place].set(given, mode="drop", unique_indices=True)
        h = jnp.einsum("erf,efh->erh", inputs, self.widen, precision=self.precision)
        h = self.activation(h + spread(self.widen_bias[:, None], h.shape))
        y = jnp.einsum("erh,ehf->erf", h, self.narrow, precision=self.precision)
        y = y + spread(self.narrow_bias[:, None], y.shape)
        y = y.at[chosen, place].get(mode="fill", fill_value=0, unique_indices=True)
        y = y.reshape(self.top_k, count, self.features) * spread(
            gates.T[..., None], (*gates.T.shape, self.features)
        )
        return sum(y, axis=0).reshape(x.shape)
