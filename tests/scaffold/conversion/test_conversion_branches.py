"""Branches that settings choose: what none of them takes, and shapes that they do not agree on."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

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


def replaced(start: str) -> str:
    lines = ["class Thing(nn.Module):", "    def __init__(self, dim, deep=False):"]
    lines += ["        super().__init__()", "        self.fc = nn.Linear(dim, dim)"]
    lines += [f"        {line}" for line in start.splitlines()]
    return (
        "\n".join(lines) + "\n\n    def forward(self, x):\n        return self.fc(x)\n"
    )


@pytest.mark.parametrize(
    "start",
    [
        "if deep:\n    self.fc = nn.Linear(dim, dim, bias=False)",
        "if deep:\n    self.fc = nn.Linear(dim, dim, bias=False)\n    self.k = 2\nelse:\n    self.k = 1",
        "if deep:\n    self.k = 2\n    self.fc = nn.Linear(dim, dim, bias=False)",
    ],
)
def test_a_layer_that_is_replaced_under_a_condition_is_chosen_by_it(start):
    text = converted(replaced(start)).text
    plain = "Linear(self.dim, self.dim)"
    assert f"{plain[:-1]}, use_bias=False) if self.deep else {plain}\n" in text
    assert "return self.fc(x)" in text


def test_of_two_layers_under_one_name_the_later_one_is_that_of_the_class():
    text = converted(
        replaced("self.fc = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())")
    ).text
    assert text.count(" = Linear(") == 1
    assert "return self._fc(x)" in text
    assert "return jnp.tanh(x)" in text


WRAPPING = "self.fc = nn.Sequential(self.fc, nn.Tanh())"


def test_a_layer_that_is_wrapped_under_its_own_name_is_made_with_the_other():
    text = converted(replaced(WRAPPING)).text
    assert text.count(" = Linear(") == 1
    assert "x = self.fc_0(x)\n        return jnp.tanh(x)" in text


def test_a_layer_that_is_wrapped_under_a_condition_is_listed():
    body = TORCH + replaced(f"if deep:\n    {WRAPPING}")
    body = body.replace("deep=False", "deep")
    made = convert("thing.py", body, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert "`self.fc` is another layer" in note.what
    assert WRAPPING in body.splitlines()[note.line - 1]


LOOP = """\
class Thing(nn.Module):
    def __init__(self, dim, count=3):
        super().__init__()
        self.fcs = nn.ModuleList([nn.Linear(dim, dim) for _ in range(count)])
        self.skip = 1

    def forward(self, x):
        for i, fc in enumerate(self.fcs):
            if i == self.skip:
                {leave}
            x = fc(x)
        else:
            x = x + 1
        return x
"""


def test_the_else_of_a_loop_stands_behind_it():
    text = converted(LOOP.format(leave="continue")).text
    assert "            x = fc(x)\n        x = x + 1\n        return x" in text


def test_the_else_of_a_loop_that_may_be_left_is_listed():
    made = convert("thing.py", TORCH + LOOP.format(leave="break"), "Thing", "FromThing")
    assert any(n.blocks and "`else` of a loop" in n.what for n in made.notes)


def test_a_part_that_a_constructor_tells_its_mode_under_a_condition_is_listed():
    given = TORCH + replaced("if deep:\n    self.fc.eval()")
    given = given.replace("deep=False", "deep")
    [note] = [
        n for n in convert("thing.py", given, "Thing", "FromThing").notes if n.blocks
    ]
    assert "self.fc.eval()" in note.what


RESAMPLED = """\
class Block(nn.Module):
    out: int | None = None
    kind: str = "same"
    double: bool = False
    extra: int | None = None

    @nn.compact
    def __call__(self, x):
        b, h, w, c = x.shape
        out = c if self.out is None else self.out
        if self.kind == "down":
            x = nn.avg_pool(x, (2, 2), (2, 2))
        elif self.kind == "up":
            x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
        x = nn.Conv(out, (3, 3))(x)
        if self.double:
            x = jnp.concatenate([x, x], axis=-1)
        if self.extra is not None:
            x = jnp.concatenate([x, x[..., : self.extra]], axis=-1)
        return x


class Thing(nn.Module):
    dim: int = 4

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.dim, (3, 3))(x)
        x = Block({given})(x)
        b, h, w, c = x.shape
        return nn.Dense(h * w * c)(x)
"""


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("", "self.dim, self.height * self.width * self.dim"),
        ("kind='down'", "self.dim, self.height // 2 * (self.width // 2) * self.dim"),
        ("kind='up'", "self.dim, self.height * 2 * (self.width * 2) * self.dim"),
        ("out=6", "6, self.height * self.width * 6"),
        ("double=True", "2 * self.dim, self.height * self.width * (2 * self.dim)"),
        ("extra=2", "self.dim + 2, self.height * self.width * (self.dim + 2)"),
    ],
)
def test_sizes_that_branches_change_are_those_of_what_a_part_is_given(given, size):
    text = converted(RESAMPLED.format(given=given), LINEN).text
    assert f"self.linear_0 = Linear({size})" in text.rpartition("class ")[2]


UNEVEN = """\
class Block(nn.Module):
    mode: str = "wide"
    width: int = 7

    @nn.compact
    def __call__(self, x):
        if self.mode == "wide":
            x = nn.Dense(self.width)(x)
        elif self.mode == "mean":
            x = x.mean(axis=1)
        return nn.LayerNorm()(x)


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = Block({given})(x)
        return nn.Dense(3)(x)
"""


@pytest.mark.parametrize(
    ("given", "size"), [("", "7"), ("'mean'", "self.in_features"), ("'none'", "self.in_features")]
)  # fmt: skip
def test_layers_behind_branches_are_as_large_as_what_each_leaves(given, size):
    text = converted(UNEVEN.format(given=given), LINEN).text
    chosen = "self.width if self.mode == 'wide' else self.in_features"
    assert f"LayerNorm({chosen}, epsilon=1e-06)" in text
    assert f"Linear({size}, 3)" in text
    assert "'batch batch" not in text


TABLES = """\
class Block(nn.Module):
    kind: str = "down"

    @nn.compact
    def __call__(self, x):
        c = x.shape[-1]
        width = {"down": 2 * c, "same": c, "up": c // 2}[self.kind]
        return nn.Dense(width)(x)


class Thing(nn.Module):
    dim: int = 4

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.dim)(x)
        x = Block("same")(x)
        x = Block()(x)
        x = Block("up")(x)
        return nn.Dense(3)(x)
"""
TABLE_OF_LAYERS = """\
class Block(nn.Module):
    def __init__(self, dim, kind="down"):
        super().__init__()
        self.fc = {"down": nn.Linear(dim, dim // 2), "same": nn.Linear(dim, dim)}[kind]

    def forward(self, x):
        return self.fc(x)


class Thing(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.one, self.two = Block(dim, "same"), Block(dim)

    def forward(self, x):
        return self.two(self.one(x))
"""


def test_sizes_of_a_table_are_chosen_by_its_key():
    text = converted(TABLES, LINEN).text
    chosen = "self.in_features if self.kind == 'same' else self.in_features // 2"
    assert f"2 * self.in_features if self.kind == 'down' else {chosen})" in text
    made = text.rpartition("class ")[2]
    assert [made.count(f"Block({s}") for s in ("self.dim", "2 * self.dim")] == [2, 1]
    assert "Linear(2 * self.dim // 2, 3)" in made or "Linear(self.dim, 3)" in made


def test_layers_of_a_table_are_chosen_by_its_key():
    text = converted(TABLE_OF_LAYERS).text
    one, other = "Linear(self.dim, self.dim // 2)", "Linear(self.dim, self.dim)"
    assert f"self.fc = {one} if self.kind == 'down' else {other}" in text


COUNTED = """\
class Thing(nn.Module):
    dim: int = 8
    layers: int = 2

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.dim)(x)
        if {test}:
            x = nn.Dense({width})(x)
        return nn.Dense(3)(x)
"""


@pytest.mark.parametrize(
    ("test", "width", "size"),
    [
        ("self.layers > 1", "20", "20 if self.layers > 1 else self.dim"),
        ("self.layers == 2", "20", "20 if self.layers == 2 else self.dim"),
        ("self.layers != 1", "20", "20 if self.layers != 1 else self.dim"),
        ("self.dim % 2 == 1", "20", "20 if self.dim % 2 == 1 else self.dim"),
        ("self.layers != 1", "self.layers * self.dim", "self.layers * self.dim"),
        ("self.layers == 1", "self.layers * self.dim", "self.dim"),
        ("self.layers != self.dim", "20", "20"),
    ],
)
def test_sizes_behind_a_comparison_of_numbers_are_those_of_either_side(
    test, width, size
):
    text = converted(COUNTED.format(test=test, width=width), LINEN).text
    assert f"Linear({size}, 3)" in text


def test_an_assertion_tells_the_shape_of_what_nothing_else_tells():
    text = converted(
        """\
def embedding(t, dim):
    emb = t[:, None] * jnp.arange(dim // 2)[None]
    emb = jnp.concatenate([jnp.sin(emb), jnp.cos(emb)], axis=1)
    if dim % 2 == 1:
        emb = jax.lax.pad(emb, jnp.float32(0), ((0, 0, 0), (0, 1, 0)))
    assert emb.shape == (t.shape[0], dim)
    return emb


class Thing(nn.Module):
    dim: int = 8

    @nn.compact
    def __call__(self, t):
        assert len(t.shape) == 1
        return nn.Dense(3)(embedding(t, self.dim))
""",
        "import jax\n" + LINEN,
    ).text
    assert "self.linear_0 = Linear(self.dim, 3)" in text


HALVED = """\
class Block(nn.Module):
    kind: str = "same"

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(x.shape[-1])(x)
        if self.kind == "down":
            x = x[..., : x.shape[-1] // 2]
        return x


class Thing(nn.Module):
    kinds: tuple = ("same", "down", "down")
    dim: int = 16

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.dim)(x)
        for kind in {kinds}:
            x = Block(kind)(x)
        return nn.Dense(3)(x)
"""


@pytest.mark.parametrize("kinds", ["self.kinds", '("same", "down", "down")'])
def test_sizes_that_depend_on_those_before_are_listed(kinds):
    text = LINEN + HALVED.format(kinds=kinds)
    made = convert("thing.py", text, "Thing", "Thing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.what == (
        "the size of each layer of `self.blocks` depends on that of the one before"
    )
    assert "zip(" not in made.text
