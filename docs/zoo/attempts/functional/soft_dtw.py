import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Positive, function

BIG = 1e8


def softmin(a, b, c, gamma):
    return -gamma * jax.nn.logsumexp(-jnp.stack([a, b, c]) / gamma, axis=0)


@function
def soft_dtw(x: Float["n d"], y: Float["m d"], *, gamma: Positive = 1.0) -> Float[""]:
    """Soft dynamic time warping between two series (Cuturi & Blondel, 2017, arXiv:1703.01541)."""
    cost = jnp.sum((x[:, None] - y[None, :]) ** 2, axis=-1)

    def row(prev, cost_row):
        # prev: R[i-1, 0..m]
        def cell(left, inputs):
            c, up, diag = inputs
            r = c + softmin(left, up, diag, gamma)
            return r, r

        _, r = jax.lax.scan(cell, jnp.array(BIG), (cost_row, prev[1:], prev[:-1]))
        return jnp.concatenate([jnp.array([BIG]), r]), None

    first = jnp.full(y.shape[0] + 1, BIG).at[0].set(0.0)
    last, _ = jax.lax.scan(row, first, cost)
    return last[-1]
