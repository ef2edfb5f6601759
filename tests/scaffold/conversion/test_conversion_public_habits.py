"""Habits of public code of PyTorch and einops: kept masks, packed tokens, draws in place, chosen classes."""

from __future__ import annotations

import ast
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.shapes.axis_patterns import between

EINOPS = "from einops import pack, rearrange, unpack\nfrom einops.layers.torch import Reduce\n"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("... -> 1 ...", lambda x: x[None]),
        ("i ... -> i 1 ...", lambda x: x[:, None]),
        ("(a b) ... c -> a b ... c", lambda x: x.reshape(2, 2, 3, 5, 6)),
        ("b ... d -> b d ...", lambda x: np.moveaxis(x, -1, 1)),
        ("b ... (g d) -> g b ... d", lambda x: np.moveaxis(x.reshape(4, 3, 5, 2, 3), 3, 0)),
        ("... -> g ...", lambda x: np.stack([x, x])),
        ("b ... d -> (b g) ... d", lambda x: x.repeat(2, axis=0)),
        ("b ... (g d) -> b g (...) d", lambda x: np.moveaxis(x.reshape(4, 15, 2, 3), 2, 1)),
        ("a b ... d -> (d a) ... b", lambda x: x.transpose(3, 0, 2, 1).reshape(24, 5, 3)),
    ],
)  # fmt: skip
def test_axes_between_others_stay_as_they_are(pattern: str, expected: Any):
    x = np.arange(4 * 3 * 5 * 6.0).reshape(4, 3, 5, 6)
    sizes = {"a": ast.Constant(2)} if "(a b)" in pattern else {"g": ast.Constant(2)}
    made = between(pattern, "x", sizes)
    assert made is not None
    text = ast.unparse(made).replace("@module:jnp", "jnp")
    y = eval(text, {"x": x, "jnp": jnp})
    np.testing.assert_array_equal(y, expected(x))


def test_what_is_not_the_same_axes_is_left():
    assert between("b ... d -> b ...", "x", {}) is None
    assert between("b ... -> b ... n", "x", {}) is None


def run(text: str, **given: Any) -> Any:
    """What `forward` of a converted class computes, where `self.fc` doubles."""
    made: dict[str, Any] = {"jnp": jnp, "mean": jnp.mean}
    tree = ast.parse(text)
    node = next(n for n in tree.body if isinstance(n, ast.ClassDef))
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "forward":
            for argument in method.args.args:
                argument.annotation = None
            method.returns = None
            exec(ast.unparse(method), made)

    class Self:
        training = False
        fc = staticmethod(lambda x: 2 * x)

    return made["forward"](Self(), **given)


def test_arrays_that_are_packed_are_joined_and_sliced():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, cls, x):
        x, shapes = pack([cls, x], "b * d")
        x = self.fc(x)
        cls, x = unpack(x, shapes, "b * d")
        return cls, x
""",
        EINOPS + TORCH,
    ).text
    cls, x = np.ones((2, 3)), np.arange(2 * 4 * 3.0).reshape(2, 4, 3)
    one, other = run(text, cls=jnp.array(cls), x=jnp.array(x))
    np.testing.assert_array_equal(one, 2 * cls)
    np.testing.assert_array_equal(other, 2 * x)


def test_functions_pack_one_array():
    text = converted(
        """\
def pack_one(x, pattern):
    return pack([x], pattern)


def unpack_one(x, shapes, pattern):
    return unpack(x, shapes, pattern)[0]


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        x, shapes = pack_one(x, "* n d")
        x = self.fc(x)
        return unpack_one(x, shapes, "* n d")
""",
        EINOPS + TORCH,
    ).text
    x = np.arange(2 * 5 * 4 * 3.0).reshape(2, 5, 4, 3)
    np.testing.assert_array_equal(run(text, x=jnp.array(x)), 2 * x)


def test_layers_reduce():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Sequential(Reduce("b n d -> b d", "mean"), nn.Linear(dim, 4))

    def forward(self, x):
        return self.out(x)
""",
        EINOPS + TORCH,
    ).text
    assert "mean(x, axis=1)" in text


def test_what_is_kept_for_the_next_call_is_computed_in_each():
    text = converted(
        """\
def causal(n):
    return torch.tril(torch.ones(n, n)).bool().unsqueeze(-1)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.mask = None

    def forward(self, x):
        if self.mask is None or self.mask.size(0) != len(x):
            self.mask = causal(len(x)).to(x.device)
        return self.fc(x) * self.mask[-1]
"""
    ).text
    assert "mask = causal(len(x))" in text
    assert "* mask[-1]" in text
    assert "self.mask" not in text


def test_what_a_call_keeps_otherwise_is_refused():
    body = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.last = None

    def forward(self, x):
        y = self.fc(x)
        if self.last is not None:
            y = y + self.last
        self.last = y
        return y
"""
    made = convert("thing.py", TORCH + body, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert (note.line, "`self.last` is set by a call" in note.what) == (16, True)


def test_tensors_are_filled_with_draws():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, rate=0.1):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training:
            return x
        mask = torch.empty([x.shape[0], 1], dtype=x.dtype, device=x.device)
        mask.bernoulli_(1 - self.rate)
        noise = torch.zeros_like(x).float().uniform_(-1, 1)
        return x * mask + noise
"""
    ).text
    assert "mask = bernoulli(self.key(), p=jnp.full_like(mask, 1 - self.rate)" in text
    assert "* (1 - -1) + -1" in text


CHOSEN = """\
class Fixed(nn.Module):
    def __init__(self, count, dim):
        super().__init__()
        self.table = nn.Embedding(count, dim)

    def forward(self, x):
        return self.table(x).detach()


class Thing(nn.Module):
    def __init__(self, dim, kind="fixed", freq="h"):
        super().__init__()
        Table = Fixed if kind == "fixed" else nn.Embedding
        if freq == "t":
            self.minute = Table(4, dim)
        self.hour = Table(24, dim)

    def forward(self, x):
        x = x.long()
        minute = self.minute(x[..., 1]) if hasattr(self, "minute") else 0.0
        return self.hour(x[..., 0]) + minute
"""


def test_a_layer_of_a_chosen_class_is_there_where_its_condition_holds():
    text = converted(CHOSEN).text
    assert (
        "self.minute = (Fixed(4, self.dim) if self.kind == 'fixed' else "
        "Embed(4, self.dim)) if self.freq == 't' else None" in text
    )
    assert "if self.freq == 't' else 0.0" in text


def test_classes_with_arguments_of_the_file_are_written_out():
    text = converted(
        """\
from functools import partial

Plain = partial(nn.Linear, bias=False)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = Plain(dim, 2 * dim)
        self.b = Plain(2 * dim, dim, bias=True)

    def forward(self, x):
        return self.b(self.a(x))
"""
    ).text
    assert "self.a = Linear(self.dim, 2 * self.dim, use_bias=False)" in text
    assert "self.b = Linear(2 * self.dim, self.dim)" in text


def test_methods_for_those_who_use_a_layer_are_left_out():
    made = converted(
        """\
from dataclasses import dataclass


@dataclass
class Config:
    width: int = 8
    steps: int = 16


class Thing(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.fc = nn.Linear(config.width, config.width)

    def count(self):
        return sum(p.numel() for p in self.parameters())

    def speed(self, time):
        return self.count() / time

    def crop(self, steps):
        self.config.steps = steps

    @classmethod
    def named(cls, kind):
        config = Config(**{"small": dict(width=4)}[kind])
        return Thing(config)

    def forward(self, x):
        assert x.size(1) <= self.config.steps
        return self.fc(x)
"""
    )
    assert "width: Size = 8" in made.text
    told = [n.what for n in made.notes if "left out" in n.what]
    for title in ("count", "speed", "crop", "named"):
        assert any(f"`{title}` is left out" in t for t in told), told


def test_arrays_of_a_list_are_added_where_others_are_summed():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, count=2):
        super().__init__()
        self.fcs = nn.ModuleList([nn.Linear(dim, dim) for _ in range(count)])

    def forward(self, x):
        total = sum([fc(x) for fc in self.fcs])
        return total * x.sum(-1, keepdim=True)
"""
    ).text
    assert "total = functools.reduce(operator.add, [fc(x) for fc in self.fcs])" in text
    assert "import functools\nimport operator\n" in text


ENCODER = """\
class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.q = nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, x):
        return self.q(x) * self.heads


class Block(nn.Module):
    def __init__(self, attention, dim):
        super().__init__()
        self.attention = attention
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc(self.attention(x))


class Encoder(nn.Module):
    def __init__(self, blocks, convs=None, norm=None):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.convs = nn.ModuleList(convs) if convs is not None else None
        self.norm = norm

    def forward(self, x):
        if self.convs is not None:
            for block, conv in zip(self.blocks, self.convs):
                x = conv(block(x))
        else:
            for block in self.blocks:
                x = block(x)
        if self.norm is not None:
            x = self.norm(x)
        return x


class Either(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Thing(nn.Module):
    def __init__(self, dim, heads, depth):
        super().__init__()
        blocks = [Block(Attention(dim, heads), dim) for _ in range(depth)]
        self.encoder = Encoder(blocks, norm=nn.LayerNorm(dim))
        self.either = Either(nn.Linear(dim, 4), nn.Linear(4, dim))

    def forward(self, x):
        return self.either(self.encoder(x))
"""


def test_classes_make_the_lists_of_layers_that_they_are_handed():
    text = converted(ENCODER).text
    assert (
        "self.blocks = [BlockAttention(self.dim, heads=self.heads) "
        "for _ in range(self.depth)]" in text
    )
    assert "self.encoder = EncoderBlockAttentionsLayerNorm(" in text
    assert "self.convs" not in text
    assert "self.layers_0 = Linear(self.dim, 4)" in text
    assert "self.layers_1 = Linear(4, self.dim)" in text


def test_escapes_of_formulas_in_docstrings_are_seen():
    text = converted(
        '''\
class Thing(nn.Module):
    """Scales by $\\beta$ and $\\frac{1}{n}$."""

    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x)
'''
    ).text
    assert "\b" not in text
    assert "\f" not in text
    assert "beta" in text
    assert "rac{1}{n}" in text


def test_precision_of_devices_is_left_out_and_special_functions_are_those_of_torch():
    text = converted(
        """\
from torch.amp import autocast
from torch.special import expm1


@autocast("cuda", enabled=False)
def shrunk(x):
    return -expm1(-x)


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    @autocast("cuda", enabled=False)
    def forward(self, x):
        return shrunk(self.fc(x))
"""
    ).text
    assert "autocast" not in text
    assert "jnp.expm1(-x)" in text


def test_a_method_calls_the_layer_itself():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x)

    def repeated(self, x, count):
        for _ in range(count):
            x = self(x)
        return x
"""
    ).text
    assert "x = self.forward(x)" in text
