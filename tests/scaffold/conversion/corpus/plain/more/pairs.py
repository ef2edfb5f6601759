import jax
import jax.numpy as jnp


def init_gated_unit(key, dim, hidden):
    """Gated unit: parameters."""
    k1, k2, k3 = jax.random.split(key, 3)
    return {
        "w_gate": jax.random.normal(k1, (dim, hidden)) / jnp.sqrt(dim),
        "w_value": jax.random.normal(k2, (dim, hidden)) / jnp.sqrt(dim),
        "w_out": jax.random.normal(k3, (hidden, dim)) / jnp.sqrt(hidden),
        "b_out": jnp.zeros((dim,)),
    }


def apply_gated_unit(params, x):
    gate = jax.nn.sigmoid(x @ params["w_gate"])
    value = jnp.tanh(x @ params["w_value"])
    return x + (gate * value) @ params["w_out"] + params["b_out"]
