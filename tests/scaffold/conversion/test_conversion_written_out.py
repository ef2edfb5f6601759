"""What people write with helpers, names and words of other libraries is written out in the spec."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import Converted, convert
from mlax_scaffold.conversion.shapes.axis_patterns import Pattern
from mlax_scaffold.conversion.source.trees import constant

EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"
HAIKU = "import haiku as hk\nimport jax\nimport jax.numpy as jnp\n\n\n"
LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n\n"
EINOPS = "from einops import rearrange, reduce, repeat\n"


def refused(body: str, head: str) -> Converted:
    made = convert("thing.py", head + body, "Thing", "FromThing")
    assert not made.whole
    return made


def blocking(made: Converted) -> list[tuple[int, str]]:
    return [(note.line, note.what) for note in made.notes if note.blocks]


def test_a_function_that_lists_layers_is_written_out():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, wide):
        super().__init__()

        def block(into, out, norm=True, drop=0.0):
            layers = [nn.Linear(into, out)]
            if norm:
                layers.append(nn.LayerNorm(out))
            if drop > 0:
                layers += [nn.Dropout(drop)]
            layers.extend([nn.ReLU()])
            return layers

        self.model = nn.Sequential(
            *block(dim, 8, norm=False), *block(8, 4), *block(4, 2, norm=wide)
        )

    def forward(self, x):
        return self.model(x)
""").text
    assert "self.model_0 = Linear(self.dim, 8)" in text
    assert "self.model_2 = Linear(8, 4)" in text
    assert "self.model_3 = LayerNorm(4)" in text
    # What a hyperparameter decides is there where that says so.
    assert "LayerNorm(2) if self.wide else None" in text
    assert "Dropout" not in text
    assert "block" not in text


def test_a_function_of_the_file_that_lists_layers_is_written_out():
    text = converted("""\
def dense(into, out):
    return [nn.Linear(into, out), nn.Tanh()]


class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(*dense(dim, 8), *dense(8, dim))

    def forward(self, x):
        return self.net(x)
""").text
    assert "self.net_0 = Linear(self.dim, 8)" in text
    assert "self.net_2 = Linear(8, self.dim)" in text


def test_lists_that_are_joined_are_of_their_parts():
    text = converted(
        """\
class Thing(eqx.Module):
    layers: list

    def __init__(self, size, width, depth, *, key):
        keys = jax.random.split(key, depth + 1)
        self.layers = [eqx.nn.Linear(size, width, key=keys[0])] + [
            eqx.nn.Linear(width, width, key=k) for k in keys[1:depth]
        ]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        EQUINOX,
    ).text
    assert "self.layers_0 = Linear(self.size, self.width" in text
    assert "for _ in range(self.depth - 1)]" in text
    assert "x: Float['*batch size']) -> Float['*batch width']" in text


@pytest.mark.parametrize(
    ("taken", "count"), [("1:", "depth + 1 - 1"), (":-1", "depth"), ("2:-1", "1")]
)
def test_a_slice_of_keys_is_a_number_of_layers(taken: str, count: str):
    text = converted(
        f"""\
class Thing(eqx.Module):
    layers: list

    def __init__(self, size, depth, *, key):
        keys = jax.random.split(key, depth + 1)
        self.layers = [eqx.nn.Linear(size, size, key=k) for k in keys[{taken}]]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        EQUINOX,
    ).text
    [line] = [part for part in text.split("\n") if "range(" in part]
    number = line.partition("range(")[2].rpartition(")]")[0]
    found = [
        len([0] * eval(number, {"self": type("", (), {"depth": depth})}))
        for depth in (2, 5)
    ]
    first, last = (int(t) if t else None for t in taken.split(":"))
    assert found == [len(range(depth + 1)[first:last]) for depth in (2, 5)], count


def test_deletions_are_left_out():
    text = converted(
        """\
class Thing(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x, train=False):
        del train
        y = nn.Dense(self.features)(x)
        del x
        return y
""",
        LINEN,
    ).text
    assert "del " not in text


def test_results_with_names_are_tuples():
    made = converted(
        "from typing import NamedTuple\n"
        + HAIKU
        + """\
class Code(NamedTuple):
    mean: jax.Array
    scale: jax.Array


class Encoder(hk.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __call__(self, x):
        return Code(scale=hk.Linear(self.size)(x), mean=hk.Linear(self.size)(x))


class Thing(hk.Module):
    def __init__(self, size):
        super().__init__()
        self.encoder = Encoder(size)

    def __call__(self, x):
        code = self.encoder(x)
        return code.mean * code.scale
""",
        "",
    )
    assert "return (self.linear_0(x), self.linear_1(x))" in made.text
    assert "return code[0] * code[1]" in made.text
    assert "Code is a tuple of (mean, scale)" in str(made.notes)


def test_a_draw_is_no_key():
    text = converted(
        """\
class Thing(hk.Module):
    def __call__(self, x):
        key = hk.next_rng_key()
        z = x + jax.random.normal(hk.next_rng_key(), x.shape)
        return z + jax.random.normal(key, x.shape)
""",
        HAIKU,
    ).text
    assert "z = x + (jax.random.normal(self.key(), x.shape, x.dtype)" in text
    assert "key = " not in text


def test_a_state_that_is_reckoned_with_is_an_input():
    text = converted(
        """\
class Thing(hk.RNNCore):
    def __init__(self, size, w_init=None):
        super().__init__()
        self.size = size
        self.w_init = w_init or hk.initializers.Orthogonal()

    def __call__(self, inputs, state):
        w = hk.get_parameter("w", [inputs.shape[-1], 3 * self.size], init=self.w_init)
        a, b = jnp.split(inputs @ w, indices_or_sections=[2 * self.size], axis=-1)
        new = b * state + state
        return new, new

    def initial_state(self, batch_size):
        return jnp.zeros([batch_size, self.size])
""",
        HAIKU,
    ).text
    assert "state: Float['# *batch size']" in text
    assert "self.w = trainable(orthogonal(" in text
    assert "initial_state" not in text


def test_an_input_that_nothing_reads_is_left_out():
    made = converted(
        """\
class Thing(eqx.Module):
    net: eqx.nn.Linear

    def __init__(self, size, *, key):
        self.net = eqx.nn.Linear(size + 1, size, key=key)

    def __call__(self, t, y, args=None):
        return self.net(jnp.concatenate([jnp.broadcast_to(t, (1,)), y]))
""",
        EQUINOX,
    )
    assert "t: Float[''], y: Float['size']) -> Float['size']" in made.text
    assert "`args`, which nothing reads, is left out" in str(made.notes)


def test_losses_of_optax_are_those_of_the_library():
    head = "import jax.numpy as jnp\nimport optax\n\n\n"
    text = converted(
        """\
def thing(logits, labels, targets):
    each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return each.mean() + optax.losses.huber_loss(logits, targets, delta=0.5).mean()
""",
        head,
        "FUNCTION",
    ).text
    assert "labels: Int['*batch']" in text
    assert "import softmax_cross_entropy_with_integer_labels" in text
    assert "mean(huber_loss(logits, targets, delta=0.5))" in text
    assert "optax" not in text


def test_a_mask_is_summed_as_numbers():
    text = converted(
        """\
class Thing(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x, mask):
        h = nn.Dense(self.features)(x) * mask[..., None]
        return h.sum(axis=1) / jnp.maximum(jnp.sum(mask[..., None], axis=1), 1)
""",
        LINEN,
    ).text
    assert "sum(mask[..., None].astype(x.dtype), axis=1)" in text


def test_what_a_later_line_tells_of_a_shape_is_known_above_it():
    text = converted(
        """\
def thing(a, b):
    n = a.shape[0]
    z = jnp.concatenate([a, b], axis=0)
    return z @ z.T - jnp.eye(2 * n)
""",
        "import jax.numpy as jnp\n\n\n",
        "FUNCTION",
    ).text
    assert text.count("Float['rows features']") == 2


def test_a_table_of_joined_angles_has_the_size_of_both():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, length=16):
        super().__init__()
        rates = 1.0 / (100.0 ** (torch.arange(0, dim, 2).float() / dim))
        angles = torch.outer(torch.arange(length).float(), rates)
        self.register_buffer("table", torch.cat((angles, angles), dim=-1).cos())

    def forward(self, x):
        return x * self.table[: x.shape[-2]]
""").text
    assert "x: Float['*batch axis2 dim']" in text


def test_windows_have_as_many_positions_as_their_table():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, window):
        super().__init__()
        self.window = window
        self.table = nn.Parameter(torch.zeros(window * window, 1))
        self.register_buffer("index", torch.arange(window * window))
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        bias = self.table[self.index.view(-1)].view(
            self.window * self.window, -1)
        return self.proj(x) + bias.unsqueeze(0)
""").text
    assert "x: Float['b window*window dim']" in text


# einops


@pytest.mark.parametrize(
    ("pattern", "sizes", "expected"),
    [
        ("b h w c -> b (h w) c", {}, lambda x: x.reshape(2, 24, 3)),
        (
            "b (h p) w c -> b h w (p c)",
            {"p": 2},
            lambda x: (
                x.reshape(2, 3, 2, 4, 3).transpose(0, 1, 3, 2, 4).reshape(2, 3, 4, 6)
            ),
        ),
        ("b h w c -> b c h w", {}, lambda x: x.transpose(0, 3, 1, 2)),
        ("b h w c -> b 1 h w c", {}, lambda x: x[:, None]),
        (
            "b h w c -> b h k w c",
            {"k": 5},
            lambda x: np.repeat(x[:, :, None], 5, axis=2),
        ),
        ("b h w c -> (k b) h w c", {"k": 2}, lambda x: np.tile(x, (2, 1, 1, 1))),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_a_pattern_is_written_out(pattern, sizes, expected):
    read = Pattern.read(pattern)
    assert read is not None
    made = read.applied("x", {k: constant(v) for k, v in sizes.items()})
    assert made is not None
    x = np.arange(2 * 6 * 4 * 3).reshape(2, 6, 4, 3)
    text = ast.unparse(made).replace("@module:jnp", "np")
    found = eval(text, {"np": np, "x": x})
    assert np.array_equal(found, expected(x))


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [("b ... c -> b c ...", {}), ("b (h w) c -> b h w c", {}), ("b c -> b c k", {})],
)
def test_a_pattern_that_is_not_told_stays(pattern, sizes):
    read = Pattern.read(pattern)
    assert read is None or read.applied("x", sizes) is None


def test_heads_by_einops_tell_their_shapes():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = map(
            lambda t: rearrange(t, "b n (h d) -> b h n d", h=self.heads),
            self.qkv(x).chunk(3, dim=-1),
        )
        y = (q @ k.transpose(-1, -2)).softmax(dim=-1) @ v
        return self.out(rearrange(y, "b h n d -> b n (h d)"))
""",
        EINOPS + TORCH,
    ).text
    assert "rearrange" not in text
    assert "q.reshape(*q.shape[:-1], self.heads, q.shape[-1] // self.heads)" in text
    assert "x: Float['batch axis1 dim']) -> Float['batch axis1 dim']" in text


def test_a_call_of_einops_that_is_not_told_is_listed():
    made = refused(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        return self.out(rearrange(x, "b ... c -> b c"))
""",
        EINOPS + TORCH,
    )
    [(line, what)] = blocking(made)
    assert "rearrange" in (EINOPS + TORCH).split("\n")[0]
    assert line == (EINOPS + TORCH).count("\n") + 7
    assert what == "`rearrange` has no counterpart"


def test_pairs_of_layers_are_two_lists():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([nn.LayerNorm(dim), nn.Linear(dim, dim)]))

    def forward(self, x):
        for norm, linear in self.layers:
            x = x + linear(norm(x))
        return x
""").text
    assert "self.layers_0 = [LayerNorm(self.dim) for _ in range(self.depth)]" in text
    assert "self.layers_1 = [Linear(self.dim, self.dim) for" in text
    assert "for norm, linear in zip(self.layers_0, self.layers_1):" in text
    assert "x: Float['*batch dim']) -> Float['*batch dim']" in text


def test_a_scale_of_channels_tells_which_axis_they_are():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight[:, None, None] * (x - x.mean(1, keepdim=True))
""").text
    assert "x: Float['*batch dim axis2 features']" in text


def test_losses_of_torch_are_those_of_the_library():
    text = converted(
        """\
def thing(input, target):
    near = F.mse_loss(input, target)
    return near + F.l1_loss(input, target, reduction="none")
""",
        kind="FUNCTION",
    ).text
    assert "near = mean(squared_error(input, target))" in text
    assert "return near + absolute_error(input, target)" in text


def test_a_number_that_layers_of_a_loop_begin_with_is_written_out():
    text = converted(
        """\
class Thing(hk.Module):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth

    def __call__(self, h):
        scale = 2.0 / self.depth
        for i in range(self.depth):
            init = hk.initializers.VarianceScaling(scale)
            h = hk.Linear(h.shape[-1], w_init=init, name=f"h{i}_map")(h)
        return h
""",
        HAIKU,
    ).text
    assert "variance_scaling(2.0 / self.depth" in text
    assert "for h_map in self.h_maps:" in text


def test_a_flag_that_is_said_to_be_a_number_is_a_flag():
    text = converted(
        """\
class Thing(nn.Module):
    features: int
    final: int = False

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.features)(x)
        return nn.relu(x) if self.final else x
""",
        LINEN,
    ).text
    assert "final: bool = False" in text


def test_the_shape_of_what_is_scanned_is_read_by_number():
    text = converted(
        """\
class Thing(nn.Module):
    features: int

    @nn.compact
    def __call__(self, xs):
        def step(h, x):
            h = jnp.tanh(h + x @ w)
            return h, h

        w = self.param("w", nn.initializers.zeros, (4, self.features))
        h0 = jnp.zeros((xs.shape[1], self.features), xs.dtype)
        _, hs = jax.lax.scan(step, h0, xs)
        return hs
""",
        LINEN,
    ).text
    assert "xs: Float['time positions 4']" in text


# What `generate` would refuse is told here, with the line.


def test_a_layer_that_is_given_is_listed():
    made = refused(
        """\
class Thing(hk.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def __call__(self, x):
        return self.encoder(x)
""",
        HAIKU,
    )
    [(line, what)] = blocking(made)
    assert line == HAIKU.count("\n") + 7
    assert what.startswith("`encoder` is a layer that is given")


def test_a_name_that_nothing_defines_is_listed():
    made = refused(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        return self.out(x) * FACTOR
""",
        TORCH,
    )
    [(line, what)] = blocking(made)
    assert line == TORCH.count("\n") + 7
    assert what == "`FACTOR` is nothing that a spec can read"


def test_a_change_in_place_is_listed():
    made = refused(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        y = torch.zeros(x.shape[0], 4)
        y.put_(x.argmin(dim=1, keepdim=True), 1)
        return self.out(x) @ y.T
""",
        TORCH,
    )
    [(line, what)] = blocking(made)
    assert line == TORCH.count("\n") + 8
    assert what == "`put_` changes a tensor in place"


def test_what_is_set_at_indices_is_put_along_the_axis():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        y = torch.zeros_like(x)
        y.scatter_(1, x.argmin(dim=1, keepdim=True), 1.0)
        return self.out(x) * y
""").text
    assert "y = jnp.put_along_axis(y, jnp.argmin(x, axis=1, keepdims=True), 1.0" in text
    assert "inplace=False" in text


def test_buffers_have_the_dtype_of_what_the_method_that_reads_them_is_given():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("weight", torch.ones(size))
        self.register_buffer("mask", torch.tril(torch.ones(size, size, dtype=torch.bool)))

    @classmethod
    def _scaled(cls, logits, by):
        return logits * by

    def attend(self, query, key):
        return torch.where(self.mask, query @ key.T, self.weight)

    def forward(self, hidden):
        return self._scaled(self.attend(hidden, hidden), 0.5) + self.weight
""").text
    assert "jnp.where(jnp.asarray(self.mask), query @ key.T, " in text
    assert "jnp.asarray(self.weight, query.dtype))" in text
    assert "+ jnp.asarray(self.weight, hidden.dtype)" in text
    assert "@staticmethod\n    def _scaled(logits, by):" in text
