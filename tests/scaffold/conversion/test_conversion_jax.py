"""Forms in which people write for flax, equinox and haiku: sizes, strings, configurations, lists."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nfrom typing import Any, Optional\n\n\n"
NNX = "from flax import nnx\nimport jax\nimport jax.numpy as jnp\n\n\n"
HAIKU = "import haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (
            "if self.out is None:\n            dim = x.shape[-1]\n        else:\n            dim = self.out",
            "self.in_features if self.out is None else self.out",
        ),
        (
            "dim = self.out\n        if dim is None:\n            dim = x.shape[-1]",
            "self.in_features if self.out is None else self.out",
        ),
        ("dim = self.out or x.shape[-1]", "self.out or self.in_features"),
        (
            "dim = 4\n        if self.wide:\n            dim = 8",
            "8 if self.wide else 4",
        ),
    ],
)
def test_sizes_that_branches_of_a_body_set_are_chosen_in_setup(lines, size):
    text = converted(
        f"""\
class Thing(nn.Module):
    out: Optional[int] = None
    wide: bool = False

    @nn.compact
    def __call__(self, x):
        {lines}
        return nn.Dense(dim)(x)
""",
        LINEN,
    ).text
    assert f"Linear(self.in_features, {size})" in text


def test_a_number_of_hidden_units_is_one_size():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, num_hiddens, name=None):
        super().__init__(name=name)
        self._linear = hk.Linear(num_hiddens)

    def __call__(self, x):
        return self._linear(x)
""",
        HAIKU,
    ).text
    assert "num_hiddens: Size\n" in text


def test_attention_of_nnx_drops_in_training_where_it_is_told_so():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, heads: int, rate: float, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(
            heads, dim, dropout_rate=rate, broadcast_dropout=False, deterministic=False,
            decode=False, rngs=rngs,
        )

    def __call__(self, x):
        return self.attention(x)
""",
        NNX,
    ).text
    assert "MultiHeadAttention(self.dim, self.heads, dropout_rate=self.rate" in text
