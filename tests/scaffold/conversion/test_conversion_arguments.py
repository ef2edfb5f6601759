"""No argument is dropped in silence: it is carried over, listed with its line, or without effect."""

from __future__ import annotations

import pytest

from mlax_scaffold.conversion import Converted, convert

TORCH = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        {setup}

    def forward(self, x):
        {body}
"""
LINEN = """\
import flax.linen as nn
import jax.numpy as jnp


class Thing(nn.Module):
    {fields}

    @nn.compact
    def __call__(self, x, train: bool = False):
        {body}
"""
NNX = """\
import jax.numpy as jnp
from flax import nnx


class Thing(nnx.Module):
    def __init__(self, dim, *, rngs: nnx.Rngs):
        {setup}

    def __call__(self, x):
        {body}
"""
EQUINOX = """\
import equinox as eqx
import jax.numpy as jnp


class Thing(eqx.Module):
    inner: eqx.Module

    def __init__(self, dim, *, key):
        {setup}

    def __call__(self, x, *, key=None, inference=False):
        {body}
"""
HAIKU = """\
import haiku as hk
import jax.numpy as jnp


class Thing(hk.Module):
    def __call__(self, x, is_training):
        {body}
"""


def of(head: str, **parts: str) -> Converted:
    parts = {k: v.replace("\n", "\n        ") for k, v in parts.items()}
    filled = {"setup": "pass", "body": "return self.inner(x)", "fields": "dim: int = 4"}
    return convert("thing.py", head.format(**{**filled, **parts}), "Thing", "Thing")


LISTED = {
    "a softplus that is a line early": (
        TORCH,
        {"setup": "self.inner = nn.Softplus(threshold=2.0)"},
        "threshold=2.0",
    ),
    "an image of a size that is told": (
        TORCH,
        {"setup": "self.inner = nn.Upsample(size=(8, 8))"},
        "size=(8, 8)",
    ),
    "a result that is written into an array": (
        TORCH,
        {"body": "y = x * 2\ntorch.add(x, x, out=y)\nreturn y"},
        "out=y",
    ),
    "dropout by a flag of one's own": (
        TORCH,
        {"body": "return F.dropout(x, 0.5, training=self.drops)"},
        "training=self.drops",
    ),
    "a correction of a variance": (
        TORCH,
        {"body": "return x - torch.var(x, dim=1, keepdim=True, correction=2)"},
        "a correction of `2`",
    ),
    "dropout in the wrong mode": (
        LINEN,
        {"body": "return nn.Dropout(0.5)(x, deterministic=train)"},
        "deterministic=self.training",
    ),
    "dropout by a flag beside the mode": (
        LINEN,
        {
            "fields": "frozen: bool = False",
            "body": "return nn.Dropout(0.5)(x, deterministic=not train or self.frozen)",
        },
        "deterministic=not self.training or self.frozen",
    ),
    "a mode that is made of another": (
        LINEN,
        {
            "fields": "frozen: bool = False",
            "body": "train = train and not self.frozen\n"
            "return nn.Dropout(0.5)(x, deterministic=not train)",
        },
        "makes another mode",
    ),
    "a convolution of integers": (
        LINEN,
        {"body": "return jnp.sum(x > 0, axis=-1, dtype=jnp.int32)"},
        "dtype=jnp.int32",
    ),
    "a general map with axes of a batch": (
        NNX,
        {"setup": "self.inner = nnx.LinearGeneral(dim, dim, batch_axis={0: 3}, rngs=rngs)"},
        "batch_axis={0: 3}",
    ),
    "dropout of equinox that never drops": (
        EQUINOX,
        {"setup": "self.inner = eqx.nn.Dropout(0.5, inference=True)"},
        "inference=True",
    ),
    "dropout of haiku that shares axes": (
        HAIKU,
        {
            "body": "return hk.dropout(hk.next_rng_key(), 0.5, x, broadcast_dims=(1,))"
        },
        "broadcast_dims=(1,)",
    ),
    "dropout between the layers of haiku's MLP": (
        HAIKU,
        {"body": "return hk.nets.MLP([4, 4])(x, dropout_rate=0.1, rng=hk.next_rng_key())"},
        "dropout_rate=0.1",
    ),
    "a norm of haiku with axes of weights": (
        HAIKU,
        {"body": "return hk.LayerNorm(-1, True, True, param_axis=(1, 2))(x)"},
        "param_axis=(1, 2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LISTED)
def test_what_has_no_place_is_listed_with_its_line(case: str):
    head, parts, said = LISTED[case]
    blocking = [note for note in of(head, **parts).notes if note.blocks]
    assert any(said in note.what and note.line > 5 for note in blocking), blocking


CARRIED = {
    "what is computed inside of an activation": (
        TORCH,
        {
            "setup": "self.inner = nn.Linear(dim, dim)",
            "body": "return F.gelu(self.inner(x), approximate='tanh')",
        },
        ["return gelu(self.inner(x))"],
    ),
    "a slope to begin with": (
        TORCH,
        {"setup": "self.inner = nn.PReLU(init=0.1)"},
        ["PReLU(1, axis=1, slope_initializer=constant(0.1))"],
    ),
    "what is not floating": (
        TORCH,
        {
            "body": "m = torch.ones(3, dtype=torch.bool)\n"
            "n = torch.zeros(3, dtype=torch.long)\n"
            "k = x.to(torch.int64) + x.type(torch.long)\n"
            "return torch.where(m, n + k, n)"
        },
        [
            "jnp.ones((3,), bool)",
            "jnp.zeros((3,), jnp.int32)",
            "x.astype(jnp.int32) + x.astype(jnp.int32)",
        ],
    ),
    "the greatest along an axis by its name": (
        TORCH,
        {"setup": "self.dim = dim", "body": "return x.max(dim=self.dim)[0]"},
        ["jnp.max(x, axis=self.dim)"],
    ),
    "what is sorted, and the order": (
        TORCH,
        {"body": "y, order = x.sort(dim=-1)\nreturn y"},
        ["y, order = (jnp.sort(x, axis=-1), jnp.argsort(x, axis=-1))"],
    ),
    "dropout of attention's weights": (
        TORCH,
        {
            "body": "return F.scaled_dot_product_attention(x, x, x, "
            "dropout_p=0.1 if self.training else 0.0)"
        },
        ["dropout_key=self.key() if self.training else None, dropout_rate=0.1"],
    ),
    "dropout that is off": (
        TORCH,
        {"body": "return F.dropout(x, 0.5, training=False) + 1"},
        ["return x + 1"],
    ),
    "devices that a norm averages over": (
        LINEN,
        {
            "fields": "axis_name: str = None",
            "body": "return nn.BatchNorm(not train, axis_name=self.axis_name)(x)",
        },
        ["axis_name: AxisName | None = None", "axis_name=self.axis_name"],
    ),
    "the precision of products": (
        LINEN,
        {
            "fields": "precision: object = None",
            "body": "return nn.Dense(3, precision=self.precision)(x)",
        },
        ["precision: Precision | None = None", "precision=self.precision"],
    ),
    "initializers of a general map": (
        LINEN,
        {"body": "return nn.DenseGeneral(3, kernel_init=nn.initializers.zeros)(x)"},
        ["kernel_initializer=zeros"],
    ),
    "how dropout is shared": (
        LINEN,
        {
            "body": "return nn.MultiHeadDotProductAttention(2, dropout_rate=0.1, "
            "deterministic=not train, out_kernel_init=nn.initializers.zeros)(x, x)"
        },
        ["broadcast_dropout=True", "out_kernel_initializer=zeros"],
    ),
    "the mode under a name of one's own": (
        LINEN,
        {"body": "off = not train\nreturn nn.Dropout(0.5)(x, deterministic=off)"},
        ["return self.dropout_0(x)"],
    ),
    "the slope of flax": (
        LINEN,
        {"body": "return nn.PReLU()(x)"},
        ["PReLU(slope_initializer=constant(0.01))"],
    ),
    "biases of some maps of an attention": (
        EQUINOX,
        {
            "setup": "self.inner = eqx.nn.MultiheadAttention("
            "2, dim, use_query_bias=True, use_output_bias=True, key=key)",
            "body": "return self.inner(x, x, x)",
        },
        ["use_bias=False, query_bias=True, out_bias=True"],
    ),
    "the scale of what haiku's attention begins with": (
        HAIKU,
        {"body": "return hk.MultiHeadAttention(2, 4, w_init_scale=2.0)(x, x, x)"},
        ["variance_scaling(2.0, 'fan_in', 'truncated_normal')"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CARRIED)
def test_what_has_a_place_is_carried_over(case: str):
    head, parts, wanted = CARRIED[case]
    made = of(head, **parts)
    assert made.whole, made.notes
    for text in wanted:
        assert text in made.text, made.text


@pytest.mark.parametrize(
    ("setup", "body", "said"),
    [
        (
            "self.inner = nn.Embedding(dim, 4, padding_idx=0)",
            "return self.inner(x)",
            "`padding_idx=0` is left out",
        ),
        ("pass", "return F.dropout(x, 0.5)", "drops in inference, too"),
    ],
)
def test_what_changes_training_alone_is_said_with_its_line(setup, body, said):
    made = of(TORCH, setup=setup, body=body)
    assert made.whole, made.notes
    assert any(said in n.what and n.line in (9, 12) for n in made.notes), made.notes
