"""What the code of libraries of jax says of masks, sizes, names and bases is read off it."""

from __future__ import annotations

import pytest
from test_conversion_forms import converted

LINEN = "import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\n"
NNX = "from flax import nnx\nimport jax\nimport jax.numpy as jnp\n\n\n"
EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n"
JAX = "import jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ("jnp.mean(x, axis=-1, where=m)", "mean(x, where=m, axis=-1)"),
        ("x.sum(-1, where=m)", "sum(x, where=m, axis=-1)"),
        ("jax.nn.softmax(x, -1, m).sum()", "softmax(x, where=m, axis=-1)"),
        ("jnp.var(x, axis=-1, ddof=1)", "var(x, axis=-1, correction=1)"),
        ("x.std(-1, ddof=2)", "std(x, axis=-1, correction=2)"),
        # Over the last axis where none is given, as in jax.
        ("jax.nn.standardize(x).sum()", "standardize(x, axis=-1)"),
    ],
)
def test_masks_and_corrections_of_reductions_are_kept(call, made):
    given = f"def thing(x, m):\n    return {call} + jnp.sum(x, where=m)\n"
    text = converted(given, JAX, "FUNCTION").text
    assert made in text
    assert "m: Bool[" in text


def test_a_logarithm_of_weighted_sums_is_listed():
    from mlax_scaffold.conversion import convert

    given = "def thing(x, w):\n    return jax.nn.logsumexp(x, axis=-1, b=w)\n"
    made = convert("thing.py", JAX + given, "thing", "from_thing", "FUNCTION")
    assert [note.line for note in made.notes if note.blocks] == [6]


def test_a_layer_that_is_called_as_a_word_of_python_has_another_name():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.dim, name="global")(x)
""",
        LINEN,
    ).text
    assert "self.global_layer = Linear(" in text


@pytest.mark.parametrize("act", ["hard_swish", "hard_sigmoid", "celu", "relu6"])
def test_activations_are_values_too(act):
    text = converted(
        f"""\
class Thing(nnx.Module):
    def __init__(self, dim: int, act=nnx.{act}, *, rngs):
        self.lin = nnx.Linear(dim, dim, rngs=rngs)
        self.act = act

    def __call__(self, x):
        return self.act(self.lin(x))
""",
        NNX,
    ).text
    known = {"hard_swish": "hard_silu"}.get(act, act)
    assert f"act: Activation = jax.nn.{known}" in text


def test_what_a_class_is_derived_from_need_not_be_called():
    text = converted(
        """\
class Cell(eqx.Module):
    width: eqx.AbstractVar[int]

    def begin(self, sides):
        return jnp.zeros((self.width, *sides))


class Thing(Cell):
    gate: eqx.nn.Conv2d
    width: int = eqx.field(static=True)

    def __init__(self, channels: int, width: int, *, key):
        self.gate = eqx.nn.Conv2d(channels + width, width, 3, padding=1, key=key)
        self.width = width

    def __call__(self, x, hidden=None):
        if hidden is None:
            hidden = self.begin(x.shape[1:])
        return hidden * jnp.tanh(self.gate(jnp.concatenate([x, hidden], axis=0)))
""",
        EQUINOX,
    ).text
    assert (
        "x: Float['channels height columns'], hidden: Float['width height columns']"
        in (text)
    )
    assert "*sides), dtype=self.gate.kernel.dtype)" in text
    assert "class Cell" not in text


def test_what_is_joined_for_one_example_has_one_axis():
    text = converted(
        """\
class Thing(eqx.Module):
    lin: eqx.nn.Linear

    def __init__(self, size: int, width: int, *, key):
        self.lin = eqx.nn.Linear(size + width, width, key=key)

    def __call__(self, x, hidden):
        return hidden + jnp.tanh(self.lin(jnp.concatenate([x, hidden])))
""",
        EQUINOX,
    ).text
    assert "x: Float['size'], hidden: Float['width']" in text


def test_a_method_of_a_part_is_a_step_of_a_scan():
    text = converted(
        """\
class Cell(eqx.Module):
    weight: jax.Array
    width: int = eqx.field(static=True)

    def __init__(self, size, width, *, key):
        self.weight = jax.random.normal(key, (width, size))
        self.width = width

    def start(self):
        return jnp.zeros(self.width), jnp.ones(self.width)

    def step(self, state, x):
        h, c = state
        h = jnp.tanh(self.weight @ x + h * c)
        return (h, c), h


class Thing(eqx.Module):
    cell: Cell

    def __init__(self, size: int, width: int, *, key):
        self.cell = Cell(size, width, key=key)

    def __call__(self, xs):
        _, hs = lax.scan(self.cell.step, self.cell.start(), xs)
        return hs
""",
        EQUINOX,
    ).text
    assert "def _cell_step(self, state, x):\n        h, c = state" in text
    assert "jnp.zeros(width, dtype=like_input.dtype)" in text
    assert "lax.scan(self._cell_step, self._start(xs, self.width), xs)" in text
    assert "xs: Float['time size']" in text


def test_a_table_that_numpy_computes_of_hyperparameters_is_one_of_setup():
    text = converted(
        """\
def get_index(size):
    places = np.stack(np.meshgrid(np.arange(size[0]), np.arange(size[1])))
    apart = places.reshape(2, -1)
    apart[0] += size[0] - 1
    return apart.sum(0)


class Thing(nn.Module):
    size: tuple = (3, 3)

    @nn.compact
    def __call__(self, x):
        table = self.param("table", nn.initializers.zeros, (20, x.shape[-1]))
        return x + table[get_index(self.size)].sum(0)
""",
        LINEN,
    ).text
    assert "self.index = get_index(self.size)" in text
    assert "table[jnp.asarray(self.index)]" in text
    assert "np.stack(np.meshgrid(" in text
    assert "np.sum(apart, axis=0)" in text


def test_a_mask_is_as_long_as_the_scores_that_it_is_put_beside():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int
    heads: int = 2

    @nn.compact
    def __call__(self, x, mask=None):
        n, c = x.shape[-2:]
        assert c == self.dim
        qkv = nn.Dense(3 * self.dim)(x).reshape(x.shape[0], n, 3, self.heads, c // self.heads)
        q, k, v = jnp.transpose(qkv, (2, 0, 3, 1, 4))
        scores = jnp.einsum("bhid,bhjd->bhij", q, k)
        if mask is not None:
            scores = jnp.where(mask[:, None], scores, -1e9)
        return (nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
""",
        LINEN,
    ).text
    assert (
        "x: Float['batch2 axis2 dim'], mask: Bool['# batch2 axis2 axis2'] | None"
        in text
    )
    assert "in_features" not in text


def test_what_is_divided_is_as_large_as_its_parts():
    text = converted(
        """\
class Thing(nnx.Module):
    def __init__(self, width: int, blocks: int = 2, *, rngs):
        self.blocks, self.share = blocks, width // blocks
        self.w = nnx.Param(jnp.ones((blocks, width // blocks)))

    def __call__(self, x):
        y = x.reshape(*x.shape[:-1], self.blocks, self.share) * self.w.value
        def combine(one, other):
            return one[0] * other[0], other[0] * one[1] + other[1]
        y = y.reshape(x.shape)
        _, h = jax.lax.associative_scan(combine, (y, y), axis=1)
        return h
""",
        NNX,
    ).text
    assert "x: Float['batch positions width']" in text


@pytest.mark.parametrize(
    ("default", "used"),
    [("lambda x: x * 2", "(lambda x: x * 2)"), ("double", "double")],
)
def test_a_function_of_the_file_that_a_field_is_by_default_stands_for_none(
    default, used
):
    text = converted(
        f"""\
def double(x):
    return 2 * x


class Thing(nn.Module):
    dim: int
    act: "Callable" = {default}

    @nn.compact
    def __call__(self, x):
        return self.act(nn.Dense(self.dim)(x))
""",
        LINEN,
    ).text
    assert "act: Activation | None = None" in text
    assert f"(self.act or {used})(self.linear_0(x))" in text
    assert "-> Float['*batch dim']" in text


def test_a_module_that_a_call_keeps_for_its_methods_is_a_part():
    text = converted(
        """\
class Scale(nn.Module):
    affine: bool = True

    def setup(self):
        if self.affine:
            self.scale = self.param("scale", nn.initializers.ones, (1,))

    def there(self, x):
        mean = x.mean(axis=1, keepdims=True)
        return (x - mean) * self.scale if self.affine else x - mean, mean

    def back(self, x, mean):
        if self.affine:
            x = x / self.scale
        return x + mean


class Thing(nn.Module):
    size: int = 4

    @nn.compact
    def __call__(self, x):
        norm = Scale(name="norm")
        x, mean = norm.there(x)
        rows = jnp.arange(3)[:, None] + jnp.arange(self.size)[None]
        y = nn.Dense(1)(x[:, rows])
        return norm.back(y.sum((1, 2))[:, None], mean)
""",
        LINEN,
    ).text
    assert "self.norm_scale = trainable(ones, (1,))" in text
    assert "self._norm_there(x)" in text
    assert "x = x / self.norm_scale" in text
    assert "Linear(self.size, 1)" in text or "in_features" in text


def test_a_last_map_without_a_bias_is_one_of_the_layers_of_a_network():
    text = converted(
        """\
class Thing(eqx.Module):
    net: eqx.nn.MLP

    def __init__(self, size: int, width: int, *, key):
        make = lambda n: eqx.nn.Linear(n, n, key=key)
        self.net = eqx.nn.MLP(size, 1, width, 1, jnp.tanh, use_final_bias=False, key=key)

    def __call__(self, x):
        return self.net(x)
""",
        EQUINOX,
    ).text
    assert "self.net_0 = Linear(self.size, self.width, use_bias=True)" in text or (
        "self.net_0 = Linear(self.size, self.width)" in text
    )
    assert "Linear(self.width, 1, use_bias=False)" in text
    assert "make" not in text


def test_all_of_one_example_has_the_one_axis_that_is_divided():
    text = converted(
        """\
class Thing(eqx.Module):
    net: eqx.nn.MLP
    rows: int = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(self, size: int, rows: int, *, key):
        self.net = eqx.nn.MLP(size, rows * size, 8, 2, key=key)
        self.rows, self.size = rows, size

    def __call__(self, x):
        return self.net(x).reshape(self.rows, self.size) @ x
""",
        EQUINOX,
    ).text
    assert "x: Float['size']" in text
