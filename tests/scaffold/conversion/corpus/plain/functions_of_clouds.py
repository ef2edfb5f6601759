import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp


def sinkhorn_distance(x, y, epsilon=0.1, num_iters=50):
    """Entropy-regularized optimal transport between two point clouds with uniform weights."""
    n, m = x.shape[0], y.shape[0]
    cost = jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    log_a = -jnp.log(n) * jnp.ones(n)
    log_b = -jnp.log(m) * jnp.ones(m)

    def body(carry, _):
        f, g = carry
        f = epsilon * (log_a - logsumexp((g[None, :] - cost) / epsilon, axis=1))
        g = epsilon * (log_b - logsumexp((f[:, None] - cost) / epsilon, axis=0))
        return (f, g), None

    (f, g), _ = jax.lax.scan(body, (jnp.zeros(n), jnp.zeros(m)), None, length=num_iters)
    plan = jnp.exp((f[:, None] + g[None, :] - cost) / epsilon)
    return jnp.sum(plan * cost)
