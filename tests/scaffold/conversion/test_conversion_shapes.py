"""Shapes of inputs are those that the code asks for."""

from __future__ import annotations

import ast

import pytest

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.source.trees import expression, folded

FUNCTIONS = {
    "an axis that is summed over": (
        "return (x * x).sum(axis=-1)",
        ['x: Float["*batch features"]'],
    ),
    "an axis that a function goes along": (
        "return jax.nn.softmax(x, axis=-1)",
        ['x: Float["*batch features"]'],
    ),
    "a size that is split": (
        "a, b = jnp.split(x, 2, axis=-1)\n    return jnp.concatenate((b, a), axis=-1)",
        ['x: Float["*batch 2*half"]'],
    ),
    "what a helper asks for": ("return halves(x)", ['x: Float["*batch 2*half"]']),
    "another array that is as long": (
        "return x * z + halves(x)",
        ['x: Float["*batch 2*half"]', 'z: Float["# *batch 2*half"]'],
    ),
    "a local that is called like a word": (
        "mean = x.mean(axis=-1, keepdims=True)\n    return x - mean",
        ["mean_ = mean(x, axis=-1, keepdims=True)", "return x - mean_"],
    ),
}
FILE = """\
import jax
import jax.numpy as jnp


def halves(x):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((b, a), axis=-1)


def thing(x, z):
    {body}
"""


@pytest.mark.parametrize("case", FUNCTIONS)
def test_functions(case: str):
    body, wanted = FUNCTIONS[case]
    made = convert(
        "f.py", FILE.format(body=body), "thing", "from_thing", kind="FUNCTION"
    )
    text = made.text.replace("'", '"')
    for part in wanted:
        assert part in text, made.text


LINEN = """\
import flax.linen as nn
import jax.numpy as jnp


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        {body}
"""


def test_means_over_an_image_are_of_arrays_of_rank_four():
    body = (
        "y = nn.Dense(4)(jnp.mean(x, axis=(1, 2)))\n"
        "        return x * nn.Dense(x.shape[-1])(y)[:, None, None, :]"
    )
    made = convert("m.py", LINEN.format(body=body), "Thing", "Thing")
    text = made.text.replace("'", '"')
    assert 'x: Float["batch height width ' in text
    assert '"x": (2, 8, 8, 8)' in text


HAIKU = """\
import haiku as hk
import jax


def net(x):
    return hk.Sequential([hk.Flatten(), hk.Linear(5), jax.nn.relu, hk.Linear(3)])(x)
"""


def test_a_sequence_is_numbered_in_its_order():
    text = convert("h.py", HAIKU, "net", "Net").text.replace("'", '"')
    assert "self.linear_0 = Linear(self.in_features, 5)" in text
    assert "self.linear_1 = Linear(5, 3)" in text
    assert 'x: Float["batch *rest"]' in text
    assert '{"in_features": 8, "x": (2, 8)}' in text


EQUINOX = """\
import equinox as eqx
import jax


class Mixer(eqx.Module):
    patches: eqx.nn.Linear

    def __init__(self, patches: int, features: int, *, key):
        self.patches = eqx.nn.Linear(patches, patches, key=key)

    def __call__(self, y):
        return jax.vmap(self.patches)(y.T).T
"""


def test_what_is_transposed_is_a_matrix():
    text = convert("e.py", EQUINOX, "Mixer", "Mixer").text.replace("'", '"')
    assert 'y: Float["patches_value ' in text


TORCH = """\
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim, ratio=4.0, drop=0.5):
        super().__init__()
        self.up = nn.Linear(dim, int(dim * ratio))
        self.drop = nn.Dropout(drop)
        self.down = nn.Linear(int(dim * ratio), dim)

    def forward(self, x):
        return self.down(self.drop(self.up(x).flatten(1).reshape(x.shape[0], -1)))
"""


def test_a_share_of_a_size_is_not_drawn():
    """As a small one would leave nothing."""
    text = convert("t.py", TORCH, "Block", "Block").text.replace("'", '"')
    assert '"ratio": 4.0' in text
    assert '"drop' not in text


MASKED = {
    "of scores that are written out": (
        "b, t, d = q.shape\n"
        "    b, s, d = k.shape\n"
        "    scores = q @ jnp.swapaxes(k, -2, -1)\n"
        "    scores = jnp.where(mask, scores, -1e9)\n"
        "    return jax.nn.softmax(scores) @ k",
        'Bool["# b t s"]',
    ),
    "with another one": (
        "b, t, d = q.shape\n"
        "    causal = jnp.tril(jnp.ones((t, t), dtype=bool))\n"
        "    scores = jnp.einsum('btd,bsd->bts', q, q)\n"
        "    scores = jnp.where(jnp.logical_and(causal, mask), scores, -1e9)\n"
        "    return jax.nn.softmax(scores) @ q + k",
        'Bool["# b t t"]',
    ),
    "of numbers": (
        "b, t, d = q.shape\n"
        "    scores = jnp.einsum('btd,bsd->bts', q, q) + mask\n"
        "    return jax.nn.softmax(scores) @ k",
        'Float["# b axis2 axis2"]',
    ),
}


@pytest.mark.parametrize("case", MASKED)
def test_a_mask_is_broadcast_to_what_it_masks(case: str):
    body, shape = MASKED[case]
    file = (
        "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n\n"
        "class Thing(nn.Module):\n    features: int\n\n    @nn.compact\n"
        "    def __call__(self, q, k, mask):\n        "
        + body.replace("\n    ", "\n        ")
        + "\n"
    )
    text = convert("f.py", file, "Thing", "FromThing").text.replace("'", '"')
    assert f"mask: {shape}" in text, text


def test_a_block_asks_for_the_mask_that_its_layer_does():
    file = """\
import torch.nn as nn


class Inner(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x, mask=None):
        return self.attn(x, x, x, attn_mask=mask)[0]


class Thing(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.inner = Inner(dim, heads)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, mask=None):
        return x + self.inner(self.norm(x), mask=mask)
"""
    made = convert("f.py", file, "Thing", "FromThing")
    last = made.text.replace("'", '"').partition("class FromThing")[2]
    # PyTorch takes no more axes.
    assert 'mask: Bool["axis2 axis2"] | None=None' in last.replace(" = ", "=")
    assert '"mask": (4, 4)' in last


def test_what_may_be_left_out_is_left_out_of_the_comparison():
    file = (
        "import flax.linen as nn\n\n\n"
        "class Thing(nn.Module):\n    heads: int\n\n    @nn.compact\n"
        "    def __call__(self, x, mask=None):\n"
        "        attend = nn.MultiHeadDotProductAttention(num_heads=self.heads)\n"
        "        return attend(x, x, mask=mask)\n"
    )
    made = convert("f.py", file, "Thing", "FromThing")
    assert made.trial is not None
    assert [given for given, _ in made.trial.inputs] == ["x"]


def test_a_layer_whose_result_is_needed_twice_runs_once():
    file = (
        "import torch.nn as nn\n\n\n"
        "class Thing(nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.conv = nn.Conv2d(3, width, 3)\n"
        "        self.norm = nn.BatchNorm2d(width)\n"
        "        self.drop = nn.Dropout(0.5)\n\n"
        "    def forward(self, x):\n"
        "        norm = 2.0\n"
        "        h = norm * self.norm(self.conv(x)).flatten(2)\n"
        "        return self.drop(h) + self.drop(h)\n"
    )
    text = convert("f.py", file, "Thing", "FromThing").text
    assert "norm_ = self.norm(self.conv(x))\n" in text
    assert text.count("self.conv(x)") == 1
    # What the original runs twice runs twice.
    assert text.count("self.drop(h)") == 2


ATTENTION = """\
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.share, self.heads = dim // heads, heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        q = self.q(query).view(n, -1, self.heads, self.share).transpose(1, 2)
        k = self.k(key).view(n, -1, self.heads, self.share).transpose(1, 2)
        v = self.v(value).view(n, -1, self.heads, self.share).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.share)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        x = torch.matmul(F.softmax(scores, dim=-1), v)
        return self.out(x.transpose(1, 2).contiguous().view(n, -1, self.heads * self.share))


class Thing(nn.Module):
    def __init__(self, heads, dim):
        super().__init__()
        self.own, self.cross = Attention(heads, dim), Attention(heads, dim)

    def forward(self, x, memory, memory_mask=None, mask=None):
        x = x + self.own(x, x, x, mask)
        return x + self.cross(x, memory, memory, memory_mask)
"""


def test_attention_to_another_sequence_has_its_positions():
    text = convert("thing.py", ATTENTION, "Thing", "FromThing").text
    [shown] = [line for line in text.splitlines() if "def forward(self, x" in line]
    sizes = [part.partition("'")[0] for part in shown.split("['")[1:]]
    x, memory, memory_mask, mask = (part.lstrip("# ").split() for part in sizes[:4])
    assert len(x) == len(memory) == 3
    assert x[0] == memory[0]
    assert x[2] == memory[2] == "dim"
    assert x[1] != memory[1]
    assert memory_mask == [x[0], x[1], memory[1]]
    assert mask == [x[0], x[1], x[1]]


@pytest.mark.parametrize(
    "body",
    [
        "jnp.where(mask[..., None], nn.Dense(self.size)(x), 0.0).sum(axis=1)",
        "(nn.Dense(self.size)(x) * mask[..., None]).sum(axis=1)",
        "(nn.Dense(self.size)(x) * jnp.expand_dims(mask, -1)).sum(axis=1)",
    ],
)
def test_a_mask_with_one_more_axis_is_of_positions(body: str):
    text = f"""\
import flax.linen as nn
import jax.numpy as jnp


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, mask):
        return {body}
"""
    made = convert("thing.py", text, "Thing", "FromThing").text
    [shown] = [line for line in made.splitlines() if "def forward(" in line]
    x, mask = (part.partition("'")[0].split() for part in shown.split("['")[1:3])
    assert len(x) == 3
    assert mask == ["#", *x[:2]]


def test_new_axes_tell_how_many_there_are():
    text = """\
import torch.nn as nn


class Swish(nn.Module):
    def forward(self, x):
        return x * x.sigmoid()


class Thing(nn.Module):
    def __init__(self, channels, size):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Sequential(Swish(), nn.Linear(size, channels))

    def forward(self, x, t):
        h = self.conv(x)
        h += self.time(t)[:, :, None, None]
        return h
"""
    made = convert("thing.py", text, "Thing", "FromThing").text
    assert "x: Float['batch channels height width'], t: Float['batch size']" in made


UNET = """\
from typing import Sequence

import flax.linen as nn
import jax.numpy as jnp


class Thing(nn.Module):
    widths: Sequence[int] = (4, 8, 16)
    kernel_size: Sequence[int] = (3, 3)

    @nn.compact
    def __call__(self, x):
        skips = []
        for width in self.widths[:-1]:
            x = nn.Conv(width, self.kernel_size)(x)
            skips.append(x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = nn.Conv(self.widths[-1], self.kernel_size)(x)
        for width in reversed(self.widths[:-1]):
            x = nn.ConvTranspose(width, (2, 2), strides=(2, 2))(x)
            skip = skips.pop()
            x = jnp.concatenate([x, skip], axis=-1)
            x = nn.Conv(width, self.kernel_size)(x)
        return nn.Conv(1, (1, 1))(x)
"""


def test_what_a_loop_takes_off_a_list_has_the_size_that_another_one_gave_it():
    made = convert("thing.py", UNET, "Thing", "Thing")
    assert made.whole, made.notes
    assert "Conv(2, 2 * width, width, self.kernel_size" in made.text
    assert "for width in reversed(self.widths[:-1])]" in made.text
    assert "Conv(2, self.widths[0], 1, (1, 1)" in made.text
    # Each list of layers is zipped with the widths before it once.
    assert "(before, (before, " not in made.text
    assert "x: Float['batch height width in_features']" in made.text
    # Widths that differ tell the weights of one level from those of another.
    assert "'widths': (4, 8, 16)" in made.text


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("batch * 3**2 // 9", "batch"),
        ("batch * 6 // 3", "batch * 6 // 3"),
        ("batch * n // n", "batch * n // n"),
        ("2**40 * n", "2 ** 40 * n"),
    ],
)
def test_what_is_multiplied_and_divided_by_a_number_is_as_before(given, wanted):
    assert ast.unparse(folded(expression(given))) == wanted


GROUPED = """\
import torch
from torch import nn


def repeat_kv(x, n_rep):
    bs, slen, n_kv_heads, head_dim = x.shape
    if n_rep == 1:
        return x
    x = x[:, :, :, None, :].expand(bs, slen, n_kv_heads, n_rep, head_dim)
    return x.reshape(bs, slen, n_kv_heads * n_rep, head_dim)


class Scores(nn.Module):
    def __init__(self, dim: int = 16, heads: int = 4, kv_heads: int = 2):
        super().__init__()
        self.heads, self.kv_heads = heads, kv_heads
        self.rep = heads // kv_heads
        self.query = nn.Linear(dim, heads * 8)
        self.key = nn.Linear(dim, kv_heads * 8)

    def forward(self, x, mask):
        b, n, _ = x.shape
        q = self.query(x).view(b, n, self.heads, 8).transpose(1, 2)
        k = repeat_kv(self.key(x).view(b, n, self.kv_heads, 8), self.rep)
        return q @ k.permute(0, 2, 3, 1) + mask
"""


def test_what_a_shortcut_returns_is_a_case_of_what_is_returned_otherwise():
    made = convert("model.py", GROUPED, "Scores", "Scores")
    text = made.text.replace("'", '"')
    # Not kv_heads: `if n_rep == 1: return x` says nothing of other numbers.
    assert 'mask: Float["# b heads n n"]' in text, text
    assert '"mask": (2, 4, 4, 4)' in text, text


BRANCHED = """\
class Block(nn.Module):
    def __init__(self, dim, stride):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(dim, dim, 3, stride, 1), nn.ReLU())
        self.side = nn.Sequential(nn.Conv2d(dim, dim, 3, stride, 1), nn.ReLU())

    def forward(self, x):
        return torch.cat([self.main(x), self.side(x)], dim=1)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = Block(dim, 2)
        self.second = Block(2 * dim, 2)
        self.third = Block(4 * dim, 2)
        self.pool = nn.AvgPool2d(2)
        self.fc = nn.Linear(8 * dim, 10)

    def forward(self, x):
        y = self.pool(self.third(self.second(self.first(x))))
        return self.fc(y.mean([2, 3]))
"""


def test_images_are_as_large_as_the_longest_of_branches_beside_each_other_asks():
    head = "import torch\nfrom torch import nn\n\n\n"
    made = convert("thing.py", head + BRANCHED, "Thing", "Thing")
    # 9, 5, 3 and 2 pixels; both branches one after the other would ask for 65.
    assert dict(dict(made.trial.inputs))["x"][2:] == (9, 9)  # type: ignore[union-attr]
    text = head + BRANCHED.replace(
        "[self.main(x), self.side(x)]", "[self.side(self.main(x)), x]"
    )
    made = convert(
        "thing.py", text.replace("AvgPool2d(2)", "AvgPool2d(1)"), "Thing", "Thing"
    )
    assert dict(dict(made.trial.inputs))["x"][2:] == (8, 8)  # type: ignore[union-attr]


STRIDED = """\
class Block(nn.Module):
    features: int
    strides: tuple = (1, 1)

    @nn.compact
    def __call__(self, x):
        y = nn.Conv(self.features, (3, 3), strides=self.strides)(x)
        if not x.shape == y.shape:
            x = nn.Conv(self.features, (1, 1), strides=self.strides)(x)
        return x + y


class Group(nn.Module):
    features: int
    depth: int
    strides: tuple = (1, 1)

    @nn.compact
    def __call__(self, x):
        for i in range(self.depth):
            x = Block(self.features, self.strides if i == 0 else (1, 1))(x)
        return x


class Thing(nn.Module):
    depth: int = 2

    @nn.compact
    def __call__(self, x):
        x = Group(8, self.depth)(x)
        x = Group(16, self.depth, (2, 2))(x)
        return nn.avg_pool(x, (8, 8))
"""


def test_what_is_made_where_shapes_are_not_the_same_is_so_where_that_is_denied():
    head = "import flax.linen as nn\n\n\n"
    made = convert("thing.py", head + STRIDED, "Thing", "Thing")
    assert made.whole, made.notes
    assert "if self.strides[0] != 1 or self.strides[1] != 1 or " in made.text
    # 15 pixels are 8 of the second group, whose first block alone has strides.
    assert dict(dict(made.trial.inputs))["x"][1:3] == (15, 15)  # type: ignore[union-attr]


PLACES = """\
class Basis(nn.Module):
    count: int = 6

    def __call__(self, distances):
        return jnp.exp(-jnp.square(distances[..., None] - jnp.linspace(0.0, 5.0, self.count)))


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, positions, senders, receivers):
        d = jnp.linalg.norm(positions[receivers] - positions[senders], axis=-1)
        return nn.Dense(self.size)(Basis()(d))


class Typed(nn.Module):
    @nn.compact
    def __call__(self, positions: Float[Array, "n d"], tokens):
        return nn.Dense(3)(positions)
"""


def test_places_in_space_are_no_indices():
    head = "import flax.linen as nn\nimport jax.numpy as jnp\nfrom jaxtyping import Array, Float\n\n\n"
    made = convert("thing.py", head + PLACES, "Thing", "Thing")
    assert "positions: Float[" in made.text
    assert "self.linear_0 = Linear(6, self.size)" in made.text
    made = convert("thing.py", head + PLACES, "Typed", "Typed")
    assert "positions: Float[" in made.text
