"""The initializers that specs name: those of jax.nn.initializers."""

from jax.nn.initializers import (
    constant,
    glorot_uniform,
    he_normal,
    lecun_normal,
    normal,
    ones,
    orthogonal,
    truncated_normal,
    uniform,
    variance_scaling,
    zeros,
)

__all__ = [
    "constant",
    "glorot_uniform",
    "he_normal",
    "lecun_normal",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "zeros",
]
