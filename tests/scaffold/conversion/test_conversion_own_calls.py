"""Methods that a class calls of its own: flags, keys, the whole layer, and layers that they make."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

from mlax_scaffold.conversion import convert

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ("self.encode(x, train, mask)", "self._encode(x, mask)"),
        ("self.encode(x, mask=mask, train=train)", "self._encode(x, mask=mask)"),
    ],
)
def test_methods_are_called_without_flags_and_keys(call, made):
    text = converted(
        f"""\
class Thing(nn.Module):
    size: int

    def setup(self):
        self.up = nn.Dense(self.size)
        self.drop = nn.Dropout(0.1)

    def encode(self, x, train, mask):
        return self.drop(self.up(x), deterministic=not train) * mask

    def __call__(self, x, mask, train=False):
        return {call}

    def both(self, x, mask, train=False):
        return self(x, mask, train), self.__call__(x, mask, train=train)
""",
        LINEN,
    ).text
    assert "def _encode(self, x, mask):" in text
    assert f"return {made}" in text
    assert "return (self.forward(x, mask), self.forward(x, mask))" in text


def test_a_method_that_is_called_in_one_mode_is_listed():
    made = convert(
        "thing.py",
        LINEN
        + """\
class Thing(nn.Module):
    size: int

    def setup(self):
        self.up = nn.Dense(self.size)
        self.drop = nn.Dropout(0.1)

    def encode(self, x, train):
        return self.drop(self.up(x), deterministic=not train)

    def __call__(self, x, train=False):
        return self.encode(x, True)
""",
        "Thing",
        "FromThing",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.what == "`train=True` of a call has no counterpart"
    assert note.line == LINEN.count("\n") + 12


def test_methods_of_linen_make_layers_of_their_own_in_each_call():
    text = converted(
        """\
class Thing(nn.Module):
    size: int

    def block(self, x, train):
        h = nn.relu(nn.Dense(2 * self.size)(x))
        return nn.Dense(self.size)(h)

    @nn.compact
    def __call__(self, x, train=False):
        return self.block(x, train) - self.block(x + 1, train)
""",
        LINEN,
    ).text
    # In the order in which the original makes them.
    assert text.count("Linear(self.in_features, 2 * self.size)") == 2
    assert text.index("self.linear_1 = Linear(2 * self.size, self.size)") < text.index(
        "self.linear_2 = Linear(self.in_features, 2 * self.size)"
    )
    assert "self.linear_3 = Linear(2 * self.size, self.size)" in text


def test_methods_of_haiku_share_their_layers():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, size, name=None):
        super().__init__(name=name)
        self.size = size

    def block(self, x):
        h = hk.Linear(self.size)(x)
        return jax.nn.relu(h)

    def __call__(self, x):
        return self.block(x) - self.block(x + 1)
""",
        "import haiku as hk\nimport jax\n\n\n",
    ).text
    assert text.count("Linear(self.in_features, self.size)") == 1
    assert "return self._block(x) - self._block(x + 1)" in text


def test_a_method_of_linen_whose_lines_cannot_be_written_out_is_listed():
    made = convert(
        "thing.py",
        LINEN
        + """\
class Thing(nn.Module):
    size: int

    def block(self, x):
        if self.size > 4:
            return nn.Dense(self.size)(x)
        return nn.Dense(self.size, use_bias=False)(x)

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size)(x) + [self.block(x) for _ in range(2)][0]
""",
        "Thing",
        "FromThing",
    )
    assert "`self.block` makes layers of its own in each call" in [
        n.what for n in made.notes if n.blocks
    ]


def test_what_stands_beside_an_input_of_known_axes_has_its_first_ones():
    text = converted(
        """\
class Agent(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.fc = nn.Linear(size, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.hidden = hidden

    def forward(self, x, state):
        return self.rnn(F.relu(self.fc(x)), state.reshape(-1, self.hidden))


class Thing(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.agent = Agent(size, hidden)

    def forward(self, x, states):
        b, n, size = x.shape
        out = self.agent(x.reshape(b * n, size), states)
        return out.view(b, n, -1)
"""
    ).text
    assert "states: Float['b*n hidden']" in text
    assert "'states': (8, 8)" in text
