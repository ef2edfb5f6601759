"""Code as people have it in files of their own: helpers beside the model, and methods for who uses it."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH

from mlax_scaffold.conversion import convert

HELPED = """\
from dataclasses import dataclass
@dataclass
class NetArgs:
    dim: int = 8
    hidden: int = 16
    bias: bool = True
    theta: float = 100.0

    @property
    def wide(self):
        return self.hidden * 2
def half(args):
    return args.wide / 2
def scale_of(args{typed}, power=0.5):
    dim = args.dim
    return {body}
class Thing(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.up = self._linear(args, args.dim, args.hidden)
        self.scale = scale_of(args, power=-0.5)

    def _linear(self, args: NetArgs, a, b):
        return nn.Linear(a, b, bias=args.bias)

    def forward(self, x):
        return self.up(x) * self.scale * scale_of(self.args)
"""


@pytest.mark.parametrize("typed", ["", ": NetArgs"])
def test_helpers_are_given_what_they_read_of_a_configuration(typed):
    body = "dim ** power * args.theta * half(args)"
    text = TORCH + HELPED.format(typed=typed, body=body)
    made = convert("thing.py", text, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "def scale_of(power=0.5, *, config_dim, theta, wide):" in made.text
    assert "theta * half(wide=wide)" in made.text
    assert "return wide / 2" in made.text
    given = "config_dim=self.dim, theta=self.theta, wide=self.hidden * 2"
    assert f"scale_of(power=-0.5, {given})" in made.text
    assert f"* scale_of({given})" in made.text
    assert "Linear(self.dim, self.hidden, use_bias=self.bias)" in made.text
    assert "args" not in made.text


def test_a_helper_that_keeps_a_configuration_is_not_followed():
    body = "len(args.__dict__) * [args][0].dim"
    text = TORCH + HELPED.format(typed="", body=body)
    assert not convert("thing.py", text, "Thing", "FromThing").whole


OUTSIDE = """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.heads = nn.ModuleList([nn.Linear(dim, dim) for _ in range(2)])

    def forward(self, x):
        return self.heads[0](self.fc(x)) + self.heads[1](x)

    def extra(self, x):
        {body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "self.eval()\n        return self(x)",
        "self.fc.train(False)",
        "for p in self.fc.parameters():\n            print(p)",
        "for p in self.heads[0].parameters():\n            print(p)",
        "self.fc.weight.requires_grad = x",
        "self.heads.requires_grad_(False)",
    ],
)
def test_methods_that_set_modes_and_read_weights_are_left_out(body):
    text = TORCH + OUTSIDE.format(body=body)
    made = convert("thing.py", text, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "extra" not in made.text
    [note] = made.notes
    assert note.what == "`extra` is left out: nothing of the file calls it"


COMPUTED = """\
class Thing(nn.Module):
    def __init__(self, dim=8, ratio=1.5):
        super().__init__()
        self.dim = dim
        self.ratio = ratio
        self.conv = nn.Conv1d(1, 4, 3)
        self.up = nn.Linear({size}, self.hidden_size())

    def hidden_size(self):
        wide = int(self.dim * self.ratio)
        if wide % 2:
            wide += 1
        return wide

    def tried(self):
        with torch.no_grad():
            y = torch.zeros(1, 1, self.dim)
            y = self.conv(y)
        return y.shape[1] * y.shape[2]

    def forward(self, x):
        return self.up({called})
"""


def test_methods_that_compute_of_hyperparameters_are_read_in_setup():
    text = TORCH + COMPUTED.format(size="dim", called="x")
    made = convert("thing.py", text, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "Linear(self.dim, self._hidden_size())" in made.text
    assert "def _hidden_size(self):" in made.text


def test_sizes_that_a_method_tries_layers_for_are_known_where_all_numbers_are():
    text = TORCH + COMPUTED.format(
        size="self.tried()", called="self.conv(x).flatten(1)"
    )
    made = convert("thing.py", text, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "Linear(24, 12)" in made.text


MIXED = """\
class Expert(nn.Module):
    def __init__(self, dim, units):
        super().__init__()
        layers, before = [], dim
        for unit in units:
            layers += [nn.Linear(before, unit), nn.ReLU()]
            before = unit
        self.net = nn.Sequential(*layers)
        self.out_dim = before

    def forward(self, x):
        return self.net(x)
class Thing(nn.Module):
    def __init__(self, units=(8, 6)):
        super().__init__()
        self.table = nn.Embedding(5, 8)
        self.norm = nn.BatchNorm1d(3)
        self.experts = nn.ModuleList([Expert(11, units) for _ in range(2)])
        self.tower = nn.Sequential(nn.Linear(self.experts[0].out_dim, 1))

    def forward(self, ids, numbers):
        numbers = self.norm(numbers)
        rows = self.table(ids[:, 0]) + self.table(ids[:, 1])
        x = torch.cat([rows, numbers], dim=-1)
        return self.tower(self.experts[0](x) + self.experts[1](x))
"""


def test_sizes_are_asked_of_elements_of_lists():
    made = convert("thing.py", TORCH + MIXED, "Thing", "FromThing", run=1)
    assert made.whole, made.notes
    assert "Linear(6, 1)" in made.text
    # The concatenation says how many axes there are, which the norm did not know.
    assert "numbers: Float['batch 3']" in made.text


TABLES = """\
import jax, jax.numpy as jnp
from flax import nnx
class Thing(nnx.Module):
    def __init__(self, features: int, sizes=(5, 7), *, rngs: nnx.Rngs):
        self.tables = nnx.List([nnx.Embed(n, features, rngs=rngs) for n in sizes])
        self.scale = nnx.Linear(1, features, rngs=rngs)
    def __call__(self, fields: jax.Array, times: jax.Array):
        x = self.scale(times)
        for i, table in enumerate(self.tables):
            x = x + table(fields[..., i])
        return x
"""


def test_columns_that_a_loop_counts_are_indices_of_tables():
    made = convert("thing.py", TABLES, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "fields: Int[" in made.text


KEYS = """\
import equinox as eqx
import jax
import jax.numpy as jnp
class Block(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    def __init__(self, dim, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.dropout = eqx.nn.Dropout(0.1)
    def __call__(self, x, *, key=None):
        return self.dropout(self.linear(x), key=key)
class Thing(eqx.Module):
    blocks: list
    count: int
    def __init__(self, dim, count, *, key):
        self.blocks = [Block(dim, key=k) for k in jax.random.split(key, count)]
        self.count = count
    def __call__(self, x, *, key=None):
        keys = [None] * self.count if key is None else jax.random.split(key, self.count)
        made = [block({x}, key=keys[i]) for i, block in enumerate(self.blocks)]
        return jnp.sum(jnp.stack(made), axis=0)
"""


@pytest.mark.parametrize(("x", "axes"), [("x", "*batch dim"), ("x[i]", "batch dim")])
def test_keys_that_a_comprehension_gives_layers_are_left_out(x, axes):
    made = convert("thing.py", KEYS.format(x=x), "Thing", "FromThing")
    assert made.whole, made.notes
    assert f"made = [block({x}) for i, block in enumerate(self.blocks)]" in made.text
    assert "key" not in made.text


VIDEO = """\
class Thing(nn.Module):
    def __init__(self, img_size=16, patch_size=4, num_frames=4, tubelet=2, in_chans=3, dim=8):
        super().__init__()
        size = (tubelet, patch_size, patch_size)
        self.proj = nn.Conv3d(in_chans, dim, kernel_size=size, stride=size)
        count = (num_frames // tubelet) * (img_size // patch_size) ** 2
        self.position = nn.Parameter(torch.zeros(1, count, dim))

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2) + self.position
"""


def test_videos_are_as_large_as_their_fields_say():
    made = convert("thing.py", TORCH + VIDEO, "Thing", "FromThing")
    assert "'x': (2, 3, 4, 16, 16)" in made.text


COUNTS = """\
import haiku as hk
import jax.numpy as jnp
class Thing(hk.Module):
    def __init__(self, name=None):
        super().__init__(name=name)
    def __call__(self, act, mask):
        left = hk.Linear(4)(act) * mask[..., None]
        return jnp.einsum("bik,bjk->bij", left, left) / (1e-3 + {counts})
"""


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ('jnp.einsum("bi,bj->bij", mask, mask)', "Float"),
        ('jnp.einsum("bi,bik->b", mask, left)[:, None, None]', "Bool"),
    ],
)
def test_masks_that_are_contracted_with_each_other_are_numbers(counts, kind):
    made = convert("thing.py", COUNTS.format(counts=counts), "Thing", "FromThing")
    assert made.whole, made.notes
    assert f"mask: {kind}[" in made.text


JOINED = """\
import flax.linen as nn
import jax.numpy as jnp
class Thing(nn.Module):
    @nn.compact
    def __call__(self, t, condition=None):
        t = nn.Dense(4)(t)
        if condition is not None:
            t = {joined}
        return nn.Dense(8)(t)
"""


@pytest.mark.parametrize(
    ("joined", "needed"),
    [
        ("jnp.concatenate([t, condition], axis=-1)", True),
        ("t + nn.Dense(4)(condition)", False),
    ],
)
def test_inputs_that_layers_are_as_large_as_are_always_given(joined, needed):
    made = convert("thing.py", JOINED.format(joined=joined), "Thing", "FromThing")
    assert made.whole, made.notes
    [signature] = [s for s in made.text.splitlines() if "def forward" in s]
    assert " condition_features'" in signature
    assert ("None" in signature) != needed
    told = "`condition` is always given here: layers are as large as it says"
    assert [n.what for n in made.notes] == ([told] if needed else [])


COUNTED = """\
class Positions(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.table = nn.Embedding(length, dim)

    def forward(self, x):
        return self.table.weight[: {size}]
class Tokens(nn.Embedding):
    def __init__(self, count, dim):
        super().__init__(count, dim, padding_idx=0)
class Thing(nn.Module):
    def __init__(self, count, length, dim):
        super().__init__()
        self.tokens = {table}
        self.positions = Positions(length, dim)

    def forward(self, sequence):
        return self.positions(sequence) + self.tokens(sequence)
"""


@pytest.mark.parametrize(
    ("table", "size", "kind"),
    [
        ("Tokens(count, dim)", "x.size(1)", "Int['batch positions']"),
        ("nn.Embedding(count, dim)", "x.shape[1]", "Int['batch positions']"),
        ("nn.Linear(count, dim)", "x.size(1)", "Float['batch positions features']"),
    ],
)
def test_inputs_that_are_only_counted_are_tokens_where_their_callers_have_such(
    table, size, kind
):
    text = TORCH + COUNTED.format(table=table, size=size)
    made = convert("thing.py", text, "Thing", "FromThing")
    assert made.whole, made.notes
    assert f"x: {kind}" in made.text


FILLED = """\
import flax.linen as nn
import jax.numpy as jnp
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, attention_mask=None):
        if attention_mask is None:
            attention_mask = jnp.ones(x.shape[:2], dtype=jnp.int32)
        return nn.Dense(4)(x) {use}
"""


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("* attention_mask[..., None].astype(bool)", "dtype=bool"),
        ("+ attention_mask[..., None]", "dtype=jnp.int32"),
    ],
)
def test_masks_that_are_not_given_are_filled_with_what_those_that_are_hold(use, kind):
    made = convert("thing.py", FILLED.format(use=use), "Thing", "FromThing")
    assert made.whole, made.notes
    assert f"attention_mask = jnp.ones(x.shape[:2], {kind})" in made.text


PADDED = """\
import flax.linen as nn
import jax.numpy as jnp
def padded(rows, columns, x):
    return jnp.pad(x, ((0, 0), rows, columns, (0, 0)))
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(padded((1, 0), (1, 1), x))
"""


def test_widths_under_names_say_how_many_axes_are_padded():
    made = convert("thing.py", PADDED, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "x: Float['batch height width in_channels']" in made.text


GIVEN = """\
class Inner(nn.Module):
    def __init__(self, dim, padding):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, (3, 1), padding=padding)

    def forward(self, x):
        return self.conv(x)
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inner = Inner(dim, {padding})
        self.other = Inner(dim, padding={other})

    def forward(self, x):
        return self.other(self.inner(x))
"""


@pytest.mark.parametrize(
    ("padding", "other", "word"),
    [("(1, 0)", "(1, 0)", "Shape"), ("1", "1", "Count"), ("(1, 0)", "1", "Shape")],
)
def test_what_calls_give_says_what_a_parameter_is(padding, other, word):
    text = TORCH + GIVEN.format(padding=padding, other=other)
    made = convert("thing.py", text, "Thing", "FromThing")
    assert f"padding: {word}" in made.text


CAUSAL = """\
import jax
import jax.numpy as jnp
from flax import nnx
class Thing(nnx.Module):
    def __init__(self, rngs):
        self.to_q = nnx.Linear(8, 8, rngs=rngs)
    def __call__(self, x, mask=None):
        batch, time, _ = x.shape
        q = self.to_q(x).reshape(batch, time, 2, 4)
        if mask is None:
            mask = jnp.tril(jnp.ones((time, time), dtype=bool))[None, None]
        return jax.nn.dot_product_attention(q, q, q, mask=mask).reshape(x.shape)
"""


def test_a_mask_that_is_made_for_all_heads_may_be_given_for_each():
    made = convert("thing.py", CAUSAL, "Thing", "FromThing")
    assert made.whole, made.notes
    assert "mask: Bool['_ _ time time'] | None=None" in made.text
