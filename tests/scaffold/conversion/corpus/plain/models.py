import jax
import jax.numpy as jnp
import numpy as np


def init_linear(key, in_dim, out_dim, scale=0.02):
    w_key, b_key = jax.random.split(key)
    return {
        "w": scale * jax.random.normal(w_key, (in_dim, out_dim)),
        "b": jnp.zeros((out_dim,)),
    }


def apply_linear(params, x):
    """Y = x W + b."""
    return x @ params["w"] + params["b"]


def Dense(
    out_dim,
    W_init=jax.nn.initializers.glorot_normal(),
    b_init=jax.nn.initializers.normal(),
):
    """Layer constructor function for a dense (fully-connected) layer."""

    def init_fun(rng, input_shape):
        output_shape = input_shape[:-1] + (out_dim,)
        k1, k2 = jax.random.split(rng)
        W, b = W_init(k1, (input_shape[-1], out_dim)), b_init(k2, (out_dim,))
        return output_shape, (W, b)

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


class Perceptron:
    """Two layers."""

    def __init__(self, n_in, n_hidden, n_out, rng):
        self.W1 = rng.normal(size=(n_in, n_hidden)) * 0.1
        self.b1 = np.zeros(n_hidden)
        self.W2 = np.random.randn(n_hidden, n_out) / np.sqrt(n_hidden)
        self.b2 = np.zeros(n_out)

    def forward(self, x):
        h = np.tanh(x @ self.W1 + self.b1)
        return h @ self.W2 + self.b2


class Gate:
    """x * sigmoid(W x), in plain JAX."""

    def __init__(self, features, key=None):
        self.features = features
        self.kernel = jax.nn.initializers.lecun_normal()(key, (features, features))

    def __call__(self, x):
        return x * jax.nn.sigmoid(x @ self.kernel)


def attention_init(key, dim, heads):
    kq, kk, kv, ko = jax.random.split(key, 4)
    scale = dim**-0.5
    return dict(
        wq=jax.random.normal(kq, (dim, dim)) * scale,
        wk=jax.random.normal(kk, (dim, dim)) * scale,
        wv=jax.random.normal(kv, (dim, dim)) * scale,
        wo=jax.random.normal(ko, (dim, dim)) * scale,
        bias=jnp.zeros((heads,)),
    )


def attention_apply(params, x):
    """Attention over one sequence."""
    n, d = x.shape
    h = params["bias"].shape[0]
    q = (x @ params["wq"]).reshape(n, h, d // h)
    k = (x @ params["wk"]).reshape(n, h, d // h)
    v = (x @ params["wv"]).reshape(n, h, d // h)
    logits = (
        jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(d // h)
        + params["bias"][:, None, None]
    )
    out = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(logits, axis=-1), v)
    return out.reshape(n, d) @ params["wo"]
