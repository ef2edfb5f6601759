"""Activations: names that all libraries share."""

from __future__ import annotations

from mlax_scaffold.conversion.rows.rows import Row

PLAIN = {
    "relu": "jax.nn.relu(x)",
    "relu6": "jax.nn.relu6(x)",
    "silu": "jax.nn.silu(x)",
    "swish": "jax.nn.silu(x)",
    "selu": "jax.nn.selu(x)",
    "sigmoid": "jax.nn.sigmoid(x)",
    "tanh": "jnp.tanh(x)",
    "mish": "jax.nn.mish(x)",
    "soft_sign": "jax.nn.soft_sign(x)",
    "softsign": "jax.nn.soft_sign(x)",
    "log_sigmoid": "jax.nn.log_sigmoid(x)",
    "logsigmoid": "jax.nn.log_sigmoid(x)",
    "hard_tanh": "jax.nn.hard_tanh(x)",
    "hard_sigmoid": "jax.nn.hard_sigmoid(x)",
    "hardsigmoid": "jax.nn.hard_sigmoid(x)",
    "hard_silu": "jax.nn.hard_silu(x)",
    "hard_swish": "jax.nn.hard_silu(x)",
    "hardswish": "jax.nn.hard_silu(x)",
    "squareplus": "jax.nn.squareplus(x)",
    "softplus": "jax.nn.softplus(x)",
    "identity": "x",
}
"""Activations of one argument."""

CLASSES = {
    "ReLU": "relu",
    "ReLU6": "relu6",
    "SiLU": "silu",
    "SELU": "selu",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Mish": "mish",
    "Softsign": "softsign",
    "LogSigmoid": "log_sigmoid",
    "Hardsigmoid": "hardsigmoid",
    "Hardswish": "hardswish",
    "Softplus": "softplus",
}
"""Modules of PyTorch for activations of one argument."""

VALUES = {
    **{n: text.removesuffix("(x)") for n, text in PLAIN.items() if text != "x"},
    "elu": "jax.nn.elu",
    "celu": "jax.nn.celu",
    "gelu": "jax.nn.gelu",
    "glu": "jax.nn.glu",
    "leaky_relu": "jax.nn.leaky_relu",
    "sparse_plus": "jax.nn.sparse_plus",
    "softmax": "word.softmax",
    "log_softmax": "word.log_softmax",
}
"""Activations as values, such as defaults of fields."""


def plain(*prefixes: str, **signatures: str) -> dict[str, Row]:
    """Rows of the activations of one argument, under each prefix."""
    signature = signatures.get("signature", "(x)")
    return {
        f"{prefix}.{name}": Row(signature, text)
        for prefix in prefixes
        for name, text in PLAIN.items()
    }
