"""Branches that settings choose: what none of them takes, and shapes that they do not agree on."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

LINEN = "import flax.linen as nn\nimport jax.numpy as jnp\n\n\n"
MODES = """\
class Thing(nn.Module):
    def __init__(self, dim, mode="plain"):
        super().__init__()
        self.mode = mode
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        if {a}:
            return self.fc(x)
        elif {b}:
            return 2 * self.fc(x)
"""


@pytest.mark.parametrize(
    ("a", "b"),
    [('self.mode == "plain"', 'self.mode == "twice"'), ("x.ndim == 2", "x.ndim == 3")],
)
def test_where_no_branch_returns_the_layer_says_what_has_to_hold(a, b):
    text = converted(MODES.format(a=a, b=b)).text
    told = f"{a} or {b}".replace("self.", "").replace('"', "'")
    assert f"        elif {b}:".replace('"', "'") in text
    assert "        else:\n            raise ValueError(" in text
    assert f"{told} must hold" in text


TOKENS = """\
class Thing(nn.Module):
    size: int
    kind: str = "token"

    @nn.compact
    def __call__(self, x):
        n, t, c = x.shape
        if {test}:
            cls = self.param("cls", nn.initializers.zeros, (1, 1, c))
            cls = jnp.{tile}
            x = jnp.concatenate([cls, x], axis=1)
        x = x + self.param("pos", nn.initializers.zeros, (1, x.shape[1], x.shape[2]))
        return nn.Dense(self.size)(x)
"""


@pytest.mark.parametrize(
    "tile",
    ["tile(cls, [n, 1, 1])", "tile(cls, (n, 1, 1))", "broadcast_to(cls, (n, 1, c))"],
)
@pytest.mark.parametrize(
    "test", ["self.kind == 'token'", "self.kind in ['token', 'token_unpooled']"]
)
def test_positions_count_the_token_that_a_setting_puts_before_them(test, tile):
    text = converted(TOKENS.format(test=test, tile=tile), LINEN).text
    size = f"self.t + (1 if {test} else 0)"
    assert f"self.pos = trainable(zeros, (1, {size}, self.in_features))" in text


NORM = """\
class Norm(nn.Module):
    def __init__(self, size, eps=1e-6, data_format="channels_{default}"):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps
        self.data_format = data_format
        self.shape = (size,)

    def forward(self, x):
        if self.data_format == "channels_last":
            return F.layer_norm(x, self.shape, self.weight, None, self.eps)
        elif self.data_format == "channels_first":
            u = x.mean(1, keepdim=True)
            s = (x - u).pow(2).mean(1, keepdim=True)
            x = (x - u) / torch.sqrt(s + self.eps)
            x = self.weight[:, None, None] * x
            return x


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, 4, 4)
        self.norm = Norm(dim, data_format="channels_first")
        self.last = Norm(dim, data_format="channels_last")
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        x = self.norm(self.conv(x)).permute(0, 2, 3, 1)
        return self.fc(self.last(x)).mean([1, 2])
"""


@pytest.mark.parametrize(
    ("default", "example"), [("last", "(2, 8)"), ("first", "(2, 8, 4, 4)")]
)
def test_axes_that_branches_of_a_setting_read_differently_are_left_open(
    default, example
):
    text = converted(NORM.format(default=default)).text
    assert "def forward(self, x: Float['*shape']) -> Float['*shape']:" in text
    assert (
        "forward(self, x: Float['batch 3 height width']) -> Float['batch dim']:" in text
    )
    chosen = f"'data_format': 'channels_{default}', 'x': {example}"
    assert f"examples = ({{'size': 8, {chosen}}},)" in text


def test_branches_that_read_the_same_axis_tell_it():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, kind="once"):
        super().__init__()
        self.kind = kind
        self.fc = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        if self.kind == "once":
            return self.fc(x)
        else:
            return self.fc(x) + 1
""").text
    assert "def forward(self, x: Float['*batch dim']) -> Float['*batch 2*dim']:" in text


def test_a_size_that_one_branch_leaves_untold_is_not_that_of_the_other():
    text = converted(
        """\
class Thing(nn.Module):
    size: int
    kind: str = "token"

    @nn.compact
    def __call__(self, x):
        n, t, c = x.shape
        if self.kind == "token":
            x = own.changed(x)
        return nn.Dense(self.size)(x)
""",
        "import own\n" + LINEN,
    ).text
    assert "-> Float['n t size']" not in text
