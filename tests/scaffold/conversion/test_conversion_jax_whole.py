"""Whole models as people write them for jax: loops, flags, cells, results, slices, masks."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax_habits import LINEN, NNX
from test_conversion_jax_parts import OPTAX, of_pair
from test_conversion_jax_repositories import EQUINOX, HAIKU

from mlax_scaffold.conversion import DOCUMENTED, convert

PLAIN = "import jax\nimport jax.numpy as jnp\n\n\n"


def test_a_list_has_as_many_layers_as_a_key_is_split_into_by_name():
    text = converted(
        """\
class Layer(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        return self.linear(x)


class Thing(eqx.Module):
    layers: list

    def __init__(self, dim: int, depth: int, key):
        layer_key, other_key = jax.random.split(key, num=2)
        keys = jax.random.split(layer_key, num=depth)
        self.layers = []
        for layer_key in keys:
            self.layers.append(Layer(dim, layer_key))

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        EQUINOX,
    ).text
    assert "for _ in range(self.depth)]" in text


@pytest.mark.parametrize(
    ("body", "results"),
    [
        (
            "        for block in self.blocks:\n            x, _ = block(x)\n        return self.norm(x)",
            "(x, None)",
        ),
        (
            "        for block in self.blocks:\n            x = block(x)\n        return self.norm(x)",
            "x",
        ),
    ],
)
def test_what_some_option_returns_beside_others_goes_on_to_what_follows(body, results):
    text = converted(
        f"""\
class Block(nn.Module):
    dim: int
    pair: bool = {results != "x"}

    @nn.compact
    def __call__(self, x):
        x = x + nn.Dense(self.dim)(x)
        if self.pair:
            return x, None
        return x


class Thing(nn.Module):
    size: int
    dim: int

    def setup(self):
        self.embed = nn.Embed(self.size, self.dim)
        self.blocks = [Block(self.dim) for _ in range(2)]
        self.norm = nn.LayerNorm()

    def __call__(self, ids):
        x = self.embed(ids)
{body}
""",
        LINEN,
    ).text
    assert "self.norm = LayerNorm(self.dim" in text
    block = text[text.index("class Block") : text.index("class FromThing")]
    assert "def forward(self, x: Float['*batch dim']):" in block


def test_a_dataclass_of_haiku_makes_what_its_field_is_given():
    code = """\
import dataclasses


@dataclasses.dataclass
class Inner(hk.Module):
    width: int
    name: str = None

    def __call__(self, x):
        return hk.Linear(self.width)(x)


@dataclasses.dataclass
class Outer(hk.Module):
    inner: Inner
    classes: int
    name: str = None

    def __call__(self, x):
        return hk.Linear(self.classes)(self.inner(x))


def thing(x):
    return Outer(inner=Inner(6), classes=3)(x)
"""
    made = convert("thing.py", HAIKU + code, "thing", "FromThing")
    assert made.whole, made.notes
    assert made.framework == "haiku"
    assert "self.inner = Inner(self.in_features, width=6)" in made.text
    assert "Linear(6, self.classes)" in made.text


COUPLING = """\
class Coupling(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x, reverse: bool = False):
        half = self.dim // 2
        a, b = x[..., :half], x[..., half:]
        t = nn.Dense(self.dim - self.dim // 2)(a)
        b = b - t if reverse else b + t
        return jnp.concatenate([a, b], axis=-1)


class Thing(nn.Module):
    dim: int

    def setup(self):
        self.couplings = [Coupling(self.dim) for _ in range(2)]

    def __call__(self, x):
        for coupling in reversed(self.couplings):
            x = coupling(x, reverse=True)
        return x
"""


def test_a_flag_that_all_calls_give_alike_is_decided():
    text = converted(COUPLING, LINEN).text
    assert "reverse=" not in text
    assert "b = b - t" in text
    assert "x = coupling(x)" in text


def test_a_flag_of_the_call_of_what_is_converted_is_a_hyperparameter():
    made = convert("thing.py", LINEN + COUPLING, "Coupling", "FromThing")
    assert made.whole, made.notes
    assert "reverse: bool = False" in made.text
    assert "b - t if self.reverse else b + t" in made.text


def test_a_slice_by_a_hyperparameter_has_so_many_features():
    text = converted(COUPLING, LINEN).text
    assert "Linear(self.dim // 2, self.dim - self.dim // 2)" in text
    assert "def forward(self, x: Float['*batch dim'])" in text


def test_what_is_added_to_where_sizes_are_alike_has_the_other_shape():
    text = converted(
        """\
class Thing(nn.Module):
    sizes: Sequence[int] = (8, 16)
    residual: bool = True

    @nn.compact
    def __call__(self, x):
        for size in self.sizes:
            h = nn.Dense(size)(x)
            x = x + h if self.residual and x.shape[-1] == size else h
        return nn.Dense(3)(x)
""",
        LINEN,
    ).text
    assert "zip((self.in_features, *self.sizes), self.sizes)" in text
    assert "Linear(self.sizes[-1], 3)" in text


def test_loops_in_loops_that_fill_a_list_are_one_list():
    text = converted(
        """\
class Block(nnx.Module):
    def __init__(self, dim: int, dilation: int, *, rngs):
        self.conv = nnx.Conv(dim, dim, (3,), kernel_dilation=(dilation,), rngs=rngs)

    def __call__(self, x):
        return x + self.conv(x), x


class Thing(nnx.Module):
    def __init__(self, dim: int, stacks: int = 2, depth: int = 3, *, rngs):
        layers = []
        for _ in range(stacks):
            for i in range(depth):
                layers.append(Block(dim, dilation=2**i, rngs=rngs))
        self.layers = nnx.List(layers)

    def __call__(self, x):
        total = 0.0
        for layer in self.layers:
            x, y = layer(x)
            total = total + y
        return total / len(self.layers)
""",
        NNX,
    ).text
    loops = "for _ in range(self.stacks) for i in range(self.depth)]"
    assert f"self.layers = [Block(self.dim, dilation=2 ** i) {loops}" in text


def test_a_size_that_a_loop_carries_is_what_it_is_in_each_pass_and_behind_it():
    text = of_pair(
        """\
def init_thing(key, widths=(8, 4), n=4):
    layers, d = [], n
    d = n
    for i, w in enumerate(widths):
        key, k = jax.random.split(key)
        layers.append({"w": jax.random.normal(k, (d, w))})
        d = w
    return {"layers": layers, "head": jax.random.normal(key, (d, 2))}


def thing(params, x):
    for layer in params["layers"]:
        x = jnp.tanh(x @ layer["w"])
    return x @ params["head"]
""".replace("layers, d = [], n", "layers = []")
    )
    assert (
        "for d, (i, w) in zip((self.n, *self.widths), enumerate(self.widths))" in text
    )
    assert "d_2 = self.widths[-1]" in text
    assert "self.head = trainable(normal(1.0), (d_2, 2))" in text


def test_a_size_that_is_another_one_later_is_what_it_was_for_weights_before():
    text = of_pair(
        """\
def init_thing(key, n=4):
    a, b = jax.random.split(key)
    d = n
    first = jax.random.normal(a, (n, d))
    d *= 2
    second = jax.random.normal(b, (n, d))
    return {"first": first, "second": second}


def thing(params, x):
    return (x @ params["first"]).sum() + (x @ params["second"]).sum()
"""
    )
    assert "d_2 = self.n * 2" in text
    assert "self.first = trainable(normal(1.0), (self.n, self.n))" in text
    assert "self.second = trainable(normal(1.0), (self.n, d_2))" in text


def test_a_number_of_a_pass_is_written_where_weights_read_it():
    text = of_pair(
        """\
def init_thing(key, dims=(2, 8, 3), w0=30.0):
    params = []
    for i, (m, n) in enumerate(zip(dims[:-1], dims[1:])):
        key, k = jax.random.split(key)
        bound = 1.0 / m if i == 0 else 2.0 / w0
        params.append((jax.random.uniform(k, (m, n), minval=-bound, maxval=bound), jnp.zeros(n)))
    return params


def thing(params, x):
    for i, (w, b) in enumerate(params[:-1]):
        x = jnp.sin(x @ w + b)
    w, b = params[-1]
    return x @ w + b
"""
    )
    assert "-(1.0 / m if i == 0 else 2.0 / self.w0)" in text
    assert "for i, (m, n) in enumerate(zip(self.dims[:-1], self.dims[1:]))" in text


def test_a_loop_over_numbered_weights_tells_the_size_of_the_input():
    text = of_pair(
        """\
def init_thing(key, n=2, hidden=8):
    dims = [n] + [hidden, 3]
    params = []
    for a, b in zip(dims[:-1], dims[1:]):
        key, k = jax.random.split(key)
        params.append((jax.random.normal(k, (a, b)), jnp.zeros(b)))
    return params


def thing(params, x):
    for i, (w, b) in enumerate(params):
        x = jnp.sin(x @ w + b)
    return x
"""
    )
    assert "x: Float['*batch n']" in text


def test_a_state_keeps_the_axes_that_it_begins_with():
    made = convert(
        "thing.py",
        PLAIN
        + """\
class Thing:
    def __init__(self, n: int, m: int, seed: int = 0):
        self.w = jax.random.normal(jax.random.PRNGKey(seed), (n, m))
        self.h = jnp.zeros(m)

    def __call__(self, x):
        self.h = jnp.tanh(x @ self.w) + 0.5 * self.h
        return self.h
""",
        "Thing",
        "FromThing",
    )
    assert made.whole, made.notes
    assert "def forward(self, x: Float['n']) -> Float['m']:" in made.text


def test_what_is_mapped_over_a_tuple_of_arrays_is_the_tuple_of_results():
    text = converted(
        """\
def thing(q, k):
    xs = jax.tree_util.tree_map(lambda a: jnp.moveaxis(a, 2, 0), (q, k))
    return jax.lax.scan(lambda s, x: (s + x[0], x[1]), jnp.zeros_like(q[:, :, 0]), xs)[1]
""",
        PLAIN,
        "FUNCTION",
    ).text
    assert "xs = (jnp.moveaxis(q, 2, 0), jnp.moveaxis(k, 2, 0))" in text


def test_docstrings_tell_the_axes_of_inputs_of_functions():
    code = '''\
def thing(logits, labels, mask=None):
    """Error of a classifier. logits: [rows, classes], labels: [rows]."""
    w = jnp.ones_like(labels) if mask is None else mask
    hit = (jnp.argmax(logits, axis=-1) == labels) * w
    return (jnp.max(logits, axis=-1) * hit)[:, None]
'''
    given = (PLAIN + code, "thing", "from_thing", "FUNCTION")
    text = convert("thing.py", *given, axes=DOCUMENTED).text
    assert "logits: Float['rows classes']" in text
    assert "labels: Float['rows']" in text
    assert "mask: Float['rows'] | None = None" in text


def test_so_many_axes_are_tried_for_inputs_of_functions():
    code = "def thing(x):\n    return jnp.moveaxis(x, -3, -1) * 2\n"
    given = (PLAIN + code, "thing", "from_thing", "FUNCTION")
    assert "x: Float['*shape']" in convert("thing.py", *given).text
    text = convert("thing.py", *given, axes=3).text
    assert "x: Float['batch positions features']" in text


def test_numbers_of_words_may_be_zero():
    text = converted(
        """\
class Thing(nn.Module):
    size: int
    pad_token: int
    eos_id: int = 1

    @nn.compact
    def __call__(self, ids):
        kept = (ids != self.pad_token) & (ids != self.eos_id)
        return nn.Embed(self.size, 4)(ids) * kept[..., None]
""",
        LINEN,
    ).text
    assert "pad_token: Count" in text
    assert "eos_id: Count = 1" in text


def test_transforms_along_an_axis_have_its_size():
    text = converted(
        """\
class Thing(eqx.Module):
    w: jax.Array
    modes: int

    def __init__(self, n, m, modes, *, key):
        self.w = jax.random.normal(key, (n, m, modes))
        self.modes = modes

    def __call__(self, x):
        channels, length = x.shape
        h = jnp.fft.rfft(x)[:, : self.modes]
        h = jnp.einsum("iM,ioM->oM", h, self.w)
        return jnp.fft.irfft(h, n=length)
""",
        EQUINOX,
    ).text
    assert "x: Float['n length']" in text
    assert "'modes': 2" in text


CELL = """\
class Cell(nn.RNNCellBase):
    features: int
    size: int

    @nn.compact
    def __call__(self, carry, x):
        carry, y = nn.LSTMCell(self.features)(carry, x)
        logits = nn.Dense(self.size)(y)
        return carry, (logits, jnp.argmax(logits, -1))

    @property
    def num_feature_axes(self):
        return 1


class Thing(nn.Module):
    features: int
    size: int

    @nn.compact
    def __call__(self, xs, ys):
        encoder = nn.RNN(nn.LSTMCell(self.features), return_carry=True, name="encoder")
        decoder = nn.RNN(Cell(self.features, self.size), name="decoder")
        state, _ = encoder(xs)
        logits, best = decoder(ys[:, :-1], initial_carry=state)
        return logits, best
"""


def test_a_cell_of_the_file_is_run_from_what_another_one_carries():
    text = converted(CELL, LINEN).text
    assert "return self.cell_1(carry, x)" in text or "cell_1(carry, x)" in text
    assert "lax.scan(step_1, state, jnp.swapaxes(steps_1, 0, 1)" in text
    assert "(jnp.swapaxes(y_1[0], 0, 1), jnp.swapaxes(y_1[1], 0, 1))" in text


def test_what_leaves_out_the_last_step_is_a_sequence():
    assert "ys: Float['batch time2 " in converted(CELL, LINEN).text


def test_dropout_along_an_axis_says_that_there_is_one():
    text = converted(
        """\
class Thing(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, deterministic=True):
        h = nn.Dense(self.width)(x)
        return nn.Dropout(0.1, broadcast_dims=(-2,))(h, deterministic=deterministic)
""",
        LINEN,
    ).text
    assert "x: Float['*batch axis2 in_features']" in text


def test_loops_in_loops_of_linen_that_carry_sizes_are_written_out():
    made = converted(
        """\
class Layer(nn.Module):
    growth: int

    @nn.compact
    def __call__(self, x):
        return jnp.concatenate([x, nn.Dense(self.growth)(x)], axis=-1)


class Thing(nn.Module):
    depths: Sequence[int] = (1, 2)
    width: int = 8
    growth: int = 4

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width)(x)
        features = self.width
        for i, depth in enumerate(self.depths):
            for _ in range(depth):
                x = Layer(self.growth)(x)
                features += self.growth
            if i != len(self.depths) - 1:
                features = features // 2
                x = nn.Dense(features)(x)
        return x
""",
        LINEN,
    )
    assert "depths" not in made.text
    assert any("`depths` of Thing is always `(1, 2)`" in n.what for n in made.notes)
    assert "self.linear_1 = Linear(self.width + self.growth, " in made.text
    half = "(self.width + self.growth) // 2"
    assert f"Layer({half} + self.growth, growth=self.growth)" in made.text


ATTENTION = """\
class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention

    def __init__(self, heads: int, size: int, key):
        self.attention = eqx.nn.MultiheadAttention(heads, size, key=key)

    def __call__(self, x, mask: Optional[jax.Array], inference: bool = True, key=None):
        if mask is not None:
            mask = self.square_mask(mask)
        k, key = (None, None) if key is None else jax.random.split(key)
        return x + self.attention(x, x, x, mask=mask, inference=inference, key=k)

    def square_mask(self, mask):
        return jnp.multiply(mask[:, None], mask[None, :]).astype(jnp.float32)


class Thing(eqx.Module):
    blocks: list

    def __init__(self, heads: int, size: int, depth: int, key):
        self.blocks = [Block(heads, size, k) for k in jax.random.split(key, depth)]

    def __call__(self, x, mask=None, *, inference: bool = True, key=None):
        for block in self.blocks:
            k, key = (None, None) if key is None else jax.random.split(key)
            x = block(x, mask, inference=inference, key=k)
        return x
"""


def test_an_input_that_may_be_none_may_be_left_out():
    text = converted("from typing import Optional\n\n\n" + ATTENTION, EQUINOX).text
    block = text[text.index("class Block") : text.index("class FromThing")]
    assert "| None=None" in block


def test_a_mask_of_ones_and_zeros_that_a_method_makes_is_of_booleans():
    text = converted("from typing import Optional\n\n\n" + ATTENTION, EQUINOX).text
    assert "return jnp.multiply(mask[:, None], mask[None, :]) != 0" in text


def test_keys_that_loops_split_where_one_is_given_are_left_out():
    text = converted("from typing import Optional\n\n\n" + ATTENTION, EQUINOX).text
    assert "key()" not in text
    assert "split" not in text


def test_a_copy_of_zeros_is_a_moment_of_zeros():
    code = """\
from typing import NamedTuple


class State(NamedTuple):
    m: optax.Params
    v: optax.Params


def thing(learning_rate=0.1):
    def init(params):
        zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
        return State(m=zeros, v=jax.tree_util.tree_map(jnp.copy, zeros))

    def update(grads, state, params=None):
        m = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, state.m, grads)
        v = jax.tree_util.tree_map(lambda v, g: 0.9 * v + g * g, state.v, grads)
        updates = jax.tree_util.tree_map(lambda m, v: -learning_rate * m / (1.0 + v), m, v)
        return updates, State(m, v)

    return optax.GradientTransformation(init, update)
"""
    made = convert("thing.py", OPTAX + code, "thing", "FromThing", "OPTIMIZER")
    assert made.whole, made.notes
    assert "self.v = moment(zeros, param.shape)" in made.text


def test_a_dictionary_that_is_read_by_names_is_one_of_arrays():
    code = """\
class Thing(eqx.Module):
    embed: eqx.nn.Embedding

    def __init__(self, size: int, dim: int, key):
        self.embed = eqx.nn.Embedding(size, dim, key=key)

    def __call__(self, batch: dict[str, jax.Array]):
        return jax.vmap(self.embed)(batch["ids"]) * batch["weights"][:, None]
"""
    text = converted(code, EQUINOX).text
    assert "def forward(self, batch: dict[str, jax.Array])" in text
    assert "'batch':" not in text


def test_a_schedule_that_is_none_by_default_is_left_out():
    code = """\
from typing import NamedTuple, Optional


class State(NamedTuple):
    step: jnp.ndarray


def thing(lr: float = 1e-3, schedule: Optional[optax.Schedule] = None):
    def init(params):
        return State(jnp.zeros([], jnp.int32))

    def update(grads, state, params=None):
        rate = lr if schedule is None else lr * schedule(state.step)
        return jax.tree.map(lambda g: -rate * g, grads), State(state.step + 1)

    return optax.GradientTransformation(init, update)
"""
    made = convert("thing.py", OPTAX + code, "thing", "FromThing", "OPTIMIZER")
    assert made.whole, made.notes
    assert "schedule" not in made.text
    assert any(
        "the optimizer is the one for `schedule=None`" in n.what for n in made.notes
    )


def test_loops_of_linen_over_records_are_written_out():
    made = converted(
        """\
from typing import NamedTuple


class Args(NamedTuple):
    features: int
    repeats: int
    stride: int = 1


DEFAULT = (Args(8, 1), Args(12, 2, stride=2))


class Thing(nn.Module):
    blocks: Sequence[Args] = DEFAULT

    @nn.compact
    def __call__(self, x):
        for args in self.blocks:
            for i in range(args.repeats):
                strides = (args.stride if i == 0 else 1,) * 2
                x = nn.Conv(args.features, (3, 3), strides=strides)(x)
        return x
""",
        LINEN,
    )
    assert "Conv(2, 8, 12, (3, 3), strides=(2, 2), " in made.text
    assert "Conv(2, 12, 12, (3, 3), strides=(1, 1), " in made.text
    assert "Args" not in made.text
    assert any("`blocks` of Thing is always" in n.what for n in made.notes)


def test_a_function_that_slices_by_a_size_is_compared_on_longer_axes():
    code = """\
def thing(x, y, window: int = 5):
    parts = [(x * y)[..., i : x.shape[-1] - window + 1 + i] for i in range(window)]
    return jnp.stack(parts, axis=-1).mean(axis=-1)
"""
    made = convert("thing.py", PLAIN + code, "thing", "from_thing", "FUNCTION", axes=2)
    assert made.trial is not None
    sizes = [size for _, shape in made.trial.inputs for size in shape]
    assert all(isinstance(size, int) and size > 5 for size in sizes)
