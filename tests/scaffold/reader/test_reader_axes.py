"""The types of inputs that have none: what a body does with them says their axes."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest

from mlax_scaffold.errors import SpecError
from mlax_scaffold.reader.axes import type_of
from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.axes.spatial import channels_are_last
from mlax_scaffold.reader.checks.shapes import check_shapes
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.reader.source import Source
from mlax_scaffold.reader.specs import read_spec

MODULE = '''\
import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Layer, Size, Sizes, normal, trainable, zeros
from mlax_scaffold.specs.nn.batch_norm import BatchNorm
from mlax_scaffold.specs.nn.conv import Conv
from mlax_scaffold.specs.nn.embed import Embed
from mlax_scaffold.specs.nn.layer_norm import LayerNorm
from mlax_scaffold.specs.nn.linear import Linear
from mlax_scaffold.specs.nn.lstm_cell import LSTMCell


def angles(t, dim):
    return t[:, None] * jnp.arange(dim)


class Inner(Layer):
    """A layer beside it, whose input has no type either."""

    width: Size

    def setup(self):
        self.map = Linear(self.width, self.width)

    def forward(self, x):
        return self.map(x)


class Split(Layer):
    """Takes three axes."""

    def forward(self, x):
        return x.transpose(0, 2, 1)


class Columns(Layer):
    """Takes an array for each of several sizes."""

    sizes: Sizes

    def forward(self, x: Float["batch len(sizes)"]):
        return x


class Example(Layer):
    """A spec of a test."""

    dim: Size
    heads: Size = 2
    sizes: Sizes = (2, 3)

    def setup(self):
        inner = self.dim // self.heads
        self.per_head = inner * 3
        self.map = Linear(self.dim, 4)
        self.wide = Linear(2 * self.dim, 4)
        self.deep = Linear(in_features=self.per_head, out_features=1)
        self.layers = [Linear(self.heads, self.dim), Linear(self.dim, 1)]
        self.norm = LayerNorm(self.dim)
        self.conv = Conv(2, self.dim, 4, 3, channel_last=True)
        self.first = Conv(2, self.dim, 4, 3)
        self.tokens = Embed(10, self.dim)
        self.cell = LSTMCell(self.dim, self.heads)
        self.other = Inner(self.heads)
        self.split = Split()
        self.up, self.down = (Linear(self.heads, self.dim) for _ in range(2))
        self.tokens_of = Columns(self.sizes)
        self.batch_norm = BatchNorm(4)
        self.named = Conv(self.heads, self.dim, 3, spatial_dims=1)
        self.norms = {"pre": LayerNorm(self.dim), "post": LayerNorm(4)}
        self.of = {name: Linear(self.dim, 4) for name in ("a", "b")}
        self.query, self.key_ = Linear(self.dim, 4), Linear(self.heads, 4)
        self.kernel = trainable(normal(), (self.dim, 3))
        self.scale = trainable(zeros, (self.dim,))
        self.grid = trainable(zeros, (1, 1, 1, self.dim))
        self.column = trainable(zeros, (self.dim, 1))
        self.pair = trainable(normal(), (self.heads, self.dim))
        self.shift = self.scale_ if False else None
        sizes = [self.dim, 8, self.heads]
        self.stack = [Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])]
        sizes_2 = [2 * self.heads] + [8] * 2 + [3]
        self.summed = [Linear(a, b) for a, b in zip(sizes_2[:-1], sizes_2[1:])]
        self.grown = []
        last = 2 * self.dim
        for size in (3, 4):
            self.grown.append({"map": Linear(last, size), "norm": LayerNorm(size)})
            last = size
        self.made = [self.pair() for _ in range(2)]
        self.begun = [Linear(self.dim if i == 0 else 3, 3) for i in range(2)]
        self.later = []
        for i in range(2):
            self.later.append(Linear(3 if i else self.heads, 3))
        self.any = Linear(max(3, 4), 3)
        self.both = Linear(self.dim + self.heads, 3)
        self.merged = Conv(self.dim + 2 * self.heads, 3, 3)

    def pair(self):
        return {"in": Linear(self.heads, 3), "out": Linear(3, self.heads)}

    def _run(self, layers, y):
        for i, layer in enumerate(layers[:-1]):
            y = jax.nn.relu(layer(y))
        return layers[-1](y)

    def _first(self, part, y):
        return part["map"](y)

    def _split(self, y):
        return y.transpose(0, 2, 1)

    def forward(self, {names}):
{body}
'''


def guessed(body: str, *names: str) -> list[str]:
    """The types of inputs of a method with that body."""
    body = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
    text = MODULE.replace("{names}", ", ".join(names)).replace("{body}", body)
    source = Source("specs/nn/example.py", text)
    classes = [s for s in source.tree.body if isinstance(s, ast.ClassDef)]
    [forward] = [
        part
        for part in classes[-1].body
        if isinstance(part, ast.FunctionDef) and part.name == "forward"
    ]
    plain = [name.strip().partition(",")[0] for name in names]
    return [type_of(source, forward, name) for name in plain]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x", 'Float["..."]'),
        ("return jax.nn.relu(x) + 1", 'Float["..."]'),
        # What a sub-layer takes.
        ("return self.map(x)", 'Float["*batch dim"]'),
        ("return self.wide(x)", 'Float["*batch 2*dim"]'),
        ("return self.deep(x)", 'Float["*batch (dim//heads)*3"]'),
        ("return self.layers[0](x)", 'Float["*batch heads"]'),
        ("return self.layers[1](jnp.tanh(x))", 'Float["*batch dim"]'),
        ("return self.other(x)", 'Float["*batch heads"]'),
        ('return self.norms["pre"](x)', 'Float["*batch dim"]'),
        ('return self.norms["other"](x)', 'Float["..."]'),
        ('return self.of["a"](x)', 'Float["*batch dim"]'),
        ("return self.key_(x)", 'Float["*batch heads"]'),
        ("y = self.norm(x)\nreturn self.map(y)", 'Float["*batch dim"]'),
        ("return self.conv(x)", 'Float["*batch height width dim"]'),
        ("return self.first(x)", 'Float["*batch dim height width"]'),
        ("return self.tokens(x)", 'Int["*batch"]'),
        # What containers hold, in loops and in methods that are given them.
        ("for f in self.stack:\n    x = f(x)\nreturn x", 'Float["*batch dim"]'),
        ("return self._run(self.stack, x)", 'Float["*batch dim"]'),
        ("for f in self.summed:\n    x = f(x)\nreturn x", 'Float["*batch 2*heads"]'),
        ("for f in self.begun:\n    x = f(x)\nreturn x", 'Float["*batch dim"]'),
        ("for f in self.later:\n    x = f(x)\nreturn x", 'Float["*batch heads"]'),
        # Before a last axis of which nothing says what it is there may be any number.
        ("return self.any(x)", 'Float["*batch dim"]'),
        ("return self._first(self.grown[0], x)", 'Float["*batch 2*dim"]'),
        (
            "for part in self.grown:\n    x = self._first(part, x)\nreturn x",
            'Float["*batch 2*dim"]',
        ),
        ("return self.grown[1]['map'](x)", 'Float["..."]'),
        ("return self.made[1]['in'](x)", 'Float["*batch heads"]'),
        (
            "return sum(p['in'](x) for p in self.made)",
            'Float["*batch heads"]',
        ),
        # What is looked up has axes for what the next layers take.
        ("return self.conv(self.tokens(x))", 'Int["*batch height width"]'),
        # What weights do to it.
        ("return x @ self.kernel", 'Float["*batch dim"]'),
        ("w = self.kernel.T * 2\nreturn x @ w", 'Float["*batch 3"]'),
        ("return x * self.scale", 'Float["*batch dim"]'),
        ("return x + self.grid", 'Float["batch height width dim"]'),
        # Axes that are counted from the end have any before them.
        (
            "return jnp.swapaxes(self.norm(x), -1, -2)",
            'Float["*batch length dim"]',
        ),
        ("return jnp.max(x, axis=-2)", 'Float["*batch length dim"]'),
        ("return jnp.max(x, axis=1)", 'Float["batch dim"]'),
        ("return self.kernel[x]", 'Int["*batch"]'),
        ("return jnp.take(self.kernel, x, axis=0)", 'Int["*batch"]'),
        ("return jax.nn.one_hot(x, 3)", 'Int["*batch"]'),
        ("return self.kernel[x[:, :-1], x[:, 1:]]", 'Int["batch length"]'),
        ("return jnp.take_along_axis(z, x[..., None], -1)", 'Int["*batch"]'),
        (
            'return jnp.einsum("bnd,de->bne", x, self.kernel)',
            'Float["batch length dim"]',
        ),
        ('return jnp.einsum("...d,de->...e", x, self.kernel)', 'Float["*batch dim"]'),
        # What has all of its axes but the last one, and other values.
        (
            "y = jnp.argmax(x, axis=-1)\nreturn y[:, 1:] == y[:, :-1]",
            'Float["batch length dim"]',
        ),
        ("y = x.sum(-1)\nreturn y / y.shape[1]", 'Float["batch length dim"]'),
        ("y = x.sum(0)\nreturn y[:, :1]", 'Float["..."]'),
        # What a sub-layer makes that is added to it.
        ("return x + self.deep(self.norm(y))", 'Float["..."]'),
        ("y = 2 * x\nreturn x + self.layers[0](y)", 'Float["*batch dim"]'),
        ("y = jnp.concatenate([x, x])\nreturn self.other.map(y) - x", 'Float["..."]'),
        (
            "y = jnp.concatenate([x, x])\nreturn self.layers[0](y) - x",
            'Float["*batch dim"]',
        ),
        # How it is taken apart.
        ("b, t, c = x.shape\nreturn x", 'Float["b t c"]'),
        ("return x / x.shape[-1]", 'Float["*batch dim"]'),
        ("b, t, c = x.shape\nreturn self.map(x)", 'Float["b t dim"]'),
        ("*batch, c = x.shape\nreturn self.map(x)", 'Float["*batch dim"]'),
        ("n = x.shape[1]\nreturn self.map(x)", 'Float["batch length dim"]'),
        ("return self.map(x[:, 0])", 'Float["batch length dim"]'),
        ("return x[:, None] * self.scale", 'Float["batch"]'),
        # What chooses among the rows of an Einstein sum.
        (
            'e = jnp.einsum("ijhf,hf->ijh", z, self.map)\nreturn jnp.where(x[..., None] > 0, e, 0)',
            'Float["i j"]',
        ),
        (
            'e = jnp.einsum("id,jd->ij", z, z)\nreturn jnp.where(x == 0, -1e9, jax.nn.relu(e))',
            'Int["i j"]',
        ),
        ("return angles(x, 4)", 'Float["batch"]'),
        ("return self._split(x)", 'Float["batch length dim"]'),
        ("return jnp.mean(x, axis=(1, 2))", 'Float["batch length dim"]'),
        ("return self.map(x).transpose(0, 2, 1)", 'Float["batch length dim"]'),
        (
            """
            q, k = jnp.split(self.map(x), 2, axis=-1)
            return lax.scan(f, 0.0, [jnp.swapaxes(a, 0, 1) for a in (q, k)])
            """,
            'Float["batch length dim"]',
        ),
        ("flat = x.reshape(-1, self.dim)\nreturn flat", 'Float["*batch dim"]'),
        (
            "h, c = x\nreturn self.map(h) + c",
            'tuple[Float["*batch dim"], Float["*batch 4"]]',
        ),
        # What has another last axis has as many as a layer takes.
        ("x = self.split(self.map(x))\nreturn x", 'Float["batch length dim"]'),
        # What it is taken apart into is of its kind.
        (
            "# x: [2, e]\nsrc, dst = x\nreturn self.kernel[src] + self.kernel[dst]",
            'Int["2 e"]',
        ),
        (
            """
            # x: [2, e]
            if self.heads:
                x = jnp.concatenate([x, jnp.stack([z, z])], axis=1)
            src, dst = x
            return self.kernel[src]
            """,
            'Int["2 e"]',
        ),
        (
            "# x: [2, e]\nx = jnp.concatenate([x, z])\ns, d = x\nreturn self.kernel[s]",
            'Float["2 e"]',
        ),
        # Layers of a comprehension, of a loop over layers, and of their pairs.
        ("return self.down(x)", 'Float["*batch heads"]'),
        (
            "for f in (self.first, self.map):\n    x = f(x)\nreturn x",
            'Float["*batch dim height width"]',
        ),
        (
            "for f, g in ((self.map, self.norm), (self.norm, self.map)):\n    x = f(x)",
            'Float["*batch dim"]',
        ),
        ("return self.tokens_of(x)", 'Float["batch len(sizes)"]'),
        # What is given by name takes no argument by place.
        ("return self.named(x)", 'Float["*batch heads length"]'),
        # What ends in the channels that are normalized has no axes behind them.
        ("return self.batch_norm(jax.nn.relu(self.map(x)))", 'Float["batch dim"]'),
        ("return self.batch_norm(self.up(x))", 'Float["*batch heads"]'),
        # Weights that are changed element by element keep their shape.
        (
            "w = jax.nn.softmax(self.pair)\nreturn jnp.einsum('bi,ij->bj', x, w)",
            'Float["batch heads"]',
        ),
        # Of a choice it is what either is.
        (
            "y = x if self.heads > 2 else 2 * x\nreturn self.map(y)",
            'Float["*batch dim"]',
        ),
        # An axis that a weight stretches along is not called like its other one.
        ("return self.column * x", 'Float["*batch dim _"]'),
        # What is given to another function under the same name is another array.
        ("def f(x):\n    return self.map(x)\nreturn f(1) + x", 'Float["..."]'),
        ("x = self.grow(x)\nreturn self.map(x)", 'Float["..."]'),
    ],
)
def test_a_body_says_the_axes_of_its_input(body: str, expected: str):
    assert guessed(body, "x") == [expected]


def test_a_constructor_says_what_setup_would():
    module = MODULE.replace("setup(self)", "__init__(self, dim, heads=2)")
    module = re.sub(r"    dim: Size\n    heads: .*\n    sizes: .*\n", "", module)
    module = module.replace(
        "self.norm = LayerNorm(self.dim)", "self.norm = LayerNorm(dim)"
    )
    text = module.replace("{names}", "x").replace(
        "{body}", "        return self.norm(x)"
    )
    source = Source("specs/nn/example.py", text)
    forward = [n for n in ast.walk(source.tree) if getattr(n, "name", "") == "forward"]
    assert isinstance(forward[-1], ast.FunctionDef)
    assert type_of(source, forward[-1], "x") == 'Float["*batch dim"]'


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("x[:, None] - y[None]", ["batch dim", "y_batch dim"]),
        ("x[None] * jnp.exp(y)[:, None]", ["batch dim", "y_batch dim"]),
        ("x[:, None] - y[None, :]", ["batch", "y_batch"]),
        ("x[:, None, :] - y[None, :, :]", ["batch dim", "y_batch dim"]),
        ("x[:, :, None] * y[:, None, :]", ["batch dim", "batch features"]),
        ("x[:, :, None] - y[:, None]", ["batch length dim"] * 2),
        # Of two that are multiplied as matrices neither has as many rows as the other.
        ("self.map(x) @ self.map(y).swapaxes(-1, -2)", ["*batch length dim"] * 2),
        (
            "x.mean(axis=-2) - self.map(y).mean(axis=-2)",
            ["*batch length features", "*batch length dim"],
        ),
    ],
)
def test_what_goes_each_with_each_has_axes_of_its_own(body, shapes):
    shapes = [shapes[0], shapes[1].replace("length", "y_length")]
    found = guessed(f"return {body}", "x", "y")
    assert found == [f'Float["{shape}"]' for shape in shapes]


def test_a_mask_of_one_of_two_lengths_has_one_of_its_own():
    body = """
        h = jnp.tanh(self.map(q)[:, :, None, :] + self.map(kv)[:, None, :, :]).sum(-1)
        return jnp.where(mask[:, None, :], h, 0) if mask is not None else h
        """
    shapes = ["batch length dim", "batch kv_length dim", "batch mask_length"]
    found = guessed(body, "q", "kv", "mask")
    assert [f.partition('"')[2][:-2] for f in found] == shapes
    one = "h = self.map(q).sum(-1)\nreturn jnp.where(mask, h, 0)"
    assert guessed(one, "q", "mask")[1].startswith("Bool")


def test_inputs_that_meet_have_axes_in_common():
    found = guessed(
        """
        scores = self.map(jnp.tanh(self.map(query)[:, None, :] + self.wide(keys)))[..., 0]
        if mask is not None:
            scores = jnp.where(mask, scores, -1e9)
        return scores
        """,
        *("query", "keys", "mask"),
    )
    expected = ["batch dim", "batch length 2*dim", "batch length"]
    assert found == [
        f'{kind}["{shape}"]'
        for kind, shape in zip(("Float", "Float", "Bool"), expected, strict=True)
    ]


def test_what_chooses_rows_of_another_input_is_integers():
    found = guessed("return self.map(x)[i] + jnp.zeros(3).at[i].add(x[i])", "x", "i")
    assert found == ['Float["*batch dim"]', 'Int["*batch"]']


def test_what_stands_in_a_row_of_indices_is_integers_of_the_same_axes():
    body = """
        h = self.map(x)
        table = jnp.einsum("nd,kde->kne", h, jnp.ones((3, 4, 4)))
        return jax.ops.segment_sum(table[kind, senders], senders, h.shape[0])
        """
    found = guessed(body, "x", "kind", "senders")
    assert found == ['Float["batch dim"]', 'Int["edges"]', 'Int["edges"]']


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("edge_index", 'Int["2 edges"]'),
        ("edges", 'tuple[Int["edges"], Int["edges"]]'),
        ("pairs", 'tuple[Int["batch"], Int["batch"]]'),
    ],
)
def test_indices_that_an_input_is_taken_apart_into_are_as_many(
    name: str, expected: str
):
    body = f"""
        h = self.map(x)
        src, dst = {name}
        return jax.ops.segment_sum(h[src], dst, h.shape[0])
        """
    assert guessed(body, "x", name)[1] == expected


def test_rows_that_are_chosen_say_the_axes_of_indices_and_of_what_they_meet():
    body = """
        padded = jnp.concatenate([points, jnp.full((1, 3), 1e6, points.dtype)])
        y = jnp.concatenate([values, jnp.zeros((1, self.dim), values.dtype)])
        rows = y[neighbors]
        near = jnp.exp(-jnp.abs(padded[neighbors] - query[:, None]))
        return jnp.einsum("nkp,nkc,pc->n", near, rows, jnp.ones((3, self.dim)))
        """
    found = guessed(body, "query", "points", "neighbors", "values")
    assert found[0] == 'Float["batch 3"]'
    assert found[2] == 'Int["batch length"]'


def test_an_outer_product_says_that_what_it_meets_has_two_axes():
    body = """
        above = (levels[:, None] > jnp.arange(logits.shape[1])[None, :]).astype(logits.dtype)
        return jnp.exp(logits) * above
        """
    found = guessed(body, "logits", "levels")
    assert found == ['Float["batch dim"]', 'Int["batch"]']


def test_open_axes_are_not_called_like_one_axis_of_another_input():
    found = guessed("y = jnp.zeros((x.shape[0], 1)); return self.map(x)[i]", "x", "i")
    assert found == ['Float["batch dim"]', 'Int["*axes"]']


@pytest.mark.parametrize(
    ("body", "names", "shapes"),
    [
        (
            "return J([x, y], axis=-1)",
            "x y",
            ["*batch dim", "*batch features"],
        ),
        ("return J([x, jnp.tanh(x)], axis=-1)", "x", ["*batch dim"]),
        ("return J([x, y])", "x y", ["...", "..."]),
        ("return self.both(J([x, y], axis=-1))", "x y", ["*batch dim", "*batch heads"]),
        (
            "z = J((x, y), 1)\nreturn self.both(z)",
            "x y",
            ["batch dim", "batch heads"],
        ),
        # What is known of one says which size is the other one's, and so do names.
        (
            "z = self.other(x)\nreturn self.both(J([x, y], axis=-1)) + z",
            "x y",
            ["*batch heads", "*batch dim"],
        ),
        ("return self.both(J([h, x], axis=-1))", "h x", ["*batch heads", "*batch dim"]),
        ("return self.wide(J([x, y], axis=-1))", "x y", ["*batch dim", "*batch dim"]),
        # Of as many axes are all, and the same but where they are joined or one is made larger.
        (
            "b, c, h, w = x.shape\nreturn self.merged(J([x, y, z], axis=1))",
            "x y z",
            ["b dim h w", "b heads h w", "b heads h w"],
        ),
        (
            "x = jnp.repeat(jnp.repeat(x, 2, axis=2), 2, axis=3)\n"
            "return self.merged(J([x, y, y], axis=1))",
            "x y",
            ["batch dim height width", "batch heads y_2 y_3"],
        ),
    ],
)
def test_what_is_joined_has_sizes_of_its_own_there(body, names, shapes):
    found = guessed(body.replace("J(", "jnp.concatenate("), *names.split())
    assert found == [f'Float["{shape}"]' for shape in shapes]


def test_a_docstring_calls_axes_otherwise_than_a_layer_that_is_called():
    said = '"""x: (n, len(sizes)), z: (n, 3)"""' + chr(10)
    assert guessed(f"{said}return self.tokens_of(x) @ z", "x", "z") == [
        'Float["batch len(sizes)"]',
        'Float["n 3"]',
    ]
    said = said.replace("len(sizes)", "c")
    assert guessed(f"{said}return self.tokens_of(x) @ z", "x", "z") == [
        'Float["n len(sizes)"]',
        'Float["n 3"]',
    ]


@pytest.mark.parametrize(
    ("body", "types"),
    [
        ("return jnp.concatenate([t[None], x])", ("", "batch")),
        ("return jnp.concatenate([x, t[jnp.newaxis]], axis=0)", ("", "batch")),
        ("return jnp.concatenate([t[None], self.map(x)])", ("...", "*batch dim")),
        (
            "y = self.map(x)\nreturn jnp.concatenate([t[None], x])",
            ("...", "*batch dim"),
        ),
    ],
)
def test_what_is_joined_with_a_number_is_a_vector(body: str, types: tuple[str, str]):
    assert guessed(body, "t", "x") == [f'Float["{shape}"]' for shape in types]


JOINED = "def f(x):\n    {said}\n    return jnp.concatenate([x, x], axis=-1)\n"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (JOINED.format(said="y = x"), True),
        (JOINED.format(said='"""Images: (N, C, H, W)."""'), False),
        (JOINED.format(said='"""Images: (N, H, W, C)."""'), True),
        (JOINED.format(said='def g(y: Float["b c h w"]): pass'), False),
        (JOINED.format(said='def g(y: Float["b h w"]): pass'), True),
        ("x = jnp.concatenate([x, x], axis=1)", False),
        ("b, c, t = x.shape\ny = jnp.concatenate([x, x], axis=-1)", False),
        ("y = x.mean(axis=(1, 2))", True),
    ],
)
def test_what_is_joined_last_tells_where_channels_are_if_nothing_says_it(text, last):
    assert channels_are_last(ast.parse(text)) is last


def test_a_field_may_be_of_a_kind_of_an_input():
    known = Known("next_obs")
    known.from_end(-1)
    assert known.annotation(["action_dim", "obs_dim"]) == 'Float["*batch obs_dim"]'


def test_beside_a_batch_that_is_written_there_is_one():
    body = "return jnp.concatenate([x, y], axis=-1) @ self.square + reward"
    text = 'reward: Float["batch"]'
    assert guessed(body, "x", text)[:1] == ['Float["batch dim"]']


@pytest.mark.parametrize(
    ("said", "shape"),
    [
        ("x: (batch, time, dim)", "batch time dim"),
        ("x: source points, [B, N, 3]", "b n 3"),
        ("y: a mask; x: b x n x c", "b n c"),
        ("x (jax.Array): tokens of shape (..., T, C)", "*batch t c"),
        ("x: (optional, float)", "..."),
        ("x: what y: (b, n) is", "..."),
        ("xx: (b, n)", "..."),
        ("x: scores (n,)", "n"),
        ("x: scores (n)", "..."),
        ("x: (n, n)", "n n"),
        ("x: tokens (Smith, 2017)", "..."),
        ("x: (batch * heads, time, dim)", "batch time dim"),
        ("x, y: (b, t, d)", "b t d"),
        ("y, `x` and z have shape (b, n)", "b n"),
        ("x and so on: (b, t, d)", "..."),
        ("x (n, 3) -> rows (m, k)", "n 3"),
        ("x (float) : rows (m, k)", "m k"),
    ],
)
def test_a_docstring_says_the_axes_of_an_input(said, shape):
    body = f'"""Does something.\n\n{said}\n"""\nreturn jnp.exp(x)'
    assert guessed(body, "x") == [f'Float["{shape}"]']


@pytest.mark.parametrize(
    ("comment", "shape"),
    [
        ("x: b t dim, y: b t", "b t dim"),
        ("y: b t, x: batch, time, heads", "batch time heads"),
        ("b h w c", "..."),
        ("x: the scaled dim", "..."),
        ("x: b", "..."),
    ],
)
def test_a_comment_says_axes_without_brackets(comment, shape):
    found = guessed(f"# {comment}\nreturn jnp.exp(x) + jnp.exp(y).sum()", "x", "y")
    assert found[0] == f'Float["{shape}"]'


@pytest.mark.parametrize("comment", ["b h w c", "(b, h, w, c)", "[b, h, w, c]"])
def test_a_comment_that_is_a_shape_alone_is_of_the_one_input(comment: str):
    assert guessed(f"# {comment}\nreturn jnp.exp(x)", "x") == ['Float["b h w c"]']


CALLED = """\
import jax
from mlax_scaffold.spec import Layer


class Part(Layer):
    width: int

    def forward(self, x):
        return jax.nn.relu(x)


class Whole(Layer):
    \"\"\"x: (batch, time, dim)\"\"\"

    dim: int

    def setup(self):
        self.parts = [Part(self.dim) for _ in range(2)]

    def forward(self, x{type}):
        for part in self.parts:
            x = part(x)
        return x
"""


@pytest.mark.parametrize("type_", ["", ': Float["batch time dim"]'])
def test_what_a_class_beside_it_gives_says_axes(type_: str):
    source = Source("specs/nn/part.py", CALLED.replace("{type}", type_))
    part = source.tree.body[2]
    assert isinstance(part, ast.ClassDef)
    assert isinstance(forward := part.body[1], ast.FunctionDef)
    assert type_of(source, forward, "x") == 'Float["batch time width"]'


def test_an_axis_may_be_computed_of_hyperparameters():
    body = '"""x: (batch, 5 + classes, groups * 2)."""\nreturn jnp.exp(x)'
    text = "x, classes: int = 3, groups: int = 2"
    lines = f"def f({text}):\n{textwrap.indent(body, '    ')}\n"
    source = Source("specs/functional/f.py", lines)
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert type_of(source, function, "x") == 'Float["batch 5+classes groups*2"]'


def test_a_mask_that_is_added_is_floating_also_where_it_may_be_made():
    added = (
        "y = self.tokens(x).reshape(2, -1)\n{}return jax.nn.softmax(y + mask, axis=-1)"
    )
    made = "if mask is None:\n    mask = jnp.full((2, 2), -jnp.inf)\n"
    for before in ("", made):
        assert guessed(added.format(before), "x", "mask")[1] == 'Float["..."]'


def test_a_mask_that_is_cast_is_true_or_false():
    body = '"""mask: (b, t)"""\nm = mask.astype(x.dtype)\nreturn x * m + (1 - m)'
    assert guessed(body, "x", "mask")[1] == 'Bool["b t"]'


def test_what_goes_with_an_input_of_any_shape_has_any_shape():
    found = guessed(
        "return jnp.where(mask, self.tokens(x), 0.0) + y[..., None] * x",
        "x",
        "y",
        "mask",
    )
    assert found[2] == 'Bool["..."]'
    assert guessed("return jnp.where(y, x, 0.0)", "x", "y") == [
        'Float["..."]',
        'Bool["..."]',
    ]


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("return x * jnp.ones((x.shape[0],) + (1,) * (x.ndim - 1))", ["batch *rest"]),
        (
            "return x + jnp.ones((1, 3) + (1,) * (len(x.shape) - 2))",
            ["batch length *rest"],
        ),
        ("return ((x - y) ** 2).sum(tuple(range(1, x.ndim)))", ["batch *rest"] * 2),
        ("n = np.prod(x.shape[1:-1])\nreturn n * self.map(x)", ["batch *rest dim"]),
        ("n = jnp.ndim(x)\nreturn jnp.flip(x, n - 1)", ["*rest"]),
        # How many axes are before the last one is what a layer does not ask.
        ("return self.map(x).sum(axis=x.ndim - 1)", ["*batch dim"]),
        # What is compared is what it is to be.
        ("assert x.ndim == 2\nreturn x @ self.kernel", ["*batch dim"]),
        (
            "a, b = tuple(range(1, x.ndim)), tuple(range(1, y.ndim))\n"
            "return x.sum(a) + y.sum(b)",
            ["batch *x_rest", "batch *y_rest"],
        ),
    ],
)
def test_an_input_whose_axes_are_counted_has_any_number_of_them(body, shapes):
    inputs = ("x", "y")[: len(shapes)]
    assert guessed(body, *inputs) == [f'Float["{shape}"]' for shape in shapes]


def test_what_goes_with_another_input_has_its_axes_whatever_else_is_read_of_it():
    body = "n, d = x.shape\nreturn ((x - y) ** 2).sum() / n + y.mean(axis=0).sum()"
    assert guessed(body, "x", "y") == ['Float["n d"]', 'Float["n d"]']
    body = "return x - y + self.map(x) + y.mean(axis=1, keepdims=True)"
    assert guessed(body, "x", "y") == ['Float["*batch dim"]'] * 2


def test_what_goes_with_the_result_of_a_product_has_another_last_axis():
    body = "y = x @ self.kernel\nreturn y * h"
    assert guessed(body, "x", "h") == [
        'Float["*batch dim"]',
        'Float["*batch h_features"]',
    ]


def test_what_is_added_to_an_array_of_more_axes_has_as_many():
    body = """
        y = jnp.einsum("bihd,bjhd->bhij", x, x)
        y = y + z
        return y.swapaxes(1, 2)
    """
    assert guessed(body, "x", "z")[1] == 'Float["z_0 z_1 z_2 z_3"]'


def test_an_input_that_gets_an_axis_has_those_of_the_other_but_the_last():
    for body in (
        "return self.map(x) * t[..., None]",
        "return self.map(x) + jnp.sin(t[..., None] * self.scale)",
        "return x * self.scale * t[..., None]",
    ):
        assert guessed(body, "x", "t") == ['Float["*batch dim"]', 'Float["*batch"]']


ATTENDED = """
b, t, c = x.shape
q, k = [jnp.reshape(x, (b, t, 2, c // 2)).swapaxes(1, 2) for _ in range(2)]
logits = {}
{}
return logits.mean((1, 3))[..., None] * x
"""


@pytest.mark.parametrize(
    ("logits", "used", "shape"),
    [
        ("q @ k.mT", "logits = jnp.where(m[:, None, None], logits, 0.0)", "b t"),
        ("q @ k.mT / c", "logits = logits * (1 - m[:, None, None])", "b t"),
        (
            'jnp.einsum("bhid,bhjd->bhij", q, k)',
            "m = m[:, None]\nlogits += m",
            "b t length",
        ),
        (
            "q @ k.mT",
            "m = m[:, None]\nlogits = jnp.where(m, logits, 0.0)",
            "b t length",
        ),
        ("jax.nn.softmax(q @ k.mT)", "logits = logits * m[:, None, None, None]", "b"),
    ],
)
def test_new_axes_at_the_end_stand_before_others_of_what_it_goes_with(
    logits: str, used: str, shape: str
):
    found = guessed(ATTENDED.format(logits, used), "x", "m")
    assert found[0] == 'Float["b t c"]'
    assert found[1].partition('"')[2] == f'{shape}"]'


def test_new_axes_stand_before_others_of_what_a_docstring_describes():
    body = """\
        \"\"\"x: (batch, classes, height, width), labels: (batch, height, width)\"\"\"
        p = jnp.exp(jax.nn.log_softmax(x, axis=1))
        return (p * m[:, None]).sum((2, 3)) * labels.mean()
    """
    found = guessed(body, "x", "labels", "m")
    assert found[2] == 'Float["batch height width"]'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return jnp.where(m[:, None, None, :], x, 0.0)", 'Bool["batch length"]'),
        ("return jnp.where(~m, x, 0.0)", 'Bool["..."]'),
        ("return jnp.sum(x > 0 & m, axis=-1)", 'Bool["*batch"]'),
        ("return x * (m[:, None] == m[None, :])", 'Int["batch"]'),
        ("return x * (m == 2)", 'Int["*batch"]'),
        ("return x * (jnp.arange(3)[None, :] < m[:, None])", 'Int["batch"]'),
        ("places = jnp.arange(3)\nreturn x * (places < m[:, None])", 'Int["batch"]'),
        # What is computed of is a number.
        ("return x * m * (m == 2)", 'Float["..."]'),
        ("return x * (m == 2.5)", 'Float["..."]'),
        ("return x * (m > 2)", 'Float["..."]'),
    ],
)
def test_what_chooses_is_no_number(body: str, expected: str):
    assert guessed(body, "x", "m")[1] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mask", 'Bool["*batch"]'),
        ("key_mask", 'Bool["*batch"]'),
        ("token_ids", 'Int["*batch"]'),
        ("senders", 'Int["edges"]'),
        ("lengths", 'Float["..."]'),
    ],
)
def test_a_name_says_the_kind_where_nothing_else_does(name: str, expected: str):
    assert guessed(f"return f(x, {name})", "x", name)[1] == expected
    assert guessed(f"return x * {name}", "x", name)[1].startswith("Float")


SCAN = """
def step(h, {given}):
{body}
    return h, k
return lax.scan(step, 0.0, {arrays})
"""


@pytest.mark.parametrize(
    ("given", "body", "arrays"),
    [
        ("inputs", "    k, u = inputs\n    h = h + self.kernel[k] @ u", "(x.T, y.T)"),
        (
            "inputs",
            "    k, u = inputs\n    h = self.kernel[k]",
            "(jnp.swapaxes(x, 0, 1), y)",
        ),
        ("k", "    h = self.kernel[k]", "xs=x.swapaxes(0, 1)"),
    ],
)
def test_a_step_of_a_scan_says_what_its_elements_are(given, body, arrays):
    text = SCAN.format(given=given, body=body, arrays=arrays).replace(
        "0.0, xs", "init=0.0, xs"
    )
    assert guessed(text, "x", "y")[0].startswith("Int")


def test_a_step_of_a_scan_says_the_last_axis():
    text = SCAN.format(given="k", body="    h = self.map(k)", arrays="x.swapaxes(0, 1)")
    assert guessed(text, "x") == ['Float["batch length dim"]']


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ("x,  # (batch, time)", 'Float["batch time"]'),
        ("x,  # [B, T, dim]", 'Float["b t dim"]'),
        ("x,  # a comment", 'Float["..."]'),
    ],
)
def test_a_comment_beside_an_input_is_its_shape(above: str, expected: str):
    assert guessed("return x", f"\n    {above}\n")[0] == expected


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("x (batch, n) ints; y (batch, n) floats", 'Int["batch n"]'),
        ("x (batch, n) floats, y (batch, n) ints", 'Float["batch n"]'),
        ("x: int array of shape (batch, n)", 'Int["batch n"]'),
        ("x.shape == (b, t, dim)", 'Float["b t dim"]'),
        ("x -> (b, t)", 'Float["b t"]'),
        ("x shape (b, t)", 'Float["b t"]'),
        ("x, y: (b, t)", 'Float["b t"]'),
        ("x: (nodes, nodes)", 'Float["nodes nodes"]'),
        ("y and x: (b, t)", 'Float["b t"]'),
        ("x and y and z are of shape (b, t)", 'Float["..."]'),
        ("x and y: returns the sum (h, b, t) of x: (b, t) and y", 'Float["b t"]'),
        ("x is y (b, t)", 'Float["..."]'),
        ("f(x, y)", 'Float["..."]'),
        ("x; y: (b, t)", 'Float["..."]'),
    ],
)
def test_comments_say_shapes_and_kinds(comment: str, expected: str):
    assert guessed(f"# {comment}\nreturn x", "x") == [expected]


def test_a_cell_says_what_both_of_its_inputs_are():
    found = guessed("return self.cell(x, carry)", "x", "carry")
    assert found[0] == 'Float["*batch dim"]'


def test_usual_names_of_axes_are_no_fields_of_the_class():
    text = MODULE.replace("heads: Size", "batch: Size").replace(
        "self.heads", "self.batch"
    )
    text = text.replace("{names}", "x").replace(
        "{body}", "        return self.map(x[:, 0])"
    )
    source = Source("specs/nn/example.py", text)
    method = next(
        n
        for n in reversed(list(ast.walk(source.tree)))
        if isinstance(n, ast.FunctionDef) and n.name == "forward"
    )
    assert type_of(source, method, "x") == 'Float["x_batch length dim"]'


def test_a_block_takes_what_its_layers_take():
    text = """\
from mlax_scaffold.spec import Block, SubLayer


class Example(Block):
    layer: SubLayer

    def forward(self, x):
        return x + self.layer(x)
"""
    source = Source("specs/block/example.py", text)
    method = source.tree.body[1].body[1]  # type: ignore[attr-defined]
    assert type_of(source, method, "x") == "PyTree"


@pytest.mark.parametrize(
    ("field", "shape"),
    [
        ("widths: Sizes", "batch height width"),
        ("patch: Size", "batch channels"),
        ("weight: Size", "height channels"),
    ],
)
def test_an_axis_may_be_called_like_a_field(field: str, shape: str):
    text = f"""
from mlax_scaffold.spec import Float, Layer, Size, Sizes


class Example(Layer):
    \"\"\"A spec of a test.\"\"\"

    {field}

    def forward(self, x: Float["{shape}"]) -> Float["{shape}"]:
        return x * 2
"""
    read, problems = read_spec("specs/nn/example.py", text)
    assert problems == ()
    assert read is not None
    assert check_shapes(read) == []


CELL = """
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size


class Example(Layer):
    features: Size
    slots: Size = 2

    def forward(self, x: Float["{shape}"], carry):
        return x, carry

    def initial_carry(self, input_shape, dtype):
{body}
"""


@pytest.mark.parametrize(
    ("shape", "body", "expected"),
    [
        ("batch n", "return jnp.zeros(input_shape, dtype)", 'Float["batch n"]'),
        (
            "*batch n",
            "return jnp.zeros((*input_shape[:-1], self.features), dtype)",
            'Float["*batch features"]',
        ),
        (
            "*batch n",
            "batch = input_shape[:-1]\nc = jnp.zeros((*batch, self.features), dtype)\n"
            "return (c, c), jnp.ones((*batch, 2), dtype)",
            'tuple[tuple[Float["*batch features"], Float["*batch features"]], Float["*batch 2"]]',
        ),
        (
            "*batch n",
            "shape = input_shape[:-1] + (2 * self.features,)\nreturn jnp.ones(shape)",
            'Float["*batch 2*features"]',
        ),
        (
            "batch n",
            "size = input_shape[0]\nh = jnp.zeros((size, self.features), dtype)\n"
            "return (h, h), jnp.full((size, 3), -1, jnp.int32), jnp.zeros(size, bool)",
            'tuple[tuple[Float["batch features"], Float["batch features"]], '
            'Int["batch 3"], Bool["batch"]]',
        ),
        (
            "batch n",
            "return jnp.zeros((input_shape[0], self.slots), dtype).at[:, 0].set(1.0)",
            'Float["batch slots"]',
        ),
        (
            "batch n",
            "b, d = input_shape[:-1], self.features\n"
            "return jnp.zeros((*b, d, d), dtype), jnp.zeros((*b, 1), dtype)",
            'tuple[Float["batch features features"], Float["batch 1"]]',
        ),
        # One that is given as a size is that of the batch.
        (
            "*batch n",
            "return jnp.zeros((input_shape, self.features), dtype)",
            'Float["*batch features"]',
        ),
        # What the text does not tell.
        ("*batch n", "return jnp.zeros((input_shape[0], 2), dtype)", 'Float["..."]'),
        ("batch *n", "return jnp.zeros(input_shape[:-1], dtype)", 'Float["..."]'),
        ("batch n", "return jnp.zeros(input_shape[1:], dtype)", 'Float["..."]'),
        ("batch n", "return self.made(input_shape), 0", 'Float["..."]'),
        (
            "batch n",
            "size = 1\nsize = 2\nreturn jnp.zeros((size,), dtype)",
            'Float["..."]',
        ),
        ("batch n", "return jnp.zeros((3,), self.other)", 'Float["..."]'),
        (
            "batch n",
            "b = input_shape[0]\n"
            "made = lambda *shape: jnp.zeros((b, *shape), dtype)\n"
            "return made(self.features), made(3, self.features)",
            'tuple[Float["batch features"], Float["batch 3 features"]]',
        ),
        (
            "batch n",
            "def made(size):\n    return jnp.ones((input_shape[0], size), dtype)\n"
            "return (made(self.features), made(2)), made(3)",
            'tuple[tuple[Float["batch features"], Float["batch 2"]], Float["batch 3"]]',
        ),
        (
            "batch n",
            "made = lambda size, other: jnp.ones((size, other), dtype)\n"
            "return made(*input_shape)",
            'Float["..."]',
        ),
    ],
)
def test_what_a_cell_begins_with_is_the_type_of_its_carry(shape, body, expected):
    text = CELL.format(shape=shape, body=textwrap.indent(body, " " * 8))
    source = Source("specs/nn/example.py", text)
    forward = next(
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.FunctionDef) and n.name == "forward"
    )
    assert type_of(source, forward, "carry") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "return jnp.sum(jnp.tanh(x)[..., None] * self.pair, axis=-2)",
            'Float["*batch dim"]',
        ),
        ("return jnp.sum(jnp.tanh(x)[..., None] * self.pair, axis=-1)", 'Float["..."]'),
        (
            "return jnp.sum(jnp.tanh(x)[..., None], axis=-3)",
            'Float["*batch length dim"]',
        ),
    ],
)
def test_a_new_axis_at_the_end_is_none_of_the_input(body: str, expected: str):
    assert guessed(body, "x") == [expected]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return self.map(x) / temperature", 'Float[""]'),
        ("return self.map(x) / temperature[:, None]", 'Float["batch"]'),
    ],
)
def test_some_names_are_those_of_single_numbers(body: str, expected: str):
    assert guessed(body, "x", "temperature")[1] == expected


@pytest.mark.parametrize(
    ("name", "axis"), [("n", "features_of_n"), ("memory", "memory_features")]
)
def test_no_axis_is_called_almost_like_a_field(name: str, axis: str):
    fields = ("in_features", "features")
    known = Known(name, others=fields)
    known.has(2)
    assert known.annotation(fields) == f'Float["batch {axis}"]'


def test_an_axis_of_a_result_may_have_the_words_of_a_field_and_others():
    text = """
from mlax_scaffold.spec import Float, Layer, Size


class Example(Layer):
    \"\"\"A spec of a test.\"\"\"

    in_features: Size

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch {axis}"]:
        return x
"""

    def messages(axis: str) -> list[str]:
        read, problems = read_spec("specs/nn/example.py", text.format(axis=axis))
        assert problems == ()
        assert read is not None
        return [d.message for d in check_shapes(read)]

    assert messages("features") == []
    assert messages("all_in_features") == []
    [message] = messages("in_featurs")
    assert "neither a hyperparameter nor an axis" in message


def test_the_carry_of_what_takes_more_than_an_input_is_the_last():
    text = CELL.format(
        shape="batch n", body=" " * 8 + "return jnp.zeros(input_shape, dtype)"
    ).replace(", carry):", ", t, carry):")
    source = Source("specs/nn/example.py", text)
    [owner] = [s for s in source.tree.body if isinstance(s, ast.ClassDef)]
    forward = next(s for s in owner.body if getattr(s, "name", "") == "forward")
    assert isinstance(forward, ast.FunctionDef)
    assert type_of(source, forward, "carry") == 'Float["batch n"]'
    assert type_of(source, forward, "t") == 'Float["..."]'


IMAGES = """from mlax_scaffold.spec import BatchNorm, Conv, Layer, MaxPool


class Part(Layer):
    \"\"\"{said}\"\"\"

    channels: int
    kernel: int = 3

    def setup(self):
        self.conv = Conv(self.channels, 8, self.kernel)
        self.pool = MaxPool({sizes})

    def forward(self, x):
        return self.pool(self.conv(x)){behind}
"""


@pytest.mark.parametrize(
    ("said", "behind", "shape"),
    [
        ("Convolves.", "", "*batch channels height width"),
        (
            "Images are (batch, height, width, channels).",
            "",
            "*batch height width channels",
        ),
        ("NHWC.", "", "*batch height width channels"),
        ("Convolves.", ".mean(axis=(2, 3))", "batch channels height width"),
        (
            "Takes x: (batch, channels, height, width), and returns the same.",
            "",
            "batch channels height width",
        ),
    ],
)
@pytest.mark.parametrize("sizes", ["(3, 3)", "(self.kernel, self.kernel)"])
def test_a_file_says_where_channels_are_and_how_many_axes_there_are(
    said, behind, shape, sizes
):
    """Where the axes of the layer itself are left out, those of another one tell them."""
    text = IMAGES.format(said=said, behind=behind, sizes=sizes)
    assert any(f'Float["{shape}"]' in edit for edit in edits_of(text, "nn"))


WAVES = """from mlax_scaffold.spec import Conv, Layer


class Part(Layer):
    \"\"\"Convolves.\"\"\"

    channels: int

    def setup(self):
        self.first = Conv(1, self.channels, 3)
        self.conv = Conv(self.channels, self.channels, 3)

    def forward(self, waves):
        batch, samples = waves.shape
        y = self.conv(jax.nn.relu(self.first(waves[:, None])))
        return y / y.mean(axis=(1, 2), keepdims=True)


class Other(Layer):
    \"\"\"Convolves.\"\"\"

    channels: int

    def setup(self):
        self.conv = Conv(self.channels, 4, 3)

    def forward(self, x):
        return self.conv(x)
"""


def test_what_layers_are_given_says_how_many_axes_there_are():
    edits = edits_of(WAVES, "nn")
    assert ': Float["*batch channels length"]' in edits
    unknown = edits_of(WAVES.replace("batch, samples", "batch, *samples"), "nn")
    assert ': Float["*batch channels"]' in unknown


def edits_of(text: str, section: str) -> list[str]:
    """The texts of the edits that are offered for a spec."""
    file = SpecFile(f"specs/{section}/part.py", section, text)
    with pytest.raises(SpecError) as caught:
        read_library((file,), find_specs(LIBRARY_SPECS, "library"), foreign=True)
    return [e.text for d in caught.value.diagnostics if d.fix for e in d.fix.edits]


def test_what_is_said_to_be_of_integers_has_no_dtype_to_compute_in():
    text = '''import jax.numpy as jnp


def distance(a, b, cost=1.0):
    """How many edits lead from one to the other.

    a: (n,) integers, b: (m,) integers
    """
    row = jnp.arange(b.shape[0] + 1) * cost
    return jnp.where(a[:, None] == b, 0.0, cost).sum() + row[-1]
'''
    edits = edits_of(text, "functional")
    assert 'Int["n"]' in "".join(edits)
    assert not any(".dtype" in edit for edit in edits)


MEMORY = '''from typing import NamedTuple, Optional
import jax
import jax.numpy as jnp
from mlax_scaffold.spec import Layer, Size, trainable, zeros


class State(NamedTuple):
    shift: jax.Array  # of the last step
    memory: jax.Array
    count: jax.Array


class Example(Layer):
    """A layer with a state."""

    dim: Size
    heads: Size = 2

    def setup(self):
        self.kernel = trainable(zeros, (self.dim, self.dim))

    def initial_state(self, batch, dtype):
        head = self.dim // self.heads
        return State(jnp.zeros((batch, 4)), jnp.zeros((batch, head)), jnp.zeros(4))

    def forward(self, x, {state}):
        b, t, d = x.shape
        n = d // self.heads
        if state is None:
            state = {begun}
        y = x @ self.kernel + state.shift[:, None]
        return y, State(x[:, -1], state.memory, state.count + t)
'''
BEGUN = (
    "State(jnp.zeros((b, d), x.dtype), jnp.zeros((b, self.heads, n, n)),"
    " count=jnp.zeros((), jnp.int32))"
)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("state=None", ": State | None"),
        ("state: Optional[State] = None", "State | None"),
    ],
)
def test_a_state_that_is_an_input_is_what_stands_in_its_place(state: str, text: str):
    edits = edits_of(MEMORY.replace("{state}", state).replace("{begun}", BEGUN), "nn")
    assert text in edits
    fields = [e for e in edits if e.startswith(("Float", "Int"))]
    assert fields == [
        'Float["b dim"]',
        'Float["b heads dim//heads dim//heads"]',
        'Int[""]',
    ]


def test_a_state_may_be_begun_by_a_method():
    made = MEMORY.replace("{state}", "state=None")
    edits = edits_of(made.replace("{begun}", "self.initial_state(b, x.dtype)"), "nn")
    assert ": State | None" in edits


def test_an_array_that_is_an_input_is_like_what_stands_in_its_place():
    text = MEMORY.replace("{state}", "state=None").replace("state.shift", "state")
    text = text.replace("state.memory", "state").replace("state.count", "state")
    edits = edits_of(text.replace("{begun}", "jnp.zeros((b, d), x.dtype)"), "nn")
    assert ': Float["b dim"] | None' in edits
    edits = edits_of(text.replace("{begun}", "(jnp.zeros((b, d)), jnp.ones(t))"), "nn")
    assert ': tuple[Float["b dim"], Float["t"]] | None' in edits


PAIR = '''import jax
import jax.numpy as jnp
from mlax.nn import LayerNorm, Linear
from mlax_scaffold.spec import Float, Layer, Size, trainable, zeros


class Pair(Layer):
    """Attends from one sequence to another."""

    dim: Size

    def setup(self):
        self.norm = LayerNorm(self.dim)
        self.other = LayerNorm(self.dim)

    def forward(self, x, y):
        {lengths}
        return jnp.einsum("nd,md->nm", self.norm(x), self.other(y))
'''


def test_inputs_whose_lengths_have_two_names_are_not_as_long():
    two = PAIR.replace("{lengths}", "n, m = x.shape[0], y.shape[0]")
    assert {': Float["batch dim"]', ': Float["m dim"]'} <= {*edits_of(two, "nn")}
    one = PAIR.replace("einsum", "add").replace(
        "{lengths}", "n = x.shape[0]\n        k = y.shape[0] // n"
    )
    assert not any("k dim" in edit for edit in edits_of(one, "nn"))


def test_layers_of_the_library_are_known_by_the_names_of_its_package():
    text = PAIR.replace("{lengths}", "")
    text = text.replace('jnp.einsum("nd,md->nm", self.norm(x), self.other(y))', "{}")
    called = text.replace("{}", "self.norm(x), self.other(y)")
    assert edits_of(called, "nn").count(': Float["*batch dim"]') == 2
    beside = called.replace("from mlax.nn", "from mlax_scaffold.nn")
    assert edits_of(beside, "nn").count(': Float["*batch dim"]') == 2
    other = called.replace("from mlax.nn", "from torch.nn")
    assert ': Float["*batch dim"]' not in edits_of(other, "nn")


CALLED_TWICE = (
    PAIR.replace("{lengths}", "").replace(
        'jnp.einsum("nd,md->nm", self.norm(x), self.other(y))', "jnp.dot(x, y.T)"
    )
    + '''

class Induced(Layer):
    """Calls it with weights, and with what it is given."""

    dim: Size

    def setup(self):
        self.points = trainable(zeros, (3, self.dim))
        self.first = Pair(self.dim)
        self.second = Pair(self.dim)

    def forward(self, x: Float["n dim"]) -> Float["..."]:
        h = self.first(self.points, x)
        return self.second(x, h)
'''
)


@pytest.mark.parametrize("package", ["mlax.nn", "torch.nn"])
def test_axes_that_two_calls_give_are_two(package: str):
    text = CALLED_TWICE.replace("mlax.nn", package)
    text = text.replace("x, y.T", "self.norm(x), self.other(y).T")
    assert edits_of(text, "nn")[-2:] == [
        ': Float["n dim"]',
        ': Float["y_n dim"]',
    ]


def test_what_stands_before_the_last_axis_is_open_behind_an_ellipsis():
    text = (
        PAIR.replace("x, y", "x")
        .replace("{lengths}", "")
        .replace(
            'jnp.einsum("nd,md->nm", self.norm(x), self.other(y))',
            "x[..., ::2] - x[..., 1::2]",
        )
    )
    assert ': Float["*batch dim"]' in edits_of(text, "nn")


def test_what_is_joined_with_an_array_that_is_made_has_its_other_axes():
    text = PAIR.replace("{lengths}", "far = jnp.full((1, 3), 9.0)").replace(
        'jnp.einsum("nd,md->nm", self.norm(x), self.other(y))',
        "jnp.concatenate([x, far]), jnp.concatenate([y, jnp.zeros((1, self.dim))])",
    )
    edits = edits_of(text, "nn")
    assert [e for e in edits if "Float" in e] == [
        ': Float["batch 3"]',
        ': Float["batch dim"]',
    ]


@pytest.mark.parametrize(
    "body",
    [
        "return x @ (self.kernel * allowed)",
        "return x.dot(allowed * self.kernel)",
        "kernel = self.kernel * allowed\nreturn jnp.dot(x, kernel)",
    ],
)
def test_what_goes_with_a_matrix_is_one(body: str):
    assert guessed(body, "x", "allowed") == [
        'Float["*batch dim"]',
        'Float["dim 3"]',
    ]


SCANNED = """
def step(carry, inputs):
    reward, value = inputs
    carry = reward + 0.9 * carry - value
    return carry, carry
{rest}
"""


@pytest.mark.parametrize(
    "rest",
    [
        "return lax.scan(step, z, (x, y), reverse=True)",
        "_, out = lax.scan(step, jnp.zeros_like(z), (x, y))\nreturn out + z",
        "first = (z, jnp.zeros_like(z))\nreturn lax.scan(step, first, xs=(x, y))",
    ],
)
def test_what_a_scan_goes_through_has_an_axis_before_those_of_its_carry(rest: str):
    body = SCANNED.format(rest=rest)
    assert guessed(body, "x", "y", "z") == [
        'Float["time *batch"]',
        'Float["time *batch"]',
        'Float["*batch"]',
    ]


def test_what_is_known_of_what_a_scan_goes_through_stays():
    body = SCANNED.format(rest="return lax.scan(step, z, (self.map(x), y))[1] + x[0]")
    assert guessed(body, "x", "y")[0] == 'Float["*batch dim"]'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return jax.nn.softmax(-x / 2.0)", ["*batch dim"]),
        ("return jax.nn.softmax(x, axis=0)", ["batch"]),
        ("return jnp.argsort(x)[..., :2]", ["*batch dim"]),
        (
            "return jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=-1)[:, 0]",
            ["batch dim", "batch"],
        ),
        (
            "return jnp.take_along_axis(x, y[..., None], axis=-1)[..., 0]",
            ["*batch dim", "*batch"],
        ),
        ("return (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])", ["batch 4"]),
        ("return x[..., 0] + x[..., 1] * x[..., 2]", ["*batch 3"]),
        ("return x[:, 0] + x[:, 1]", ["batch length dim"]),
        ("return x[:, 0] + x[:, 5] + x[:, 2]", ["batch length dim"]),
    ],
)
def test_what_is_read_along_a_last_axis(body: str, expected: list[str]):
    assert [t.partition('"')[2] for t in guessed(body, "x", "y")][: len(expected)] == [
        f'{shape}"]' for shape in expected
    ]


BOXES = """
def area(z):
    return (z[:, 2] - z[:, 0]) * (z[:, 3] - z[:, 1])
first = jnp.maximum(x[:, None, :2], y[{index}, :2])
last = jnp.minimum(x[:, None, 2:], y[{index}, 2:])
return (last - first).prod(-1)
"""


def test_boxes_each_of_which_goes_with_each_are_not_as_many():
    assert guessed(BOXES.format(index="None, :"), "x", "y") == [
        'Float["batch dim"]',
        'Float["y_batch features"]',
    ]
    one, other = guessed(BOXES.format(index=":, None"), "x", "y")
    assert one.split()[0] == other.split()[0] == 'Float["batch'


ROTATED = """
half = x.shape[-1] // 2
angle = y[..., {new}] * jnp.arange(half)
cos, sin = jnp.cos(angle), jnp.sin(angle)
one, other = x[..., :half], x[..., half:]
return jnp.concatenate([one * cos - other * sin, other * cos + one * sin], axis=-1)
"""


@pytest.mark.parametrize(
    ("new", "expected"),
    [("None", "*batch dim"), ("None, None", "*batch length dim")],
)
def test_what_gets_axes_at_its_end_has_so_many_less(new: str, expected: str):
    assert guessed(ROTATED.format(new=new), "x", "y") == [
        f'Float["{expected}"]',
        'Float["*batch"]',
    ]
    assert guessed(f"return x * y[..., {new}]", "x", "y") == [
        f'Float["{expected}"]',
        'Float["*batch"]',
    ]


def test_what_meets_more_than_one_input_says_nothing_of_either():
    body = "p = jax.nn.softmax(self.map(x) / y, axis=-1)\nreturn p * x"
    assert guessed(body, "x", "y")[1] != 'Float["*batch features"]'
    stepped = "d = self.map(x)\nreturn d[..., None] * y + x[:, None, :]"
    assert guessed(stepped, "x", "y")[1] == 'Float["..."]'
