"""Small forms that code for jax is written in: counted sizes, partial calls, passes over names."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax_habits import LINEN, NNX
from test_conversion_jax_parts import OPTAX
from test_conversion_jax_repositories import EQUINOX, HAIKU

from mlax_scaffold.conversion import DOCUMENTED, convert

PLAIN = "import jax\nimport jax.numpy as jnp\n\n\n"


COUNTED = """\
class Thing(nn.Module):
    dim: int
    token: bool = True

    @nn.compact
    def __call__(self, x):
        b, n, c = x.shape
        wide = self.dim
        if self.token:
            first = self.param("first", nn.initializers.zeros, (1, 1, c))
            x = jnp.concatenate([jnp.tile(first, [b, 1, 1]), x], axis=1)
            n += 1
            wide *= 2
        x = x + self.param("positions", nn.initializers.zeros, (1, n, c))
        return nn.Dense(self.dim)(nn.Dense(wide)(x))
"""


def test_a_size_that_a_branch_adds_to_is_another_one_there():
    text = converted(COUNTED, LINEN).text
    assert "(1, self.n + 1 if self.token else self.n, self.in_features)" in text
    assert "self.dim * 2 if self.token else self.dim" in text
    straight = COUNTED.replace("if self.token:", "with jax.named_scope('first'):")
    assert "(1, self.n + 1, self.in_features)" in converted(straight, LINEN).text


def test_a_size_that_a_branch_leaves_open_is_not_that_of_before():
    code = COUNTED.replace("n += 1", "n = len(x.nonzero())")
    made = convert("thing.py", LINEN + code, "Thing", "FromThing")
    assert "(1, self.n, self.in_features)" not in made.text


TABLE = """\
def table(dim, end):
    freqs = 1.0 / (100.0 ** (jnp.arange(0, dim, 2) / dim))
    return jnp.cos(jnp.outer(jnp.arange(end), freqs))


class Thing(nn.Module):
    dim: int

    def setup(self):
        self.embed = nn.Embed(16, self.dim)
        self.cos = table(self.dim, 16)

    def __call__(self, ids):
        x = self.embed(ids)
        n = ids.shape[1]
        mask = jnp.tril(jnp.ones((n, n), dtype=bool))[None]
        y = x[..., : self.dim // 2] * self.cos[:n]
        return jnp.where(mask, y.sum(-1)[:, None], 0.0)
"""


def test_a_table_has_the_dtype_of_an_array_of_numbers_and_not_that_of_a_mask():
    assert "dtype=x.dtype)" in converted(TABLE, LINEN).text


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("r = jnp.mean(x**2, axis=0)\n        return x * self.g / r", "items dim"),
        ("return jnp.mean(x, axis=0) * self.g", "items dim"),
        (
            "r = jnp.mean(x, axis=0)\n        return jax.vmap(self.l)(x * self.g - r)",
            "items dim",
        ),
        (
            "y = x * self.g\n        return jnp.concatenate([jnp.sin(y), jnp.cos(y)])",
            "",
        ),
    ],
)
def test_one_example_of_equinox_has_the_axes_that_are_left_behind_a_sum(body, shape):
    code = f"""\
class Thing(eqx.Module):
    g: jax.Array
    l: eqx.nn.Linear

    def __init__(self, dim: int, *, key):
        self.g = jnp.ones((dim,))
        self.l = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        {body}
"""
    assert f"x: Float[{shape!r}])" in converted(code, EQUINOX).text


def test_a_type_that_a_class_says_of_a_field_is_that_of_its_parameter():
    code = """\
class Thing(eqx.Module):
    linear: eqx.nn.Linear
    t1: float

    def __init__(self, dim, t1, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.t1 = t1

    def __call__(self, x):
        return self.linear(x) / self.t1
"""
    assert "    t1: float\n" in converted(code, EQUINOX).text


def test_what_a_partial_call_of_the_file_makes_is_written_out_where_it_is_used():
    code = """\
Conv3 = partial(nnx.Conv, kernel_size=(3, 3), use_bias=False)


class Thing(nnx.Module):
    def __init__(self, dim: int, *, rngs: nnx.Rngs):
        self.first = Conv3(dim, dim, rngs=rngs)
        self.second = Conv3(dim, dim, use_bias=True, rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))
"""
    text = converted(code, NNX).text
    assert "self.first = Conv(2, self.dim, self.dim, (3, 3)" in text
    assert "channel_last=True, use_bias=False)" in text
    assert text.count("use_bias") == 1


def test_a_parameter_with_the_name_of_a_partial_call_is_itself():
    code = """\
from functools import partial

dense = partial(nn.Dense, use_bias=False)


class Thing(nn.Module):
    dim: int

    def _scaled(self, dense, x):
        return dense * x

    @nn.compact
    def __call__(self, x):
        return self._scaled(2.0, dense(self.dim)(x))
"""
    text = converted(code, LINEN).text
    assert "return dense * x" in text
    assert "use_bias=False" in text


@pytest.mark.parametrize(
    "each",
    [
        "map(self._split, (q, k, v))",
        "(self._split(a) for a in (q, k, v))",
        "[self._split(a) for a in (q, k, v)]",
    ],
)
def test_arrays_that_are_taken_apart_alike_are_taken_apart_one_by_one(each):
    code = f"""\
class Thing(nn.Module):
    dim: int
    heads: int = 2

    def _split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.dim // self.heads)

    @nn.compact
    def __call__(self, x):
        q, k, v = nn.Dense(self.dim)(x), nn.Dense(self.dim)(x), nn.Dense(self.dim)(x)
        q, k, v = {each}
        w = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        y = jnp.einsum("bhqk,bkhd->bqhd", w, v)
        return nn.Dense(self.dim)(y.reshape(x.shape[0], x.shape[1], self.dim))
"""
    text = converted(code, LINEN).text
    assert "q = self._split(q)" in text
    assert "in_features_2" not in text


def test_arguments_with_names_and_casts_say_how_many_numbers_there_are():
    code = """\
class Thing(nn.Module):
    dim: int
    size: int = 32

    @nn.compact
    def __call__(self, t):
        half = self.size // 2
        t = jax.lax.convert_element_type(t, jnp.float32)
        freqs = jnp.exp(-jnp.arange(start=0, stop=half, dtype=jnp.float32) / half)
        args = t[:, None] * freqs[None]
        return nn.Dense(self.dim)(jnp.concatenate([jnp.cos(args), jnp.sin(args)], axis=-1))
"""
    text = converted(code, LINEN).text
    assert "t: Float['batch']" in text
    assert "Linear(2 * (self.size // 2), self.dim)" in text


GATES = """\
def init_cell(key, n: int, m: int):
    ks = jax.random.split(key, 2)
    params = {g: jax.random.normal(k, (n, m)) for k, g in zip(ks, ("r", "z"))}
    for i, g in enumerate(["r", "z"]):
        params[f"b_{g}"] = jnp.full((m,), float(i))
    return params


def step(params, h, x):
    r = jax.nn.sigmoid(x @ params["r"] + params["b_r"])
    return r * h + x @ params["z"] + params["b_z"], h


def cell(params, xs):
    h = jnp.zeros((xs.shape[0], params["r"].shape[1]))
    _, hs = jax.lax.scan(lambda h, x: step(params, h, x), h, xs.transpose(1, 0, 2))
    return hs.transpose(1, 0, 2)
"""


def test_weights_that_loops_over_names_make_are_one_each_and_lambdas_are_steps():
    text = convert("thing.py", PLAIN + GATES, "cell", "Cell").text
    for made in ("self.r", "self.z"):
        assert f"{made} = trainable(normal(1.0), (self.n, self.m))" in text
    for made in ("self.b_r", "self.b_z"):
        assert f"{made} = trainable(" in text
    assert "xs: Float['batch time n']" in text


def test_what_maps_over_trees_under_a_name_of_its_own_is_written_out():
    code = """\
import functools


def Thing(lr=0.1, decay=0.9):
    zeros = functools.partial(jax.tree.map, jnp.zeros_like)

    def init(params):
        return zeros(params), zeros(params)

    def update(grads, state, params=None):
        m, v = state
        m = jax.tree.map(lambda a, g: decay * a + g, m, grads)
        v = jax.tree.map(lambda a, g: decay * a + g * g, v, grads)
        return jax.tree.map(lambda a, b: -lr * a / (1 + b), m, v), (m, v)

    return optax.GradientTransformation(init, update)
"""
    text = converted(code, OPTAX, "OPTIMIZER").text
    assert text.count("moment(zeros, param.shape)") == 2


def test_what_runs_an_optimizer_for_no_default_is_left_out_and_told():
    code = """\
def Thing(lr=0.1, every=1):
    tx = optax.chain(optax.scale_by_adam(), optax.scale(-lr))
    if every > 1:
        tx = optax.MultiSteps(tx, every_k_schedule=every).gradient_transformation()
    return tx
"""
    made = converted(code, OPTAX, "OPTIMIZER")
    assert "every" not in made.text
    [note] = [n for n in made.notes if "every" in n.what]
    assert "`Accumulate` of the library" in note.todo
    needed = convert(
        "thing.py",
        OPTAX + code.replace("every=1", "every=2"),
        "Thing",
        "FromThing",
        "OPTIMIZER",
    )
    assert not needed.whole


def test_axes_of_another_array_and_the_rest_are_counted_where_all_are_known():
    code = '''\
class Thing(nn.Module):
    dim: int
    low: int = 0
    high: int = 4

    @nn.compact
    def __call__(self, points, z):
        """points: [rays, samples, 3]"""
        scales = jnp.array([2**i for i in range(self.low, self.high)])
        x = points[..., None, :] * scales[:, None]
        x = jnp.reshape(x, list(points.shape[:-1]) + [-1])
        return nn.Dense(self.dim)(jnp.concatenate([points, jnp.sin(x)], axis=-1))
'''
    text = convert("thing.py", LINEN + code, "Thing", "FromThing", axes=DOCUMENTED).text
    assert "points: Float['rays samples 3']" in text
    assert "Linear(3 + (self.high - self.low) * 3, self.dim)" in text


CELL = """\
class Cell(nn.RNNCellBase):
    dim: int
    size: int
    forced: bool

    @nn.compact
    def __call__(self, carry, x):
        state, last = carry
        if not self.forced:
            x = last
        state, y = nn.LSTMCell(self.dim)(state, x)
        logits = nn.Dense(self.size)(y)
        best = jax.nn.one_hot(jnp.argmax(logits, axis=-1), self.size)
        carry = (state, best)
        return carry, (logits, best)


class Thing(nn.Module):
    dim: int = 8
    size: int = 6
    forced: bool = True

    @nn.compact
    def __call__(self, inputs):
        h = jnp.zeros((inputs.shape[0], self.dim))
        cell = nn.scan(
            Cell,
            variable_broadcast="params",
            split_rngs={"params": False},
            in_axes=1,
            out_axes=1,
        )(self.dim, self.size, self.forced)
        _, (logits, best) = cell(((h, h), inputs[:, 0]), inputs)
        return logits, best
"""


def test_each_of_several_results_of_a_scan_over_time_has_its_examples_first():
    text = converted(CELL, LINEN).text
    assert "logits = jnp.swapaxes(logits, 0, 1)" in text
    assert "best = jnp.swapaxes(best, 0, 1)" in text
    assert text.count("swapaxes") == 3
    # What is carried is a pair beside an array, which is so wide as what takes its place.
    assert "Linear(self.dim, self.size)" in text
    assert "inputs: Float['batch time size']" in text
    one = CELL.replace("_, (logits, best) = cell", "out = cell").replace(
        "return logits, best\n", "return out\n"
    )
    whole = converted(one, LINEN).text
    assert whole.index("jnp.swapaxes(y_0, 0, 1)") < whole.index("out = (carry_0, y_0)")


def test_features_with_a_new_axis_behind_the_first_are_those_of_each_example():
    code = """\
def modulated(x, shift, scale):
    return x * (1 + scale[:, None]) + shift[:, None]


class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x, c):
        shift, scale = jnp.split(nn.Dense(2 * self.dim)(nn.silu(c)), 2, axis=-1)
        return nn.Dense(self.dim)(modulated(nn.LayerNorm()(x), shift, scale))
"""
    text = converted(code, LINEN).text
    assert "x: Float['batch axis1 dim'], c: Float['batch c_features'])" in text


def test_an_image_is_as_large_as_that_of_the_part_that_it_is_handed_to():
    code = """\
class Encoder(nnx.Module):
    def __init__(self, size: int, *, rngs: nnx.Rngs):
        self.conv = nnx.Conv(1, 4, kernel_size=(3, 3), strides=(2, 2), rngs=rngs)
        self.out = nnx.Linear(4 * 14 * 14, size, rngs=rngs)

    def __call__(self, x):
        x = self.conv(x)
        return self.out(x.reshape(x.shape[0], -1))


class Thing(nnx.Module):
    def __init__(self, size: int, *, rngs: nnx.Rngs):
        self.encoder = Encoder(size, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.encoder(x))
"""
    assert converted(code, NNX).text.count("'x': (2, 28, 28, 1)") == 2
    # What the layer itself asks for stays, where a part is tried with less.
    other = code.replace("self.out = ", "self.none = ").replace(
        "return self.out(x.reshape(x.shape[0], -1))", "return x"
    )
    other = other.replace(
        "self.encoder = Encoder(size, rngs=rngs)",
        "self.encoder = Encoder(size, rngs=rngs)\n"
        "        self.last = nnx.Linear(4 * 14 * 14, size, rngs=rngs)",
    ).replace(
        "return nnx.relu(self.encoder(x))",
        "return self.last(self.encoder(x).reshape(x.shape[0], -1))",
    )
    assert converted(other, NNX).text.count("'x': (2, 28, 28, 1)") == 1


@pytest.mark.parametrize(
    "made",
    [
        "[nnx.Linear(i, o, rngs=rngs) for i, o in zip(sizes[:-1], sizes[1:])]",
        "[nnx.Linear(sizes[i], sizes[i + 1], rngs=rngs) for i in range(len(sizes) - 1)]",
    ],
)
def test_a_list_of_sizes_says_how_many_features_there_are_at_first(made):
    code = f"""\
class Net(nnx.Module):
    def __init__(self, sizes: tuple[int, ...], *, rngs: nnx.Rngs):
        self.layers = nnx.List({made})

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = nnx.relu(layer(x))
        return self.layers[-1](x)


class Thing(nnx.Module):
    def __init__(self, obs_dim: int, act_dim: int, *, rngs: nnx.Rngs):
        self.net = Net((obs_dim + act_dim, 8, 1), rngs=rngs)

    def __call__(self, obs, act):
        return self.net(jnp.concatenate([obs, act], axis=-1))
"""
    text = converted(code, NNX).text
    assert "x: Float['*batch sizes[0]']" in text
    assert "obs: Float['*batch obs_dim'], act: Float['*batch act_dim'])" in text


def test_a_norm_of_an_order_along_two_axes_is_one_of_matrices():
    code = """\
class Thing(nn.Module):
    def __call__(self, x):
        spectral = jnp.linalg.norm(x, ord=2, axis=(1, 2), keepdims=True)
        rows = jnp.linalg.norm(x, ord=2, axis=-1)
        return spectral, rows, jnp.linalg.norm(x, axis=(1, 2)), jnp.linalg.norm(x, 1)
"""
    text = converted(code, LINEN).text
    assert "spectral = jnp.linalg.norm(x, 2, axis=(1, 2), keepdims=True)" in text
    assert "rows = l2_norm(x, axis=-1)" in text
    assert "l2_norm(x, axis=(1, 2)), jnp.linalg.norm(x, 1))" in text


def test_sizes_that_are_taken_apart_are_parts_of_the_field():
    code = """\
class Thing(nn.Module):
    sizes: tuple[int, ...] = (8, 8, 4)

    @nn.compact
    def __call__(self, x):
        *hidden, last = self.sizes
        for size in hidden:
            x = nn.relu(nn.Dense(size)(x))
        return nn.Dense(last)(x)
"""
    text = converted(code, LINEN).text
    assert "zip((self.in_features, *self.sizes[:-1]), self.sizes[:-1])" in text
    assert "Linear(self.sizes[-2], self.sizes[-1])" in text
    assert "pass" not in text


def test_numbers_of_passes_that_nothing_reads_are_left_out():
    code = """\
class Thing(hk.Module):
    def __init__(self, hidden: Sequence[int]):
        super().__init__()
        self.hidden = hidden

    def __call__(self, x):
        for i, size in enumerate(self.hidden):
            x = hk.Linear(size, name=f"fc{i}")(x)
        return x
"""
    text = converted(code, HAIKU).text
    assert (
        "for width, size in zip((self.in_features, *self.hidden), self.hidden)" in text
    )


def test_weights_of_layers_that_are_taken_apart_are_parts_of_the_list():
    code = """\
def thing(sizes):
    def init(key):
        keys = jax.random.split(key, len(sizes) - 1)
        return [
            {"w": jax.random.normal(k, (m, n)), "b": jnp.zeros(n)}
            for k, m, n in zip(keys, sizes[:-1], sizes[1:])
        ]

    def apply(params, x):
        *hidden, last = params
        for layer in hidden:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        return x @ last["w"] + last["b"]

    return init, apply
"""
    text = convert("thing.py", PLAIN + code, "thing", "FromThing").text
    assert "hidden = self.layers[:-1]\n        last = self.layers[-1]" in text


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [
        ("[]", "", "len(self.rates) * self.filters"),
        ("[]", "outs.append(x)", "len(self.rates) * self.filters + self.in_channels"),
        ("[x]", "", "len(self.rates) * self.filters + self.in_channels"),
        (
            "[]",
            "outs.append(jnp.broadcast_to(pool, outs[0].shape))",
            "len(self.rates) * self.filters + self.filters",
        ),
        ("[]", "if wide: outs.append(x)", "self.in_features"),
    ],
)
def test_arrays_beside_those_that_a_loop_appends_are_joined_with_them(
    before: str, after: str, size: str
):
    code = f"""\
class Thing(nn.Module):
    filters: int
    rates: Sequence[int]

    @nn.compact
    def __call__(self, x, wide: bool = False):
        pool = nn.Conv(self.filters, (1, 1))(jnp.mean(x, (1, 2), keepdims=True))
        outs = {before}
        for rate in self.rates:
            outs.append(nn.Conv(self.filters, (3, 3), kernel_dilation=rate)(x))
        {after}
        y = jnp.concatenate(outs, axis=-1)
        return nn.Dense(self.filters, name="project")(y)
"""
    text = converted(code, LINEN).text
    assert f"self.project = Linear({size}, self.filters)" in " ".join(text.split())


@pytest.mark.parametrize("framework", ["linen", "nnx", "haiku"])
def test_lists_of_sequences_are_lists_of_a_class_of_their_own(framework: str):
    code, imports = {
        "linen": (_LINEN_SEQUENCES, LINEN),
        "nnx": (_NNX_SEQUENCES, NNX),
        "haiku": (_HAIKU_SEQUENCES, HAIKU),
    }[framework]
    text = converted(code, imports).text
    assert "class ThingHead(Layer):" in text
    assert "ThingHead(self.dim" in text


_LINEN_SEQUENCES = """\
class Thing(nn.Module):
    dim: int
    sizes: Sequence[int]

    def setup(self):
        self.inner = nn.Dense(self.dim)
        self.heads = [nn.Sequential([nn.Dense(self.dim), nn.relu, nn.Dense(s)]) for s in self.sizes]

    def __call__(self, x):
        x = self.inner(x)
        return jnp.concatenate([head(x) for head in self.heads], axis=-1)
"""
_NNX_SEQUENCES = """\
class Thing(nnx.Module):
    def __init__(self, dim: int, sizes: Sequence[int], *, rngs: nnx.Rngs):
        self.heads = nnx.List([
            nnx.Sequential(nnx.Linear(dim, dim, rngs=rngs), nnx.relu, nnx.Linear(dim, s, rngs=rngs))
            for s in sizes
        ])

    def __call__(self, x):
        return jnp.concatenate([head(x) for head in self.heads], axis=-1)
"""
_HAIKU_SEQUENCES = """\
class Thing(hk.Module):
    def __init__(self, dim: int, sizes: Sequence[int]):
        super().__init__()
        self.inner = hk.Linear(dim)
        self.heads = [hk.Sequential([hk.Linear(dim), jax.nn.relu, hk.Linear(s)]) for s in sizes]

    def __call__(self, x):
        x = self.inner(x)
        return jnp.concatenate([head(x) for head in self.heads], axis=-1)
"""


def test_an_input_whose_parts_are_read_by_their_names_is_a_dictionary():
    code = """\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, batch):
        return nn.Dense(self.dim)(batch["image"]) + nn.Dense(self.dim)(batch["state"])
"""
    assert "batch: dict[str, jax.Array]" in converted(code, LINEN).text


@pytest.mark.parametrize("rate", ["schedule(count)", "(lambda n: schedule(n))(count)"])
def test_a_schedule_of_the_library_that_an_update_calls_is_written_out(rate):
    code = f"""\
from typing import Any, NamedTuple


class State(NamedTuple):
    count: Any
    m: Any


def Thing(lr=0.1, warmup=10):
    schedule = optax.linear_schedule(0.0, lr, warmup)

    def init(params):
        return State(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params))

    def update(grads, state, params=None):
        count = state.count + 1
        rate = {rate}
        m = jax.tree.map(lambda a, g: 0.9 * a + g, state.m, grads)
        return jax.tree.map(lambda a: -rate * a, m), State(count, m)

    return optax.GradientTransformation(init, update)
"""
    text = converted(code, OPTAX, "OPTIMIZER").text
    assert "optax" not in text
    assert "jnp.clip((self.step - 0) / self.warmup, 0.0, 1.0)" in text


def test_a_mask_of_padding_that_haiku_attends_by_is_told():
    code = """\
class Thing(hk.Module):
    def __init__(self, dim: int, pad: int = 0, name=None):
        super().__init__(name=name)
        self.dim, self.pad = dim, pad

    def __call__(self, tokens):
        mask = jnp.greater(tokens, self.pad)
        x = hk.Embed(16, self.dim)(tokens)
        attend = hk.MultiHeadAttention(2, 4, model_size=self.dim, w_init_scale=1.0)
        return attend(x, x, x, mask=mask[:, None, None, :])
"""
    made = converted(code, HAIKU)
    assert any("lets attend to nothing gets zeros" in n.what for n in made.notes)
    assert made.trial is not None
    assert made.trial.unpadded == ("tokens",)


@pytest.mark.parametrize(
    "mask", ["x > 0", "jnp.asarray(x != 0, dtype=jnp.int32)", "(x != 0).astype(bool)"]
)
def test_queries_that_a_mask_of_equinox_lets_attend_to_nothing_are_told(mask):
    head = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"
    made = converted(
        f"""\
class Thing(eqx.Module):
    table: eqx.nn.Embedding
    attn: eqx.nn.MultiheadAttention

    def __init__(self, count, dim, *, key):
        self.table = eqx.nn.Embedding(count, dim, key=key)
        self.attn = eqx.nn.MultiheadAttention(2, dim, key=key)

    def __call__(self, x):
        mask = {mask}
        h = jax.vmap(self.table)(x)
        return self.attn(h, h, h, mask=mask[:, None] * mask[None, :])
""",
        head,
    )
    assert any("lets attend to nothing gets zeros" in n.what for n in made.notes)
    assert made.trial is not None
    assert made.trial.unpadded == ("x",)


def test_what_is_added_to_an_input_of_a_batch_and_other_axes_has_the_names_of_these():
    text = converted(
        """\
class Thing(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, mask=None, bias=None):
        y = nn.Dense(self.width)(x)
        if bias is not None:
            y = y + bias
        if mask is not None:
            y = jnp.where(mask[..., None], y, 0.0)
        return y
""",
        LINEN,
    ).text
    assert "x: Float['batch *rest in_features']" in text
    assert "bias: Float['# batch *rest width'] | None" in text


def test_the_equation_of_a_layer_tells_the_axes_of_its_input():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, heads: int, size: int, *, rngs: nnx.Rngs):
        self.query = nnx.Einsum("BTD,NDH->BTNH", (heads, dim, size), rngs=rngs)
        self.out = nnx.Einsum("BTNH,NHD->BTD", (heads, size, dim), rngs=rngs)

    def __call__(self, x):
        return self.out(self.query(x))
""",
        NNX,
    ).text
    assert "x: Float['B T dim']) -> Float['B T dim']" in text


def test_a_table_that_is_read_whole_and_by_a_tuple_of_one_is_given_indices():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, entries: int, dim: int, *, rngs: nnx.Rngs):
        self.table = nnx.Param(nnx.initializers.normal()(rngs.params(), (entries, dim)))

    def __call__(self, x):
        return self.table[...][(x,)]
""",
        NNX,
    ).text
    assert "x: Int[" in text
    assert "return self.table[x]" in text


RESET = """\
class Torso(hk.Module):
    def __init__(self, sizes: Sequence[int], name=None):
        super().__init__(name=name)
        self._sizes = tuple(sizes)

    def __call__(self, x):
        h = jnp.tanh(hk.LayerNorm(axis=-1, create_scale=True, create_offset=True)(x))
        return {last}


class Thing(hk.Module):
    def __init__(self, sizes: Sequence[int], size: int, name=None):
        super().__init__(name=name)
        self.torso = Torso(sizes)
        self.core = hk.ResetCore(hk.{core}(size))

    def __call__(self, x, reset, state):
        h = hk.BatchApply(self.torso)(x)
        ys, state = hk.dynamic_unroll(self.core, (h, reset), state)
        return hk.BatchApply(hk.Linear(2))(ys), state
"""
MLP = "hk.nets.MLP(self._sizes, activate_final=True)(h)"


def test_a_core_that_begins_anew_is_zero_where_it_is_told_to():
    text = converted(RESET.format(core="LSTM", last=MLP), HAIKU).text
    assert "x, anew = x" in text
    assert "reset: Bool[" in text
    for part in ("carry[0]", "carry[1]"):
        assert f"jnp.where(anew[..., None], jnp.zeros_like({part}), {part})" in text
    assert "jax.lax.scan(step_0, state, (h, reset), reverse=False)" in text
    assert "self.core = LSTMCell(self.sizes[-1], self.size)" in text
    # What the first axis of the input is called, is no number of axes of the state.
    assert "x: Float['batch *rest in_features']" in text
    assert "tuple[Float['*rows size'], Float['*rows size']]" in text


def test_a_core_of_one_array_begins_anew_as_well():
    text = converted(RESET.format(core="GRU", last=MLP), HAIKU).text
    assert "carry = jnp.where(anew[..., None], jnp.zeros_like(carry), carry)" in text


@pytest.mark.parametrize(
    "last",
    [
        "hk.Linear(3)(h.reshape((h.shape[0], -1)))",
        "hk.Linear(3)(h[:, None])",
        "jnp.mean(h, axis=1)",
        "jax.nn.softmax(h, axis=1)",
        "hk.LayerNorm(axis=0, create_scale=True, create_offset=True)(h)",
    ],
)
def test_what_reads_other_axes_is_not_applied_to_all_of_a_batch(last: str):
    body = RESET.format(core="LSTM", last=last)
    found = convert("thing.py", HAIKU + body, "Thing", "FromThing", "LAYER")
    assert not found.whole
    assert any("hk.BatchApply" in note.what for note in found.notes)


DEPENDENT = """\
def start(key, others):
    nu, theta = others
    return jnp.log(1 - jnp.exp(nu) ** 2) + theta


class Thing(nn.Module):
    size: int

    def setup(self):
        self.nu = self.param("nu", nn.initializers.normal(), (self.size,))
        self.theta = self.param("theta", nn.initializers.normal(), (self.size,))
        self.gamma = self.param("gamma", start, {given})

    def __call__(self, x):
        return x * self.nu + self.theta * self.gamma
"""


@pytest.mark.parametrize("given", ["(self.nu, self.theta)", "self.nu"])
def test_a_weight_that_begins_as_others_do_begins_as_zeros_which_is_told(given: str):
    made = converted(DEPENDENT.format(given=given), LINEN)
    assert "self.gamma = trainable(zeros, (self.size,))" in made.text
    [note] = made.notes
    assert note.line == DEPENDENT[: DEPENDENT.index("self.gamma =")].count("\n") + (
        LINEN.count("\n") + 1
    )
    assert "`self.gamma` begins as zeros, and as `start` of other weights" in note.what


def test_a_function_of_one_element_tells_the_axes_of_what_it_is_mapped_over():
    text = converted(
        """\
class Thing(nn.Module):
    size: int
    dim: int

    def setup(self):
        self.w = self.param("w", nn.initializers.normal(), (self.size, self.dim))

    def __call__(self, x):
        return jax.vmap(lambda u: self.w @ u)(x)
""",
        LINEN,
    ).text
    assert "x: Float['batch dim']) -> Float['batch size']" in text
