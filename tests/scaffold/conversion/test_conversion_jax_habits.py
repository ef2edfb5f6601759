"""Forms in which code for jax is published: layouts over devices, locals, caches, one example."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

from mlax_scaffold.conversion import convert

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nfrom typing import Any, Sequence\n\n\n"
NNX = "from flax import nnx\nimport jax\nimport jax.numpy as jnp\nfrom functools import partial\n\n\n"
EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"


def test_layouts_over_devices_of_linen_are_left_out_and_told_once():
    made = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        init = nn.with_logical_partitioning(nn.initializers.zeros, ("in", "out"))
        x = nn.Dense(self.size, kernel_init=init)(x)
        w = self.param("w", nn.with_partitioning(nn.initializers.ones, ("out",)), (self.size,))
        if self.size > 1:
            x = nn.with_logical_constraint(x, ("batch", "out"))
        return jax.lax.with_sharding_constraint(x * w, None)
""",
        LINEN,
    )
    assert "Linear(self.in_features, self.size, kernel_initializer=zeros)" in made.text
    assert "self.w = trainable(ones, (self.size,))" in made.text
    assert "return x * w" in made.text
    told = [note.what for note in made.notes]
    assert told == ["how arrays are laid out over devices is left out"]


def test_layouts_over_devices_of_nnx_are_left_out():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, layout, rngs: nnx.Rngs):
        init = partial(nnx.initializers.ones, out_sharding=layout)
        self.up = nnx.Linear(
            dim, 4, kernel_init=init, kernel_metadata={"out_sharding": layout}, rngs=rngs
        )
        self.w = nnx.Param(jnp.ones((4,)), sharding=("out",))

    def __call__(self, x):
        return self.up(x, out_sharding=None) * self.w
""",
        NNX,
    ).text
    assert "self.up = Linear(self.dim, 4, kernel_initializer=ones)" in text
    assert "return self.up(x) * self.w" in text


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        (
            "last = i == len(self.sizes) - 1\n"
            "            use = not last or self.ends\n"
            "            x = nn.Dense(size, use_bias=use)(x)",
            "use_bias=not i == len(self.sizes) - 1 or self.ends)",
        ),
        (
            "x = nn.Dense(size, use_bias=i < count - 1)(x)",
            "use_bias=i < len(self.sizes) - 1)",
        ),
    ],
)
def test_truths_that_loops_tell_are_written_where_layers_are_made(lines, made):
    text = converted(
        f"""\
class Thing(nn.Module):
    sizes: Sequence[int]
    ends: bool = True

    @nn.compact
    def __call__(self, x):
        count = len(self.sizes)
        for i, size in enumerate(self.sizes):
            {lines}
        return x
""",
        LINEN,
    ).text
    assert made in text


def test_a_list_of_sizes_is_written_where_layers_are_made_of_it():
    text = converted(
        """\
class Thing(nn.Module):
    size: int
    depth: int

    @nn.compact
    def __call__(self, x):
        sizes = [self.size] * self.depth
        for size in sizes:
            x = nn.Dense(size)(x)
        return x
""",
        LINEN,
    ).text
    assert "[Linear(width, size) for width, size in" in text
    assert "[self.size] * self.depth)]" in text


def test_a_local_with_the_name_of_a_value_of_the_file_is_the_local():
    text = converted(
        """\
key, key2 = jax.random.split(jax.random.key(0))
x = jax.random.normal(key, (4, 8))
scale = 2.0


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        y = nn.Dense(self.size)(x)
        return y * scale


y = Thing(4)
""",
        LINEN,
    ).text
    assert "scale = 2.0\n" in text
    assert "jax.random" not in text


def test_arguments_of_a_weight_may_have_their_names():
    text = converted(
        """\
class Thing(nn.Module):
    begin: float = 0.5

    @nn.compact
    def __call__(self):
        w = self.param("w", init_fn=lambda key: jnp.full((2,), self.begin))
        return w * self.param(name="v", init_fn=nn.initializers.ones, shape=(2,))
""",
        LINEN,
    ).text
    assert "self.w = trainable(constant(self.begin), (2,))" in text
    assert "self.v = trainable(ones, (2,))" in text


def test_attention_that_a_setting_tells_to_decode_does_not():
    made = converted(
        """\
class Thing(nn.Module):
    heads: int
    decode: bool = False

    @nn.compact
    def __call__(self, x):
        x = nn.SelfAttention(self.heads, decode=self.decode)(x)
        if not self.decode:
            x = x + 1
        return x
""",
        LINEN,
    )
    assert "decode" not in made.text
    assert "x = x + 1" in made.text
    assert [n.line for n in made.notes if n.what.startswith("`decode` is False")]


def test_a_cast_to_a_dtype_that_is_told_does_not_cast_to_that_of_indices():
    text = converted(
        """\
class Inner(nn.Module):
    size: int

    @nn.compact
    def __call__(self, tokens):
        return nn.Embed(self.size, 8)(tokens)


class Thing(nn.Module):
    size: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, tokens):
        x = Inner(self.size)(tokens)
        return x.astype(self.dtype)
""",
        LINEN,
    ).text
    assert "astype" not in text


def test_a_variable_of_a_class_of_the_file_is_a_state():
    text = converted(
        """\
class Count(nnx.Variable[jax.Array]):
    pass


class Thing(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.count = Count(jnp.array(0))
        self.up = nnx.Linear(dim, dim, rngs=nnx.Rngs(0))

    def __call__(self, x):
        self.count[...] += 1
        return self.perturb("up", self.up(x))
""",
        NNX,
    ).text
    assert "self.count = state(zeros, (), jnp.int32)" in text
    assert "self.count = self.count + 1" in text
    assert "return self.up(x)" in text


def test_the_mode_that_a_layer_of_nnx_begins_in_is_told():
    made = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.norm = nnx.BatchNorm(dim, use_running_average=True, rngs=rngs)
        self.drop = nnx.Dropout(0.1, deterministic=True, rngs=rngs)

    def __call__(self, x):
        return self.drop(self.norm(x))
""",
        NNX,
    )
    told = [note.what for note in made.notes]
    assert [text.partition(",")[0] for text in told] == [
        "`use_running_average=True`",
        "`deterministic=True`",
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("x / x.shape[0]", "dim"),
        ("x[0] * x", "dim"),
        ("x / len(x)", "dim"),
        ("jax.nn.softmax(x, axis=0)", "dim"),
        ("x[::-1] + x.size", "dim"),
        ("jnp.mean(x, axis=0)", "dim"),
        ("jnp.outer(x, x)", "dim"),
        ("x / x.shape[-1]", "*batch dim"),
    ],
)
def test_axes_that_equinox_counts_from_the_first_are_those_of_one_example(line, kind):
    text = converted(
        f"""\
class Thing(eqx.Module):
    lin: eqx.nn.Linear

    def __init__(self, dim, key):
        self.lin = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        x = self.lin(x)
        return {line}
""",
        EQUINOX,
    ).text
    assert f"x: Float['{kind}']" in text


def test_the_axis_that_equinox_maps_over_may_be_asked_for_first():
    text = converted(
        """\
class Thing(eqx.Module):
    lin: eqx.nn.Linear

    def __init__(self, dim, key):
        self.lin = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        count = x.shape[0]
        x = jax.vmap(self.lin)(x)
        return x / count
""",
        EQUINOX,
    ).text
    assert "x: Float['items dim']" in text


@pytest.mark.parametrize(
    "body",
    ["pass", '"""Has to be written."""', "raise NotImplementedError", "..."],
)
def test_a_call_that_is_left_to_others_is_listed(body):
    made = convert(
        "thing.py",
        NNX + f"class Thing(nnx.Module):\n    def __call__(self, x):\n        {body}\n",
        "Thing",
        "FromThing",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.what == "the call of Thing computes nothing"


def test_what_a_call_lacks_is_told():
    made = convert(
        "thing.py",
        LINEN + "class Thing(nn.Module):\n    @nn.compact\n"
        "    def __call__(self, x):\n        return nn.Dense()(x)\n",
        "Thing",
        "FromThing",
    )
    [note] = [n for n in made.notes if n.blocks]
    assert note.what == "`nn.Dense` without `features` has no counterpart"


def test_a_cast_for_a_type_checker_is_the_value():
    text = converted(
        """\
class Thing(eqx.Module):
    w: jax.Array

    def __init__(self, dim, key):
        self.w = cast(jax.Array, jax.random.normal(key, (dim,)))

    def __call__(self, x):
        return x * cast(jax.Array, self.w)
""",
        "from typing import cast\n" + EQUINOX,
    ).text
    assert "self.w = trainable(normal(1), (self.dim,))" in text.replace("1.0", "1")
    assert "return x * self.w" in text


def test_a_class_that_is_built_on_one_with_a_call_is_a_layer():
    text = converted(
        """\
class Base:
    def __init__(self, dim):
        self.w = jnp.ones((dim,))

    def __call__(self, x):
        return x * self.w


class Thing(Base):
    def __init__(self, dim):
        super().__init__(dim)
""",
        "import jax.numpy as jnp\n\n\n",
    ).text
    assert "return x * self.w" in text


def test_what_the_rest_of_a_file_shows_is_not_told():
    made = converted(
        """\
from typing import NamedTuple


class Pair(NamedTuple):
    init: Any
    apply: Any


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size)(x)


def make():
    print("made")
    thing = Thing(4)
    return Pair(init=thing.init, apply=thing.apply)
""",
        LINEN,
    )
    assert not made.notes


@pytest.mark.parametrize(
    "cast",
    [
        "jnp.asarray(w, self.dtype)",
        "jnp.array(w, dtype=self.dtype)",
        "w.astype(self.dtype)",
    ],
)
def test_a_table_is_not_cast_to_the_dtype_of_indices(cast):
    text = converted(
        f"""\
class Thing(nn.Module):
    size: int
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, ids):
        w = self.param("w", nn.initializers.ones, (self.size, 8))
        w = {cast}
        return w[ids]
""",
        LINEN,
    ).text
    assert "ids.dtype" not in text
    assert "self.w.dtype" in text


def test_what_computes_wider_returns_in_the_dtype_that_it_is_given():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int, *, dtype=jnp.float32, kept_dtype=jnp.float32, rngs):
        self.dtype = dtype
        self.w = nnx.Param(jnp.ones((dim,), kept_dtype))

    def __call__(self, x):
        x = jnp.asarray(x, jnp.float32)
        return jnp.asarray(x * self.w, self.dtype)
""",
        NNX,
    ).text
    assert "kept_dtype" not in text
    assert "input_dtype = x.dtype\n        x = jnp.asarray(x, jnp.float32)" in text
    assert "return jnp.asarray(x * self.w, input_dtype)" in text


@pytest.mark.parametrize(
    ("given", "mask"),
    [
        ("x, is_causal=True", "jnp.tril(jnp.ones((x.shape[-2], x.shape[-2]), bool))"),
        (
            "x, y, is_causal=True",
            "jnp.tril(jnp.ones((x.shape[-2], y.shape[-2]), bool))",
        ),
        (
            "x, mask=y, is_causal=True",
            "jnp.logical_and(y, jnp.tril(jnp.ones((x.shape[-2], x.shape[-2]), bool)))",
        ),
        ("x, mask=y, is_causal=False", "y"),
    ],
)
def test_attention_of_nnx_may_be_told_to_be_causal(given, mask):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.attention = nnx.MultiHeadAttention(2, dim, decode=False, rngs=rngs)

    def __call__(self, x, y):
        return self.attention({given})
""",
        NNX,
    ).text
    assert f"mask={mask})" in text


def test_images_whose_channels_stand_first_are_large_enough_for_their_windows():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        dtype = jnp.float32
        x = jnp.transpose(x.astype(dtype), (0, 2, 3, 1))
        x = nn.Conv(4, (8, 8), strides=(4, 4), padding="VALID", dtype=dtype)(x)
        x = nn.Conv(4, (3, 3), strides=(2, 2), padding="VALID", dtype=dtype)(x)
        return nn.Dense(5)(x.reshape((x.shape[0], -1)))
""",
        LINEN,
    ).text
    assert "x: Float['batch in_channels height width']" in text
    assert "'height': 28, 'width': 28, 'x': (2, 8, 28, 28)" in text
    assert "dtype" not in text


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (
            NNX,
            """\
class Thing(nnx.Module):
    def __init__(self, din: int, dout: int, rngs: nnx.Rngs):
        shape = (din, dout)
        self.w = nnx.Param(nnx.initializers.lecun_normal()(rngs.params(), shape))

    def __call__(self, x):
        return x @ self.w
""",
        ),
        (
            EQUINOX,
            """\
class Thing(eqx.Module):
    w: jax.Array

    def __init__(self, din: int, dout: int, key):
        shape = (din, dout)
        self.w = jax.random.normal(key, shape) * 0.1

    def __call__(self, x):
        return x @ self.w
""",
        ),
    ],
)
def test_a_shape_that_has_a_name_is_the_shape_of_a_weight(head, body):
    text = converted(body, head).text
    assert "(self.din, self.dout))" in text
    assert 'x: Float["*batch din"]' in text.replace("'", '"')


def test_a_function_of_all_weights_is_a_method():
    made = convert(
        "thing.py",
        """\
import jax
import jax.numpy as jnp
from typing import NamedTuple


class Params(NamedTuple):
    w: jax.Array
    b: jax.Array


def thing_init(key, dim: int):
    shape = (dim, dim)
    return Params(w=jax.nn.initializers.glorot_uniform()(key, shape), b=jnp.zeros((dim,)))


def step(params: Params, h, x):
    return jnp.tanh((x + h) @ params.w + params.b)


def thing_apply(params: Params, xs, h):
    def body(h, x):
        h = step(params, h, x)
        return h, h

    return jax.lax.scan(body, h, xs)
""",
        "thing",
        "Thing",
        "LAYER",
    )
    assert made.whole, made.notes
    assert "self.w = trainable(glorot_uniform(), (self.dim, self.dim))" in made.text
    assert "h = self._step(h, x)" in made.text
    assert "return jnp.tanh((x + h) @ self.w + self.b)" in made.text


def test_a_function_that_is_given_a_key_makes_it():
    text = converted(
        """\
def sample(rng, mean, std):
    return mean + std * jax.random.normal(rng, mean.shape)


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        mean = nn.Dense(4)(x)
        return sample(self.make_rng("latent"), mean, jnp.exp(mean))
""",
        LINEN,
    ).text
    assert "return self._sample(mean, jnp.exp(mean))" in text
    assert "jax.random.normal(self.key(), mean.shape, mean.dtype)" in text
    assert "if self.training else" in text


def test_layers_of_a_list_that_are_told_the_mode_by_their_kind_are_called():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int

    def setup(self):
        self.net = [nn.Dense(self.dim), nn.gelu, nn.Dropout(0.1), nn.Dense(self.dim)]
        self.attn = nn.MultiHeadDotProductAttention(num_heads=2)

    def __call__(self, x, train=True):
        x = self.attn(inputs_q=x, inputs_kv=x)
        for part in self.net:
            x = part(x) if not isinstance(part, nn.Dropout) else part(x, deterministic=not train)
        return x
""",
        LINEN,
    ).text
    assert "x = self.attn(x)" in text
    assert "x = self.net_2(x)" in text


def test_attention_that_is_given_one_array_for_keys_and_values():
    text = converted(
        """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, y):
        return nn.MultiHeadDotProductAttention(num_heads=2)(x, inputs_kv=y)
""",
        LINEN,
    ).text
    assert "(x, context=y)" in text


def test_steps_of_rows_that_begin_anew_are_given_rows():
    text = converted(
        """\
class Thing(nn.Module):
    hidden: int

    @partial(nn.scan, variable_broadcast="params", in_axes=0, out_axes=0, split_rngs={"params": False})
    @nn.compact
    def __call__(self, carry, x):
        ins, resets = x
        carry = jnp.where(resets[:, None], jnp.zeros_like(carry), carry)
        return nn.GRUCell(features=self.hidden)(carry, ins)
""",
        f"from functools import partial\n{LINEN}",
    ).text.replace("'", '"')
    assert 'carry: Float["batch hidden"]' in text
    assert 'tuple[Float["time batch in_features"], Float["time batch"]]' in text


def test_a_static_array_of_equinox_is_none_of_the_weights():
    text = converted(
        """\
class Thing(eqx.Module):
    table: jax.Array = eqx.field(static=True)

    def __init__(self, length: int, dim: int):
        self.table = jnp.ones((length, dim), dtype=jnp.float32)

    def __call__(self, x):
        return x + self.table[: x.shape[0]]
""",
        EQUINOX,
    ).text.replace("'", '"')
    assert "trainable" not in text
    assert "self.table = np.ones((self.length, self.dim))" in text
    assert "jnp.asarray(self.table, x.dtype)[:x.shape[0]]" in text
    assert 'x: Float["items dim"]' in text


def test_the_state_of_a_cell_of_equinox_is_of_one_example_where_its_input_is():
    text = converted(
        """\
class Thing(eqx.Module):
    cell: eqx.nn.LSTMCell

    def __init__(self, dim: int, *, key):
        self.cell = eqx.nn.LSTMCell(dim, dim, key=key)

    def __call__(self, x, state):
        h, c = self.cell(x, state)
        return h, (h, c)
""",
        EQUINOX,
    ).text.replace("'", '"')
    one = 'x: Float["dim"], state: tuple[Float["dim"], Float["dim"]]'
    several = (
        'x: Float["*batch dim"], state: tuple[Float["*batch dim"], Float["*batch dim"]]'
    )
    assert one in text or several in text


def test_a_hyperparameter_with_the_name_of_a_word_keeps_it():
    made = converted(
        """\
class Thing(nn.Module):
    trainable: bool

    @nn.compact
    def __call__(self, x):
        w = self.param("w", nn.initializers.ones, (x.shape[-1],))
        return x * (w if self.trainable else jax.lax.stop_gradient(w))
""",
        LINEN,
    )
    assert "    trainable: bool" in made.text
    assert "self.w = trainable(ones, " in made.text
    assert "if self.trainable else" in made.text


def test_what_the_first_of_several_layers_maps_from_is_that_of_the_input():
    text = converted(
        """\
class Block(nnx.Module):
    def __init__(self, din: int, dout: int, rngs: nnx.Rngs):
        self.linear = nnx.Linear(din, dout, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.linear(x))


class Thing(nnx.Module):
    def __init__(self, din: int, dmid: int, depth: int = 3, *, rngs: nnx.Rngs):
        self.blocks = nnx.List([Block(din if i == 0 else dmid, dmid, rngs=rngs) for i in range(depth)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
""",
        NNX,
    ).text.replace("'", '"')
    assert 'x: Float["*batch din"]) -> ' in text[text.index("depth: Size") :]


def test_what_makes_keys_may_be_handed_on_itself():
    text = converted(
        """\
def mask(x, rate, deterministic, make_rng):
    if not deterministic and rate:
        return jax.random.bernoulli(make_rng("dropout"), 1 - rate, x.shape).astype(x.dtype)
    return 1.0


class Thing(nn.Module):
    rate: float = 0.1

    @nn.compact
    def __call__(self, x, *, train=False):
        return x + nn.Dense(x.shape[-1])(x) * mask(x, self.rate, not train, self.make_rng)
""",
        LINEN,
    ).text
    assert "self._mask(x, self.rate)" in text
    assert "bernoulli(self.key(), p=1 - rate, shape=x.shape)" in text


def test_a_method_that_is_handed_a_layer_is_one_for_each():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int

    def setup(self):
        self.left = nn.Dense(self.dim)
        self.right = nn.Dense(self.dim)

    def encode(self, layer, x):
        return layer(x) * 2

    def __call__(self, x, y):
        return self.encode(self.left, x) + self.encode(self.right, y)
""",
        LINEN,
    ).text
    assert "return self._encode_left(x) + self._encode_right(y)" in text
    assert "return self.right(x) * 2" in text


def test_attributes_that_nnx_sets_for_inference_are_the_mode():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, dim: int):
        self.mean = nnx.BatchStat(jnp.zeros(dim))
        self.use_running_average = False

    def __call__(self, x):
        if self.use_running_average:
            return x - self.mean.value
        self.mean.value = x.mean(axis=0)
        return x - self.mean.value
""",
        NNX,
    ).text
    assert "if not self.training:" in text
    assert "use_running_average" not in text


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (
            EQUINOX,
            """\
class Part(eqx.Module):
    net: eqx.nn.MLP

    def __init__(self, dim: int, *, key):
        self.net = eqx.nn.MLP(dim, "scalar", 8, 1, key=key)

    def __call__(self, x):
        return self.net(x)


class Thing(eqx.Module):
    parts: Part

    def __init__(self, dim: int, n: int, *, key):
        @eqx.filter_vmap
        def make(key):
            return Part(dim, key=key)

        self.parts = make(jax.random.split(key, n))

    def __call__(self, x):
        return eqx.filter_vmap(lambda part, y: part(y), in_axes=(eqx.if_array(0), None))(self.parts, x)
""",
        ),
        (
            NNX,
            """\
class Part(nnx.Module):
    def __init__(self, dim: int, rngs: nnx.Rngs):
        self.net = nnx.Linear(dim, 1, rngs=rngs)

    def __call__(self, x):
        return self.net(x)[..., 0]


class Thing(nnx.Module):
    def __init__(self, dim: int, n: int, rngs: nnx.Rngs):
        @nnx.split_rngs(splits=n)
        @nnx.vmap
        def make(rngs):
            return Part(dim, rngs)

        self.parts = make(rngs)

    def __call__(self, x):
        @nnx.vmap(in_axes=(0, None), out_axes=0)
        def run(part, x):
            return part(x)

        return run(self.parts, x)
""",
        ),
    ],
)
def test_stacked_layers_that_are_all_given_the_same_are_a_list_of_which_each_is_called(
    head, body
):
    text = converted(body, head).text
    assert "return jnp.stack([part(x) for part in self.parts], axis=0)" in text
    assert "(x)[..., 0]" in text


def test_a_result_that_is_one_number_is_that_of_a_layer_of_one():
    text = converted(
        """\
class Thing(eqx.Module):
    net: eqx.nn.MLP

    def __init__(self, dim: int, *, key):
        self.net = eqx.nn.MLP(dim, "scalar", 8, 1, key=key)

    def __call__(self, x):
        return self.net(x)
""",
        EQUINOX,
    ).text
    assert "MLP(self.dim, 1, (8,) * 1)" in text
    assert "return self.net(x)[..., 0]" in text


def test_what_is_added_where_sizes_are_the_same_is_not_so_elsewhere():
    text = converted(
        """\
class Thing(nn.Module):
    sizes: Sequence[int] = (8, 16)

    @nn.compact
    def __call__(self, x):
        for size in self.sizes:
            h = nn.relu(nn.Dense(size)(x))
            x = h if x.shape[-1] != size else x + h
        return x
""",
        LINEN,
    ).text
    assert (
        "Linear(width, size) for width, size in zip((self.in_features, *self.sizes)"
        in text
    )


def test_a_first_axis_that_is_asked_for_beside_attention_is_that_of_the_rows():
    text = converted(
        """\
class Thing(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm: eqx.nn.LayerNorm

    def __init__(self, dim: int, *, key):
        self.attention = eqx.nn.MultiheadAttention(2, dim, key=key)
        self.norm = eqx.nn.LayerNorm(dim)

    def __call__(self, x):
        rows = x.shape[0]
        return jax.vmap(self.norm)(self.attention(x, x, x)) / rows
""",
        EQUINOX,
    ).text.replace("'", '"')
    assert 'dim"]' in text
    assert "*batch" not in text


def test_a_value_that_a_condition_names_is_assigned_before_it():
    text = converted(
        """\
class Thing(nn.Module):
    offset: Any = None

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(4)(x)
        if (b := self.offset) is not None:
            x = x + b
        return x
""",
        LINEN,
    ).text
    assert "b = self.offset\n        if b is not None:" in text


def test_states_of_equinox_that_calls_hand_on_are_those_of_layers():
    made = converted(
        """\
class Block(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm

    def __init__(self, width, key):
        self.conv = eqx.nn.Conv2d(width, width, 3, padding=1, key=key)
        self.norm = eqx.nn.BatchNorm(width, "batch", mode="batch")

    def __call__(self, x, state: eqx.nn.State):
        y, state = self.norm(self.conv(x), state)
        return x + y, state


class Thing(eqx.Module):
    block: Block
    out: eqx.nn.Linear

    def __init__(self, width, key):
        self.block = Block(width, key)
        self.out = eqx.nn.Linear(width, 3, key=key)

    def __call__(self, x, state):
        x, state = self.block(x, state)
        return self.out(jnp.mean(x, axis=(1, 2))), state
""",
        EQUINOX,
    )
    assert "self.norm = BatchNorm(self.width, momentum=0.99)" in made.text
    assert "y = self.norm(self.conv(x))\n        return x + y" in made.text
    assert "return self.out(mean(x, axis=(-2, -1)))" in made.text
    assert 'Float["batch width' in made.text.replace("'", '"')
    assert [n.what for n in made.notes] == [
        "the averages of `eqx.nn.BatchNorm` are a state of the layer"
    ]
    assert made.trial is not None


@pytest.mark.parametrize(
    ("result", "made"),
    [
        ("x.reshape(-1)", "jnp.reshape(x, (*x.shape[:-3], -1))"),
        ("jnp.ravel(x)", "jnp.reshape(x, (*x.shape[:-3], -1))"),
        ("jnp.sum(x, (1, 2))", "sum(x, axis=(-2, -1))"),
    ],
)
def test_axes_of_one_example_are_counted_from_the_last_one_beside_averages(
    result, made
):
    text = converted(NORMED.format(result), EQUINOX).text
    assert made in text


def test_an_axis_of_one_example_that_may_be_any_is_listed_beside_averages():
    text = EQUINOX + NORMED.format("jnp.mean(x, axis=0)")
    found = convert("thing.py", text, "Thing", "Thing")
    said = [n.what for n in found.notes if n.blocks]
    assert "`jnp.mean(x, axis=0)` counts axes of one example from the first one" in said


NORMED = """\
class Thing(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.BatchNorm

    def __init__(self, width, key):
        self.conv = eqx.nn.Conv2d(width, 4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(4, "batch")

    def __call__(self, x, state):
        x, state = self.norm(self.conv(x), state)
        return {}, state
"""


@pytest.mark.parametrize(
    ("made", "parts", "given"),
    [
        ("distrax.Categorical(logits=y)", "y", "`logits`"),
        (
            "distrax.MultivariateNormalDiag(y, jnp.exp(y))",
            "(y, jnp.exp(y))",
            "`loc` and `scale_diag`",
        ),
        (
            "distrax.Independent(distrax.Normal(y, 1.0), 1)",
            "(y, 1.0)",
            "`loc` and `scale`",
        ),
        ("tfd.Normal(loc=y, scale=2.0)", "(y, 2.0)", "`loc` and `scale`"),
    ],
)
def test_distributions_that_are_returned_are_the_arrays_they_are_made_of(
    made, parts, given
):
    found = converted(
        f"""\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.Dense(3)(x)
        dist = {made}
        return dist, nn.Dense(1)(x)
""",
        "import distrax\nimport tensorflow_probability.substrates.jax as tfp\n"
        "tfd = tfp.distributions\n" + LINEN,
    )
    assert f"dist = {parts}\n" in found.text
    assert "distrax" not in found.text
    assert given in " ".join(n.what for n in found.notes)
    assert found.trial is None


def test_distributions_that_are_asked_for_something_stay():
    text = (
        "import distrax\n"
        + LINEN
        + """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        dist = distrax.Categorical(logits=nn.Dense(3)(x))
        return dist, dist.entropy()
"""
    )
    assert (
        "distrax.Categorical(logits="
        in convert("thing.py", text, "Thing", "Thing").text
    )


def test_layers_that_fields_are_given_are_parts():
    made = converted(
        """\
class Tower(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.width)(x)


class Thing(nn.Module):
    query: nn.Module
    scale: float = 2.0
    item: nn.Module = None

    def __call__(self, q, i):
        return self.scale * self.query(q) @ self.item(i).T


class Compact(nn.Module):
    inner: nn.Module

    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(self.inner(x))


def model():
    return Thing(Tower(32), item=Tower(width=16)), Compact(nn.Dense(5))
""",
        LINEN,
    )
    assert "self.query = Tower(self.in_features, width=32)" in made.text
    assert "self.item = Tower(self.i_features, width=16)" in made.text
    assert [n.what for n in made.notes] == [
        "`item` of Thing is `Tower(width=16)`",
        "`query` of Thing is `Tower(32)`",
    ]
    assert made.trial is not None
    assert dict(made.trial.given) == {"query": "Tower(32)", "item": "Tower(width=16)"}


def test_cells_that_are_made_without_a_size_have_that_of_what_they_carry():
    text = converted(
        """\
class Thing(nn.Module):
    @partial(nn.scan, variable_broadcast="params", in_axes=0, out_axes=0, split_rngs={"params": False})
    @nn.compact
    def __call__(self, carry, x):
        ins, resets = x
        carry = jnp.where(resets[:, None], self.begin(ins.shape[0], ins.shape[1]), carry)
        carry, y = nn.GRUCell()(carry, ins)
        return carry, y

    @staticmethod
    def begin(batch, size):
        return nn.GRUCell.initialize_carry(jax.random.PRNGKey(0), (batch,), size)
""",
        "from functools import partial\n" + LINEN,
    ).text
    assert "self.gru_cell_0 = GRUCell(self.in_features, self.in_features)" in text
    assert "jnp.where(resets[:, None], jnp.zeros((ins.shape[0], ins.shape[1])" in text


@pytest.mark.parametrize("layout", ["", ', data_format="channels_last"'])
def test_transposed_convolutions_of_haiku_are_read(layout):
    text = converted(
        f"""\
class Thing(hk.Module):
    def __call__(self, x):
        x = hk.Conv2D(6, 3{layout})(x)
        return hk.Conv2DTranspose(4, 5, stride=2{layout})(x)
""",
        "import haiku as hk\nimport jax\n\n\n",
    ).text
    assert "Conv(2, self.in_channels, 6, 3, channel_last=True)" in text
    assert "ConvTranspose(2, 6, 4, 5, strides=2, channel_last=True)" in text


def test_an_example_has_as_many_patches_as_its_image():
    text = converted(
        """\
class Thing(nn.Module):
    patch_size: int
    num_patches: int

    @nn.compact
    def __call__(self, x):
        b, h, w, c = x.shape
        p = self.patch_size
        x = x.reshape(b, h // p, p, w // p, p, c).transpose(0, 1, 3, 2, 4, 5)
        x = nn.Dense(8)(x.reshape(b, -1, p * p * c))
        return x + self.param("table", nn.initializers.zeros, (1, self.num_patches, 8))
""",
        LINEN,
    ).text
    assert "'patch_size': 2, 'num_patches': 4" in text


def test_lists_whose_strides_a_table_says_are_written_out():
    text = converted(
        """\
class Thing(nn.Module):
    width: int

    def setup(self):
        self.convs = [nn.Conv(self.width * m, (3, 3), strides=s) for m, s in [(1, 2), (2, 1)]]
        self.out = nn.Dense(4)

    def __call__(self, x):
        for conv in self.convs:
            x = nn.relu(conv(x))
        return self.out(x.reshape(x.shape[0], -1))
""",
        LINEN,
    ).text
    assert "Conv(2, self.in_channels, self.width * 1, (3, 3), strides=2, " in text
    assert (
        "Linear(-(-self.height // 2) * -(-self.width_2 // 2) * (self.width * 2), 4)"
        in text
    )


@pytest.mark.parametrize("given", ["*a, **kw", "init, *shape"])
def test_a_convolution_of_flax_that_changes_its_kernel_is_written_out(given):
    passed = given
    text = converted(
        f"""\
def centred(w, axis):
    return w - jnp.mean(w, axis=axis)


class Centred(nn.Conv):
    def param(self, name, {given}):
        w = super().param(name, {passed})
        if name == "kernel":
            w = centred(w, axis=(0, 1, 2))
        return w


class Thing(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        return Centred(self.width, (3, 3), strides=(2, 2), use_bias=False)(x)
""",
        LINEN,
    ).text
    assert (
        "kernel = self.kernel\n        kernel = centred(kernel, axis=(0, 1, 2))" in text
    )
    assert (
        "jax.lax.conv_general_dilated(inputs, kernel, self.strides, self.padding"
        in text
    )
    assert "(3, 3), strides=(2, 2), use_bias=False)" in text


def test_a_dense_layer_of_flax_that_computes_its_product_itself_has_its_fields():
    text = converted(
        """\
class Masked(nn.Dense):
    every: int = 2
    use_bias: bool = False

    @nn.compact
    def __call__(self, x):
        x = jnp.asarray(x, self.dtype)
        w = self.param("kernel", self.kernel_init, (x.shape[-1], self.features))
        w = w * (jnp.arange(x.shape[-1])[:, None] % self.every == 0)
        y = jax.lax.dot_general(x, w, (((x.ndim - 1,), (0,)), ((), ())), precision=self.precision)
        if self.use_bias:
            y = y + self.param("bias", self.bias_init, (self.features,))
        return y


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        return Masked(6, every=4)(x)
""",
        LINEN,
    ).text
    assert (
        "self.kernel = trainable(lecun_normal(), (self.in_features, self.features))"
        in text
    )
    assert "use_bias: bool = False" in text
    assert "every: Size = 2" in text
    assert "precision" not in text.replace("precision=None", "")


def test_a_layer_of_flax_that_changes_another_weight_is_listed():
    body = """\
class Thing(nn.Dense):
    def param(self, name, *a):
        w = super().param(name, *a)
        if name == "bias":
            w = w * 2
        return w
"""
    made = convert("thing.py", LINEN + body, "Thing", "Thing")
    assert not made.whole


def test_the_example_of_a_part_leaves_the_arrays_of_a_tuple_open():
    text = converted(
        """\
class Step(nn.Module):
    @partial(nn.scan, variable_broadcast="params", in_axes=0, out_axes=0, split_rngs={"params": False})
    @nn.compact
    def __call__(self, carry, x):
        ins, resets = x
        carry = jnp.where(resets[:, None], jnp.zeros_like(carry), carry)
        return nn.GRUCell(features=ins.shape[1])(carry, ins)


class Thing(nn.Module):
    @nn.compact
    def __call__(self, hidden, x):
        obs, dones = x
        return Step()(hidden, (nn.Dense(16)(obs), dones))
""",
        "from functools import partial\n" + LINEN,
    ).text
    assert "examples = ({'in_features': 16, 'carry': (2, 16)},)" in text


SCANNED = """\
class Block(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, mask):
        return x + nn.Dense(self.size)(x) * mask, None


"""


@pytest.mark.parametrize(
    "lines",
    [
        "block = Block\n        if self.remat:\n            block = nn.remat(block, prevent_cse=False)",
        "block = nn.remat(Block) if self.remat else Block",
        "block = nn.remat(Block, static_argnums=(2,))",
    ],
)
def test_classes_of_linen_that_are_computed_again_are_the_classes(lines):
    text = converted(
        SCANNED
        + f"""\
class Thing(nn.Module):
    size: int = 8
    depth: int = 2
    remat: bool = True

    @nn.compact
    def __call__(self, x, mask):
        {lines}
        x, _ = nn.scan(
            block,
            variable_axes={{"params": 0}},
            split_rngs={{"params": True}},
            in_axes=(nn.broadcast,),
            length=self.depth,
        )(self.size, name="layers")(x, mask)
        return x
""",
        LINEN,
    ).text
    assert "self.layers = [Block(self.size) for _ in range(self.depth)]" in text
    assert "x, _ = layer(x, mask)" in text


def test_a_configuration_is_handed_to_layers_that_are_scanned():
    text = converted(
        """\
@dataclasses.dataclass
class Config:
    size: int = 8
    depth: int = 2


class Block(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x, _):
        return nn.Dense(self.config.size)(x), None


class Thing(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        config = self.config
        x = nn.Dense(config.size)(x)
        x, _ = nn.scan(
            Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=config.depth
        )(config)(x, None)
        return x
""",
        "import dataclasses\n" + LINEN,
    ).text
    assert "size: Size = 8" in text
    assert "depth: Size = 2" in text
    assert "for _ in range(self.depth)]" in text


def test_an_input_that_a_layer_computes_with_holds_no_indices():
    text = converted(
        """\
class Thing(eqx.Module):
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear

    def __init__(self, dim, *, key):
        self.norm = eqx.nn.LayerNorm(dim)
        self.up = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, tokens):
        return tokens + jax.vmap(self.up)(jax.vmap(self.norm)(tokens))
""",
        EQUINOX,
    ).text
    assert 'tokens: Float["*batch dim"]' in text.replace("'", '"')
