"""A residual MLP in plain JAX, as a pair of functions over a list of layers."""

import jax
import jax.numpy as jnp


def init_resmlp(key, in_dim: int, hidden: int, out_dim: int, depth: int = 3):
    def glorot(key, shape):
        scale = jnp.sqrt(6.0 / (shape[0] + shape[1]))
        return jax.random.uniform(key, shape, minval=-scale, maxval=scale)

    keys = jax.random.split(key, depth + 2)
    blocks = []
    for i in range(depth):
        blocks.append(
            {
                "w": glorot(keys[i], (hidden, hidden)),
                "b": jnp.zeros((hidden,)),
                "scale": jnp.ones((hidden,)),
            }
        )
    return {
        "embed": {"w": glorot(keys[-2], (in_dim, hidden)), "b": jnp.zeros((hidden,))},
        "blocks": blocks,
        "head": {"w": glorot(keys[-1], (hidden, out_dim)), "b": jnp.zeros((out_dim,))},
    }


def rms_norm(x, scale, eps=1e-6):
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + eps) * scale


def resmlp(params, x):
    h = x @ params["embed"]["w"] + params["embed"]["b"]
    for block in params["blocks"]:
        y = rms_norm(h, block["scale"])
        h = h + jax.nn.gelu(y @ block["w"] + block["b"])
    return h @ params["head"]["w"] + params["head"]["b"]
