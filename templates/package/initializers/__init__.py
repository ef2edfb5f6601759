"""Initializers of weights: `initializer(key, shape, dtype=None)`.

They stand where those of `jax.nn.initializers` may stand, and beyond them are frozen,
hashable and equal by value, so that they may be static arguments of a compiled function;
show how they were made; and work in every floating dtype. A dtype of None is the default
float dtype.
"""

from jax.nn.initializers import ones, zeros

from ._orthogonal import delta_orthogonal, identity, orthogonal
from ._plain import constant, normal, truncated_normal, uniform
from ._recurrent import per_gate, ring_phases, ring_radii
from ._scaled import (
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
    variance_scaling,
)

__all__ = [
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "per_gate",
    "ring_phases",
    "ring_radii",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "zeros",
]


def __dir__() -> list[str]:
    return __all__
