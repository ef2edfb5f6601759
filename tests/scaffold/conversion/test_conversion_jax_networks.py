"""Networks as people write them for jax: records, states, scans, ensembles, masks, keys."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted
from test_conversion_jax_habits import LINEN, NNX
from test_conversion_jax_parts import of_pair
from test_conversion_jax_repositories import EQUINOX, HAIKU

from mlax_scaffold.conversion import convert

RECORDS = """\
class Lin(NamedTuple):
    w: jax.Array
    b: jax.Array


class Part(NamedTuple):
    inner: Lin
    gain: jax.Array


class Params(NamedTuple):
    first: Lin
    parts: list


def init_thing(key, size: int, depth: int):
    first, *keys = jax.random.split(key, depth + 1)
    parts = []
    for k in keys:
        lin = Lin(jax.random.normal(k, (size, size)), jnp.zeros(size))
        parts.append(Part(inner=lin, gain=jnp.ones(size)))
    return Params(first=Lin(jnp.eye(size), jnp.zeros(size)), parts=parts)


def linear(p: Lin, x):
    return x @ p.w + p.b


def thing(params: Params, x):
    x = linear(params.first, x)
    for LOOP:
        x = linear(part.inner, x) * part.gain + part.inner.b
    return x
"""


@pytest.mark.parametrize(
    "loop",
    [
        "part in params.parts",
        "_, part in enumerate(params.parts)",
        "part in reversed(params.parts)",
    ],
)
def test_records_of_a_list_are_dictionaries_too(loop):
    text = of_pair(
        "from typing import NamedTuple\n\n\n" + RECORDS.replace("LOOP", loop)
    )
    assert "linear(part['inner'], x) * part['gain'] + part['inner']['b']" in text


def test_a_size_that_a_weight_is_called_like_is_one_size():
    text = of_pair(
        """\
def init_thing(key, vocab=20, embed=8):
    return {"embed": 0.1 * jax.random.normal(key, (vocab, embed)), "b": jnp.zeros(embed)}


def thing(params, tokens):
    return params["embed"][tokens] + params["b"]
"""
    )
    assert ": Size = 8" in text
    assert "Sizes" not in text


def test_a_key_that_is_none_in_inference_is_not_given():
    made = converted(
        """\
class Thing(eqx.Module):
    drop: eqx.nn.Dropout
    out: eqx.nn.Linear

    def __init__(self, size: int, *, key):
        self.drop = eqx.nn.Dropout(0.1)
        self.out = eqx.nn.Linear(size, size, key=key)

    def __call__(self, x, key=None):
        return self.out(self.drop(x, key=key, inference=key is None))
""",
        EQUINOX,
    )
    assert made.trial is not None
    assert made.trial.flags == ()


INDICES = """\
class Thing(eqx.Module):
    mean: StateIndex
    count: StateIndex

    def __init__(self, size: int):
        self.mean = StateIndex(jnp.zeros(size))
        self.count = StateIndex(jnp.array(0.0))

    def __call__(self, x, state):
        mean, count = state.get(self.mean), state.get(self.count)
{sets}
        return x - mean, state
"""


@pytest.mark.parametrize(
    ("sets", "whole"),
    [
        (
            "        state = state.set(self.mean, mean + x / (count + 1))\n"
            "        state = state.set(self.count, count + 1)",
            True,
        ),
        (
            "        state = state.set(self.count, count + 1).set(self.mean, mean + x)",
            True,
        ),
        (
            # The second one reads what stood there before the first.
            "        state = state.set(self.count, count + 1)"
            ".set(self.mean, mean + x / state.get(self.count))",
            False,
        ),
    ],
)
def test_parts_of_a_state_of_equinox_are_states_of_the_layer(sets, whole):
    made = converted(
        "from equinox.nn import StateIndex\n\n\n" + INDICES.format(sets=sets), EQUINOX
    )
    kept = "self.count = count + 1" in made.text
    assert kept == whole
    if whole:
        assert "mean, count = (self.mean, self.count)" in made.text
        assert "return x - mean\n" in made.text


def test_what_an_ensemble_returns_is_stacked_one_by_one():
    text = converted(
        """\
class Part(eqx.Module):
    lin: eqx.nn.Linear

    def __init__(self, size: int, *, key):
        self.lin = eqx.nn.Linear(size, size, key=key)

    def __call__(self, x):
        return self.lin(x), x


class Thing(eqx.Module):
    parts: Part

    def __init__(self, size: int, count: int, *, key):
        keys = jax.random.split(key, count)
        self.parts = eqx.filter_vmap(lambda k: Part(size, key=k))(keys)

    def __call__(self, x):
        a, b = eqx.filter_vmap(lambda m, z: m(z), in_axes=(eqx.if_array(0), None))(self.parts, x)
        return a.mean(axis=0) + b.sum(axis=0)
""",
        EQUINOX,
    ).text
    assert (
        "a, b = jax.tree.map(lambda *parts: jnp.stack(parts, axis=0), "
        "*[m(x) for m in self.parts])"
    ) in text


@pytest.mark.parametrize(
    ("axes", "given", "call"),
    [
        ("(nnx.Carry, 0)", "x, block", "x, self.blocks"),
        ("(0, nnx.Carry)", "block, x", "self.blocks, x"),
    ],
)
def test_scans_of_nnx_stand_within_other_calls(axes, given, call):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim: int, depth: int, *, rngs: nnx.Rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def create(rngs: nnx.Rngs):
            return nnx.Linear(dim, dim, rngs=rngs)

        self.blocks = create(rngs)
        self.norm = nnx.LayerNorm(dim, rngs=rngs)

    def __call__(self, x):
        @nnx.scan(in_axes={axes}, out_axes=nnx.Carry)
        def forward({given}):
            return block(x) + x

        return self.norm(forward({call}))
""",
        NNX,
    ).text
    assert "for block in self.blocks:\n            x = block(x) + x" in text
    assert "nnx" not in text


def test_a_mask_with_new_axes_has_the_others_of_what_it_masks():
    text = converted(
        """\
class Thing(nn.Module):
    heads: int
    dim: int

    @nn.compact
    def __call__(self, x, mask):
        b, t, _ = x.shape
        d = self.dim // self.heads // 2
        q = nn.Dense(self.dim)(x).reshape(b, t, self.heads, 2, d)
        k = nn.Dense(self.dim // 2)(x).reshape(b, t, self.heads, d)
        logits = jnp.einsum("btkgh,bskh->bkgts", q, k)
        return jnp.where(mask[:, None, None], logits, -1e9)
""",
        LINEN,
    ).text
    assert "mask: Bool['b t t']" in text


def test_loops_in_loops_of_a_part_are_written_out_for_what_its_owner_has_by_default():
    made = converted(
        """\
class Part(hk.Module):
    def __init__(self, sizes, blocks: int = 1, name=None):
        super().__init__(name=name)
        self._sizes, self._blocks = sizes, blocks

    def __call__(self, x):
        for i, size in enumerate(self._sizes):
            x = hk.Linear(size, name=f"in_{i}")(x)
            for j in range(self._blocks):
                x = x + hk.Linear(size, name=f"res_{i}_{j}")(jax.nn.relu(x))
        return x


class Thing(hk.Module):
    def __init__(self, out: int, sizes=(4, 8), name=None):
        super().__init__(name=name)
        self._part = Part(sizes)
        self._out = hk.Linear(out)
        self._sizes = sizes

    def __call__(self, x):
        return self._out(self._part(x)) / len(self._sizes)
""",
        HAIKU,
    )
    assert "self.res_1_0 = Linear(8, 8)" in made.text
    assert "sizes" not in made.text
    assert "self.out(self.part(x)) / 2" in made.text
    assert [n.what for n in made.notes] == ["`sizes` is always its default, `(4, 8)`"]


def test_methods_of_parts_keep_their_names_where_others_call_them():
    text = converted(
        """\
class Code(nnx.Module):
    def __init__(self, levels=(5, 5, 5)):
        self.levels = tuple(levels)

    def __call__(self, z):
        return z / jnp.asarray([n // 2 for n in self.levels], dtype=z.dtype)

    def scaled(self, z):
        return z * jnp.asarray(self.levels, dtype=z.dtype)


class Thing(nnx.Module):
    def __init__(self, dim: int, levels=(5, 5, 5), *, rngs: nnx.Rngs):
        self.lin = nnx.Linear(dim, len(levels), rngs=rngs)
        self.code = Code(levels)

    def __call__(self, x):
        codes = self.code(self.lin(x))
        return self.code.scaled(codes)
""",
        NNX,
    ).text
    assert "def scaled(self, z: PyTree) -> PyTree:" in text
    assert "return self.code.scaled(codes)" in text
    # A field of several numbers has one for each feature.
    assert "z: Float['*batch len(levels_value)']" in text


def test_groups_of_convolutions_divide_the_channels_of_examples():
    made = converted(
        """\
class Part(nn.Module):
    size: int
    groups: int = 4

    @nn.compact
    def __call__(self, x):
        x = nn.Conv(self.size, (1, 1))(x)
        return nn.Conv(self.size, (3, 3), feature_group_count=self.groups)(x)


class Thing(nn.Module):
    stages: Sequence[int] = (1, 2)
    num_filters: int = 16
    groups: int = 4

    @nn.compact
    def __call__(self, x):
        for i, count in enumerate(self.stages):
            for _ in range(count):
                x = Part(self.num_filters * 2**i, groups=self.groups)(x)
        return x
""",
        LINEN,
    )
    assert made.trial is not None
    chosen = dict(made.trial.hyperparameters)
    filters, groups = chosen["num_filters"], chosen["groups"]
    assert isinstance(filters, int)
    assert isinstance(groups, int)
    assert filters % groups == 0


LISTED = """\
class Thing(nnx.Module):
    def __init__(self, dim: int, depth: int, *, rngs: nnx.Rngs):
        {filled}

    def __call__(self, x):
        for {loop}:
            x = x + stage["lin"]({norm}(x))
        return x
"""
ONE = (
    "nnx.Dict(norm=nnx.LayerNorm(dim, rngs=rngs), lin=nnx.Linear(dim, dim, rngs=rngs))"
)


@pytest.mark.parametrize(
    "filled",
    [
        f"stages = []\n        for _ in range(depth):\n            stages.append({ONE})\n"
        "        self.stages = nnx.List(stages)",
        f"self.stages = nnx.List([{ONE} for _ in range(depth)])",
    ],
)
@pytest.mark.parametrize(
    ("loop", "over"),
    [
        (
            "stage in self.stages",
            "for stage_norm, stage_lin in zip(self.stages_norm, self.stages_lin)",
        ),
        (
            "stage in reversed(self.stages)",
            "for stage_norm, stage_lin in zip(reversed(self.stages_norm), reversed(self.stages_lin))",
        ),
        (
            "i, stage in enumerate(self.stages)",
            "for i, (stage_norm, stage_lin) in enumerate(zip(self.stages_norm, self.stages_lin))",
        ),
    ],
)
def test_lists_of_dictionaries_of_layers_are_a_list_for_each_key(filled, loop, over):
    made = converted(LISTED.format(filled=filled, loop=loop, norm="stage.norm"), NNX)
    assert made.whole
    assert "self.stages_lin = [Linear(self.dim, self.dim) for _ in" in made.text
    assert over in made.text
    assert "x = x + stage_lin(stage_norm(x))" in made.text


def test_dictionaries_of_lists_that_are_handed_on_whole_stay():
    filled = f"self.stages = nnx.List([{ONE} for _ in range(depth)])"
    code = LISTED.format(filled=filled, loop="stage in self.stages", norm="stage.norm")
    code = NNX + code.replace("x = x +", "x = other(stage) +")
    made = convert("thing.py", code, "Thing", "FromThing", "LAYER")
    assert not made.whole
    assert "stages_lin" not in made.text


def test_sequences_that_a_scanned_cell_is_given_in_pairs_are_each_turned():
    made = converted(
        """\
class Cell(nn.Module):
    size: int

    @nn.compact
    def __call__(self, carry, inputs):
        x, reset = inputs
        carry = jnp.where(reset[:, None], jnp.zeros_like(carry), carry)
        a, b = jnp.split(nn.Dense(2 * self.size)(jnp.concatenate([x, carry], -1)), 2, axis=-1)
        carry = jnp.tanh(a) * carry + b
        return carry, carry


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, carry, xs, resets):
        scan = nn.scan(
            Cell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1
        )
        return scan(self.size)(carry, (xs, resets))
""",
        LINEN,
    )
    assert "(jnp.swapaxes(xs, 0, 1), jnp.swapaxes(resets, 0, 1))" in made.text
    assert made.trial is not None
    assert [len(shape) for _, shape in made.trial.inputs] == [2, 3, 2]
    # Half of twice a size is the size.
    assert "Linear(self.in_features + self.size, 2 * self.size)" in made.text


@pytest.mark.parametrize(
    ("given", "call"),
    [
        ("update", "Norm()(x, update=train)"),
        ("update", "Norm()(x, train)"),
        ("frozen", "Norm()(x, frozen=not train)"),
    ],
)
def test_a_flag_that_is_always_the_mode_is_the_mode(given, call):
    asked = "if update:" if given == "update" else "if not frozen:"
    text = converted(
        f"""\
class Norm(nn.Module):
    @nn.compact
    def __call__(self, x, {given}: bool):
        mean = self.variable("batch_stats", "mean", jnp.zeros, (x.shape[-1],))
        {asked}
            mean.value = 0.9 * mean.value + 0.1 * x.mean(axis=0)
        return x - mean.value


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool = False):
        return {call}
""",
        LINEN,
    ).text
    assert "if self.training:" in text
    assert "bool" not in text


def test_partial_initializers_of_a_file_are_written_out():
    text = converted(
        """\
from functools import partial

default_init = partial(nn.initializers.variance_scaling, 1.0, "fan_in")


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size, kernel_init=default_init("uniform"))(x)
""",
        LINEN,
    ).text
    assert "kernel_initializer=variance_scaling(1.0, 'fan_in', 'uniform')" in text
    assert "partial" not in text


def test_what_is_added_where_widths_are_the_same_is_as_wide_as_elsewhere():
    text = converted(
        """\
class Thing(nn.Module):
    widths: Sequence[int]

    @nn.compact
    def __call__(self, x):
        for w in self.widths:
            y = nn.Dense(w)(x)
            x = x + y if x.shape[-1] == w else y
        return x
""",
        LINEN,
    ).text
    assert "for width, w in zip((self.in_features, *self.widths), self.widths)" in text


@pytest.mark.parametrize(
    ("made", "left"),
    [
        ("x, k, b = nn.dtypes.promote_dtype(x, k, b, dtype=self.dtype)", ""),
        ("x, kernel, b = nn.dtypes.promote_dtype(x, k, b, dtype=None)", "kernel = k\n"),
    ],
)
def test_dtypes_that_flax_makes_the_same_are_so_here(made, left):
    used = "kernel" if left else "k"
    text = converted(
        f"""\
class Thing(nn.Module):
    size: int
    dtype: Any = None

    @nn.compact
    def __call__(self, x):
        d = jnp.shape(x)[-1]
        k = self.param("kernel", nn.initializers.lecun_normal(), (d, self.size))
        b = self.param("bias", nn.initializers.zeros, (self.size,))
        {made}
        return x @ {used} + b
""",
        LINEN,
    ).text
    assert "promote_dtype" not in text
    assert left in text
    assert "trainable(lecun_normal(), (self.in_features, self.size))" in text


def test_inputs_that_are_joined_have_as_many_axes():
    made = converted(
        """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, z, a):
        x = nn.Dense(self.size)(jnp.concatenate([z, a], -1))
        return nn.RNN(nn.GRUCell(self.size))(x)
""",
        LINEN,
    )
    assert "z: Float['batch time in_features'], a: Float['batch time a_features']" in (
        made.text
    )


STACKED = """\
def init_block(key, dim):
    return {"w": jax.random.normal(key, (dim, dim)), "b": jnp.zeros(dim)}


def init_thing(key, dim=8, depth=2):
    first, second = jax.random.split(key)
    parts = MADE
    return {"first": jax.random.normal(first, (dim,)), "parts": parts}


def block(p, x):
    return jnp.tanh(x @ p["w"] + p["b"])


def thing(params, x):
    def step(x, p):
        return x + block(p, x), None

    x, _ = jax.lax.scan(step, x + params["first"], params["parts"])
    return AFTER
"""


@pytest.mark.parametrize(
    "made",
    [
        "jax.vmap(lambda k: init_block(k, dim))(jax.random.split(second, depth))",
        "jax.vmap(init_block, in_axes=(0, None))(jax.random.split(second, depth), dim)",
        "jax.vmap(partial(init_block, dim=dim))(jax.random.split(second, depth))",
    ],
)
def test_weights_that_are_stacked_for_a_scan_are_a_list(made):
    head = "from functools import partial\n\n\n"
    text = of_pair(head + STACKED.replace("MADE", made).replace("AFTER", "x"))
    assert "for _ in range(self.depth)]" in text
    assert "for p in self.parts:\n            x = x + block(p, x)" in text
    assert "step" not in text


HANDED = """\
def init_thing(key, dim: int = 4):
    params = {"w": jax.random.normal(key, (dim,)), "mean": jnp.ones(dim)}
    return params, {"mean": jnp.zeros(dim), "count": jnp.zeros(())}


def thing(params, state, x, train=False):
BODY
"""


@pytest.mark.parametrize(
    "body",
    [
        """\
    new = state
    if train:
        new = {"mean": 0.9 * state["mean"] + x.mean(0), "count": state["count"] + 1}
    return x * params["w"] - state["mean"], new""",
        """\
    if train:
        new = dict(state)
        new["mean"] = 0.9 * state["mean"] + x.mean(0)
        new["count"] = state["count"] + 1
    else:
        new = state
    return x * params["w"] - state["mean"], new""",
        """\
    if train:
        mean = 0.9 * state["mean"] + x.mean(0)
        return x * params["w"] - state["mean"], {**state, "mean": mean, "count": state["count"] + 1}
    return x * params["w"] - state["mean"], state""",
        """\
    def step(carry, y):
        return carry + y, carry

    _, before = jax.lax.scan(step, jnp.zeros_like(x[0]), x)
    x = x + 0 * before
    out = state
    if train:
        out = {"mean": 0.9 * state["mean"], "count": state["count"] + 1}
    return x * params["w"] - state["mean"], out""",
    ],
)
def test_a_state_that_a_pair_hands_on_is_a_state_of_the_layer(body):
    text = of_pair(HANDED.replace("BODY", body))
    # Beside a weight of that name.
    assert "self.mean_state = state(zeros, (self.dim,))" in text
    assert "self.count = old_count + 1" in text
    assert "x * self.w - old_mean" in text
    assert "new" not in text


def test_an_input_of_pairs_has_axes_to_try_beside_others_that_are_known():
    code = """\
class Bias(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, edges):
        return jnp.moveaxis(nn.Dense(self.heads)(edges), -1, 1)


class Thing(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x, edges):
        b, n, _ = x.shape
        q = nn.DenseGeneral((self.heads, 4))(x)
        logits = jnp.einsum("bihd,bjhd->bhij", q, q) + Bias(self.heads)(edges)
        return nn.softmax(logits)
"""
    plain = converted(code, LINEN).text
    assert "edges: Float['*batch edges_features']" in plain
    tried = convert(
        "thing.py", LINEN + code, "Thing", "FromThing", "LAYER", axes=4
    ).text
    assert "edges: Float['batch rows columns in_features']" in tried
    assert "edges: Float['batch rows rows edges_features']" in tried


PYRAMID = """\
class Part(eqx.Module):
    layers: list

    def __init__(self, in_size, widths, *, key):
        sizes = [in_size, *widths]
        self.layers = []
        for i, w in enumerate(widths):
            self.layers.append(eqx.nn.Linear(sizes[i], w, key=key))

    def __call__(self, x, scale):
        for layer in self.layers:
            x = jax.nn.silu(layer(x) * scale)
        return x
"""


def test_the_first_of_layers_by_their_place_in_a_list_of_sizes_takes_the_input():
    text = converted(PYRAMID.replace("Part", "Thing"), EQUINOX).text
    assert "x: Float['*batch in_size']" in text


def test_a_layer_is_mapped_over_some_of_what_it_is_given():
    text = converted(
        PYRAMID
        + """

class Thing(eqx.Module):
    part: Part
    branch: eqx.nn.MLP

    def __init__(self, coords: int, widths=(8, 8), *, key):
        self.part = Part(coords, widths, key=key)
        self.branch = eqx.nn.MLP(coords, 8, 16, 2, key=key)

    def __call__(self, u, y, scale):
        return jax.vmap(self.part, in_axes=(0, None))(y, scale) @ self.branch(u)
""",
        EQUINOX,
    ).text
    # Each is of one example.
    assert "u: Float['coords'], y: Float['batch2 coords']" in text


@pytest.mark.parametrize("option", ["", ", reverse=True, keep_order=True"])
def test_lengths_are_of_no_matter_to_what_runs_forwards(option):
    code = f"""\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, lengths):
        y = nn.RNN(nn.GRUCell(self.size){option})(x, seq_lengths=lengths)
        return nn.Dense(2)(y[jnp.arange(y.shape[0]), lengths - 1])
"""
    made = convert("thing.py", LINEN + code, "Thing", "Thing")
    assert made.whole == (not option)
    if made.whole:
        assert "self.linear_0 = Linear(self.size, 2)" in made.text
        assert "y[jnp.arange(y.shape[0]), lengths - 1]" in made.text


def test_sizes_of_all_places_are_told_by_a_shape():
    code = """\
class Thing(nn.Module):
    filters: int
    speakers: int = 2

    @nn.compact
    def __call__(self, w):
        b, t, n = w.shape
        y = nn.Dense(self.speakers * self.filters)(nn.Dense(4)(w))
        return y.reshape(b, t, self.speakers, n) * w[:, :, None, :]
"""
    text = convert("thing.py", LINEN + code, "Thing", "Thing").text
    assert " = Linear(self.filters, 4)" in text
    assert "w: Float['b t filters']" in text


def test_weights_tell_how_many_axes_stand_beside_those_of_a_mean():
    code = """\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, y):
        size = y.shape[-1]
        scale = self.param("scale", nn.initializers.ones, {shape})
        mean = y.mean(axis=(1, 2), keepdims=True)
        return scale * (y - mean)
"""
    for shape, axes in (("(1, 1, size)", 3), ("(1, 1, 1, size)", 4)):
        text = convert(
            "thing.py", LINEN + code.format(shape=shape), "Thing", "Thing"
        ).text
        given = text.partition("y: Float['")[2].partition("'")[0]
        assert len(given.split()) == axes, given
