"""What would be lost without a word: decorators, gradients, sequences in order, bases, shapes of moments."""

from __future__ import annotations

import pytest
from test_conversion_forms import TORCH, converted

from mlax_scaffold.conversion import convert

LINEN = "import functools\nimport flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize(
    "decorator",
    ["functools.partial(nn.scan, in_axes=1, out_axes=1)", "jax.vmap", "own.wrapper"],
)
def test_a_decorator_that_changes_what_is_computed_is_listed(decorator):
    given = f"""\
class Thing(nn.Module):
    size: int

    @{decorator}
    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size)(x)
"""
    made = convert("thing.py", LINEN + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == LINEN.count("\n") + 4
    assert note.what == f"`@{decorator}` changes what a function computes"


@pytest.mark.parametrize("decorator", ["nn.compact", "jax.jit", "nn.nowrap"])
def test_a_decorator_that_changes_no_number_is_left_out(decorator):
    given = f"""\
class Thing(nn.Module):
    size: int

    @{decorator}
    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.size)(x)
"""
    assert convert("thing.py", LINEN + given, "Thing", "FromThing").whole


def test_a_function_that_is_mapped_is_so_where_it_is_called():
    text = converted(
        """\
@jax.vmap
def distance(a, b):
    return jnp.sqrt(((a - b) ** 2).sum())


class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x, y):
        return distance(nn.Dense(self.size)(x), y)
""",
        LINEN,
    ).text
    assert "\n\n\ndef distance(a, b):" in text
    assert "jax.vmap(distance)(self.linear_0(x), y)" in text


def test_what_is_computed_without_gradients_is_detached():
    text = converted("""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    @torch.no_grad()
    def target(self, x):
        return self.fc(x)

    def forward(self, x):
        with torch.no_grad():
            size = x.shape[-1]
            y = self.fc(x)
        return self.fc(y) - self.target(x) / size
""").text
    assert "y = lax.stop_gradient(y)" in text
    assert "return lax.stop_gradient(self.fc(x))" in text
    assert "size = x.shape[-1]\n" in text
    assert "stop_gradient(size)" not in text


SEQUENCE = """\
class Inner(nn.Sequential):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.relu = nn.ReLU(inplace=True)
        self.add_module("fc", nn.Linear(dim, dim))
{forward}

class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inner = Inner(dim)

    def forward(self, x):
        return self.inner(x)
"""


def test_a_sequence_calls_the_layers_that_its_constructor_sets_in_order():
    text = converted(SEQUENCE.format(forward="")).text
    lines = ["x = self.norm(x)", "x = jax.nn.relu(x)", "x = self.fc(x)", "return x"]
    assert "\n        ".join(lines) in text
    forward = "\n    def forward(self, x):\n        return x + super().forward(x)\n"
    text = converted(SEQUENCE.format(forward=forward)).text
    assert "return x + self._in_order(x)" in text
    assert "\n        ".join(lines) in text


def test_a_layer_that_a_sequence_sets_under_a_condition_is_listed():
    given = SEQUENCE.format(forward="").replace(
        "        self.relu = nn.ReLU(inplace=True)\n",
        "        if dim > 3:\n            self.relu = nn.Tanh()\n",
    )
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == TORCH.count("\n") + 6
    assert "`self.relu = nn.Tanh()` makes an element of a sequence" in note.what


def test_a_constructor_that_calls_that_of_its_base_has_what_it_makes():
    text = converted("""\
class Base(nn.Module):
    def __init__(self, dim, scale=2.0, bias=True):
        super().__init__()
        self.fc = nn.Linear(dim, 2 * dim, bias=bias)
        self.scale = scale

    def forward(self, x):
        return self.act(self.fc(x)) * self.scale


class Thing(Base):
    def __init__(self, width, dim):
        super().__init__(width, bias=False)
        self.act = nn.Tanh()
        self.dim = dim
""").text
    assert "class Base" not in text
    assert "Linear(self.width, 2 * self.width, use_bias=False)" in text.replace(
        "base_dim", "self.width"
    ).replace("base_bias", "False")
    assert "return jnp.tanh(self.fc(x)) * self.scale" in text


def test_moments_have_the_shapes_that_the_original_gives_them():
    made = convert(
        "thing.py",
        """\
import jax
import jax.numpy as jnp
import optax


def thing(decay=0.9):
    def init(params):
        def row(p):
            return jnp.zeros(p.shape[:-1]) if p.ndim == 2 else jnp.zeros((1,))

        return {
            "row": jax.tree.map(row, params),
            "one": jax.tree.map(lambda p: jnp.ones((p.shape[0],)), params),
            "all": jax.tree.map(jnp.zeros_like, params),
            "own": jax.tree.map(lambda p: p, params),
        }

    def update(updates, state, params=None):
        return updates, state

    return optax.GradientTransformation(init, update)
""",
        "thing",
        "Thing",
        "OPTIMIZER",
    )
    assert made.whole, made.notes
    for line in (
        "self.row = moment(zeros, param.shape[:-1] if param.ndim == 2 else (1,))",
        "self.one = moment(ones, (param.shape[0],))",
        "self.all = moment(zeros, param.shape)",
        "self.own = moment(param)",
    ):
        assert line in made.text


def test_keywords_that_nothing_is_given_are_left_out():
    text = converted("""\
class Inner(nn.Module):
    def __init__(self, dim, bias=True, **kwargs):
        super().__init__()
        self.fc = nn.Linear(dim, dim, bias=bias, **kwargs)

    def forward(self, x):
        return self.fc(x)


class Thing(nn.Module):
    def __init__(self, dim, **block_kwargs):
        super().__init__()
        self.inner = Inner(dim, **block_kwargs)

    def forward(self, x):
        return self.inner(x)
""").text
    assert "self.inner = Inner(self.dim)" in text
    assert "self.fc = Linear(self.dim, self.dim, use_bias=self.bias)" in text


def test_a_layer_that_joins_a_list_is_given_what_was_joined():
    text = converted("""\
class Inner(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, 4)

    def forward(self, inputs):
        if isinstance(inputs, torch.Tensor):
            features = [inputs]
        else:
            features = inputs
        return self.fc(torch.cat(features, -1))


class Thing(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList([Inner(dim + 4 * i) for i in range(depth)])

    def forward(self, x):
        found = [x]
        for layer in self.layers:
            found.append(layer(found))
        return torch.cat(found, -1)
""").text
    assert "found.append(layer(jnp.concatenate(found, axis=-1)))" in text
    assert "return self.fc(inputs)" in text


def test_classes_under_other_names_are_what_they_are():
    text = converted("""\
class Inner(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x)


class Thing(nn.Module):
    def __init__(self, dim, block=Inner):
        super().__init__()
        other = Inner
        self.first = other(dim)
        self.rest = self._make(block, dim, 2)

    def _make(self, block, dim, count):
        return nn.Sequential(*[block(dim) for _ in range(count)])

    def forward(self, x):
        return self.rest(self.first(x))
""").text
    assert "self.first = Inner(self.dim)" in text
    assert "[Inner(self.dim) for _ in range(2)]" in text


def test_layers_that_a_mapped_function_makes_are_listed():
    head = "import jax\nfrom flax import nnx\n\n\n"
    given = """\
class Inner(nnx.Module):
    def __init__(self, dim, rngs):
        self.fc = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


class Thing(nnx.Module):
    def __init__(self, n, dim, rngs):
        @nnx.split_rngs(splits=n)
        @nnx.vmap
        def create(rngs):
            return Inner(dim, rngs=rngs)

        self.layers = create(rngs)

    def __call__(self, x):
        return self.layers(x)
"""
    made = convert("thing.py", head + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == head.count("\n") + 16
    assert "`create`" in note.what


def test_arrays_of_numpy_that_are_changed_in_place_are_bound_anew():
    head = "import numpy as np\n\n\n"
    given = """\
def thing(x):
    y = x
    y -= y.max(axis=-1, keepdims=True)
    return np.exp(y) + x
"""
    text = converted(given, head, "FUNCTION").text
    assert "keepdims=True)\n    x = y\n" in text
    # Those of jax are never changed.
    text = converted(
        given.replace("np.", "jnp."), "import jax.numpy as jnp\n\n\n", "FUNCTION"
    ).text
    assert "x = y" not in text


SCAN = """\
class Thing(nn.Module):
    size: int

    @nn.compact
    def __call__(self, x):
        scanned = nn.scan(
            nn.{cell},
            variable_broadcast="params",
            split_rngs={{"params": False}},
            in_axes={axes},
            out_axes={axes},
        )
        lstm = scanned(self.size)
        carry = lstm.initialize_carry(jax.random.key(0), {first}.shape)
        carry, y = lstm({start}, x)
        return y
"""


@pytest.mark.parametrize(("axes", "swaps"), [(0, False), (1, True)])
def test_a_cell_that_is_scanned_runs_over_time(axes, swaps):
    given = SCAN.format(cell="LSTMCell", axes=axes, first="x[:, 0]", start="carry")
    text = converted(given, LINEN).text
    assert "return self.lstm(x, carry)[::-1]" in text
    assert "carry = (jnp.zeros((x.shape[0], self.size), dtype=x.dtype)," in text
    assert "lax.scan(step_0, carry, " in text
    assert ("jnp.swapaxes(x, 0, 1)" in text) == swaps
    assert ("y = jnp.swapaxes(y, 0, 1)" in text) == swaps


@pytest.mark.parametrize(("cell", "axes"), [("LSTMCell", 2), ("ConvLSTMCell", 1)])
def test_what_is_scanned_otherwise_is_listed(cell, axes):
    given = SCAN.format(cell=cell, axes=axes, first="x[:, 0]", start="carry")
    made = convert("thing.py", LINEN + given, "Thing", "FromThing")
    what = "scan" if axes == 2 else cell
    line = LINEN.count("\n") + (6 if axes == 2 else 13)
    found = [(n.line, n.what) for n in made.notes if n.blocks]
    assert (line, f"`nn.{what}` has no counterpart") in found


@pytest.mark.parametrize("annotation", ["", ": int"])
def test_an_input_that_is_a_number_is_listed_with_its_line(annotation):
    given = f"""\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x, length{annotation}):
        return self.fc(x)[:, -length:]
"""
    made = convert("thing.py", TORCH + given, "Thing", "FromThing")
    [note] = [n for n in made.notes if n.blocks]
    assert note.line == TORCH.count("\n") + 6
    assert "`length` is a number of Python" in note.what


@pytest.mark.parametrize(
    ("update", "made"),
    [
        (
            "mean.value = 0.9 * mean.value + 0.1 * x.mean(0)",
            "0.9 * self.average + 0.1 *",
        ),
        ("mean.value += x.mean(0)", "self.average + mean(x, axis=0)"),
    ],
)
def test_a_variable_of_flax_that_a_call_sets_is_a_state(update, made):
    text = converted(
        f"""\
class Thing(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        known = self.has_variable("batch_stats", "average")
        mean = self.variable("batch_stats", "average", jnp.zeros, x.shape[1:])
        if train and known and not self.is_initializing():
            {update}
        return x - mean.value
""",
        LINEN,
    ).text
    assert f"self.average = {made}" in text
    assert "return x - self.average" in text


def test_the_derivative_that_a_function_has_of_its_own_stays():
    body = """\
import jax
import jax.numpy as jnp


@jax.custom_jvp
def root(x):
    return jnp.sqrt(jnp.maximum(x, 0.0))


@root.defjvp
def root_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return root(x), jnp.where(x > 0, t, 0.0)


@jax.custom_vjp
def rounded(x):
    return jnp.round(x)


def forward(x):
    return rounded(x), None


def backward(_, g):
    return (g,)


rounded.defvjp(forward, backward)
"""
    made = convert("thing.py", body, "root", "root_of", "FUNCTION")
    assert made.whole
    assert "@jax.custom_jvp\ndef root_with_rule(x):" in made.text
    assert "@root_with_rule.defjvp\ndef root_jvp(primals, tangents):" in made.text
    assert "return root_with_rule(x)" in made.text
    made = convert("thing.py", body, "rounded", "rounded_to", "FUNCTION")
    assert made.whole
    assert "rounded_with_rule.defvjp(forward, backward)" in made.text


def test_fields_that_a_class_sets_of_its_base_are_defaults():
    text = converted(
        """\
class Groups(nn.GroupNorm):
    num_groups: int = 4


class Centred(nn.LayerNorm):
    use_bias: bool = False


class Thing(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = Groups()(x)
        x = Centred()(x)
        return Centred(epsilon=1e-2)(x)
""",
        LINEN,
    ).text
    assert "num_groups: Size = 4" in text
    assert "GroupNorm(self.num_groups, self.in_channels" in text
    assert "use_bias: bool = False" in text
    # What one call gives, and another one leaves out, is there what the base has.
    assert "epsilon: Positive = 1e-06" in text
    assert "use_bias=self.use_bias, epsilon=self.epsilon" in text


OF_EQUINOX = "import equinox as eqx\nimport jax\nimport jax.numpy as jnp\n\n\n"


@pytest.mark.parametrize("name", ["MLP", "Linear", "Unit"])
def test_a_class_of_the_file_is_mapped_whatever_it_is_called(name):
    text = converted(
        f"""\
class {name}(eqx.Module):
    weight: jax.Array

    def __init__(self, dim, key):
        self.weight = jax.random.normal(key, (dim,))

    def __call__(self, x):
        return x / jnp.linalg.norm(x) * self.weight


class Thing(eqx.Module):
    part: {name}

    def __init__(self, dim, key):
        self.part = {name}(dim, key=key)

    def __call__(self, x):
        return jax.vmap(self.part)(x)
""",
        OF_EQUINOX,
    ).text
    assert "return jax.vmap(self.part)(x)" in text


@pytest.mark.parametrize(
    ("size", "part", "told"),
    [
        ("self.dim", "::2", "(self.dim + 1) // 2"),
        ("self.dim", "1::2", "self.dim // 2"),
        ("self.dim", "1::3", "(self.dim + 1) // 3"),
        ("self.dim * 2", "::2", "self.dim"),
        ("7", "::2", "4"),
        ("7", "1::3", "2"),
    ],
)
def test_every_second_place_of_an_odd_number_is_one_more(size, part, told):
    text = converted(
        f"""\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.Dense({size})(x)[..., {part}])
""",
        LINEN,
    ).text
    assert f"Linear({told}, 3)" in text


def test_places_that_are_joined_with_the_others_are_half_of_an_even_number():
    text = converted(
        """\
class Thing(nn.Module):
    dim: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.dim)(x)
        return nn.Dense(3)(x[..., ::2] - x[..., 1::2])
""",
        LINEN,
    ).text
    assert "Linear(self.dim // 2, 3)" in text


FILLED = """\
class Stem(nn.Module):
    def __init__(self, width=4, depth=2):
        super().__init__()
        self.channels = []
        outs = []
        c, kept = 3, width
        layers = []
        for i in range(depth):
            layers.append(nn.Linear(c, width * 2 ** i))
            c = width * 2 ** i
            self.channels.append(c)
            outs.append(c)
        self.layers = nn.Sequential(*layers)
        self.outs, self.dim, self.kept = outs, c, width

    def forward(self, x):
        return self.layers(x)


class Thing(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.stem = Stem(width)
        self.fc = nn.Linear(self.stem.dim, sum(self.stem.channels))
        self.head = nn.Linear(sum(self.stem.outs), 2)
        self.last = nn.Linear(2, self.stem.kept)

    def forward(self, x):
        return self.last(self.head(self.fc(self.stem(x))))
"""


def test_what_a_loop_of_a_part_fills_is_not_what_it_begins_with():
    text = converted(FILLED, TORCH).text
    assert "self.fc = Linear(self.stem.dim, sum(self.stem.channels))" in text
    assert "self.head = Linear(sum(self.stem.outs), 2)" in text


def test_an_input_of_a_method_is_no_local_of_the_constructor_of_its_name():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, n):
        super().__init__()
        x = torch.ones(1, 1, n)
        for i in range(n):
            x[0, 0, i] = i / n
        self.mix = nn.Parameter(x)
        self.act = nn.GELU()

    def mixed(self, x):
        return self.act(x) * self.mix

    def forward(self, x):
        return self.mixed(x)
""",
        TORCH,
    ).text
    assert "return gelu(x, approximate=False) * self.mix" in text
    assert "self.x" not in text
