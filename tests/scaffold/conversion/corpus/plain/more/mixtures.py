import jax
import jax.numpy as jnp


def init_mdn(key, in_dim, hidden, n_components):
    k1, k2, k3, k4 = jax.random.split(key, 4)
    return {
        "trunk": {
            "w": jax.random.normal(k1, (in_dim, hidden)) / jnp.sqrt(in_dim),
            "b": jnp.zeros((hidden,)),
        },
        "pi": {
            "w": jax.random.normal(k2, (hidden, n_components)) * 0.01,
            "b": jnp.zeros((n_components,)),
        },
        "mu": {
            "w": jax.random.normal(k3, (hidden, n_components)) * 0.01,
            "b": jnp.zeros((n_components,)),
        },
        "sigma": {
            "w": jax.random.normal(k4, (hidden, n_components)) * 0.01,
            "b": jnp.zeros((n_components,)),
        },
    }


def dense(p, x):
    return x @ p["w"] + p["b"]


def apply_mdn(params, x):
    h = jnp.tanh(dense(params["trunk"], x))
    log_pi = jax.nn.log_softmax(dense(params["pi"], h))
    mu = dense(params["mu"], h)
    sigma = jax.nn.softplus(dense(params["sigma"], h)) + 1e-3
    return log_pi, mu, sigma
