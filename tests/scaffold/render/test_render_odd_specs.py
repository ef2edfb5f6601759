"""Specs of which a person expects that they work, and that are written in an unusual way."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mlax_scaffold.model.arithmetic import Unknown
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import draft
from mlax_scaffold.render.docs import files as docs
from mlax_scaffold.render.docs.setup import Setup
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.testing.strategies import axes

PROJECT = Project("mlax", "specs", "mlax", "tests", "docs")
HEAD = """import math

import jax.numpy as jnp

from mlax_scaffold.spec import Activation, Axis, Float, Function, Layer, Mask, Optimizer
from mlax_scaffold.spec import Positive, PyTree, Schedule
from mlax_scaffold.spec import Size, ones, require, sum, trainable, zeros


"""


def read(text: str, section: str = "nn") -> tuple[Definition, Library]:
    spec = SpecFile(f"specs/{section}/example.py", section, HEAD + text)
    library = read_library((spec,), find_specs(LIBRARY_SPECS, "library"))
    return next(d for d in library if d.source == spec.path), library


def rendered(text: str, section: str = "nn") -> Mapping[str, str]:
    """Files by path, after the gate."""
    definition, library = read(text, section)
    made = draft(definition, library, PROJECT)
    files = {f.path: f for f in format_python(made.files, PROJECT.package)}
    made.check(files)
    extra = docs.snippets(definition, library, PROJECT)
    texts = {s.path: s.text for s in extra}
    page = docs.reference_page(definition, library, PROJECT, texts)
    return {path: file.text for path, file in files.items()} | {page.path: page.text}


def module(text: str, section: str = "nn") -> ModuleType:
    made = ModuleType("odd_example")
    sys.modules[made.__name__] = made  # dataclasses look for it
    stem = "_example" if section == "schedule" else "example"
    exec(rendered(text, section)[f"mlax/{section}/{stem}.py"], vars(made))
    return made


OPTIONAL_SIZE = '''
class Example(Layer):
    """A layer with an input whose size is that of a field that may be None."""

    width: Size  #: a size
    extra: Size | None = None  #: a size that may be None

    def forward(
        self, x: Float["n width"], more: Float["n extra"] | None = None
    ) -> Float["n _"]:
        return x if more is None else jnp.concatenate([x, more], axis=1)
'''


def test_an_input_whose_size_is_none_is_not_given():
    layer = module(OPTIONAL_SIZE)
    x = jnp.ones((2, 3))
    without = layer.init(3)
    assert layer.fwd(x, *without)[0].shape == (2, 3)
    with pytest.raises(ValueError, match=r"^Example: more must be None, as extra is$"):
        layer.fwd(x, *without, more=x)
    given = layer.init(3, 4)
    assert layer.fwd(x, *given, more=jnp.ones((2, 4)))[0].shape == (2, 7)
    with pytest.raises(ValueError, match=r"^Example: more must have shape"):
        layer.fwd(x, *given, more=x)
    tests = rendered(OPTIONAL_SIZE)["tests/nn/test_nn_example.py"]
    assert 'if extra is not None and pick("more is given", booleans()):' in tests


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        ("batch features", "rank = 2"),
        ("", "rank = 0"),
        ("a b c if wide else a", "rank = 1"),
        ("*batch features", 'rank = pick("rank", choices(1, 2, 3))'),
        ("...", 'rank = pick("rank", choices(1, 2, 3))'),
    ],
)
@pytest.mark.parametrize("default", ["", " = ()", " = (0, -1)"])
def test_axes_are_drawn_of_those_that_every_input_has(shape, line, default):
    text = f'''class Example(Layer):
    """A spec of a test."""

    axis: Axis{default}  #: axes of the sum
    wide: bool = False  #: whether there are more

    def forward(self, x: Float["{shape}"]) -> PyTree:
        return sum(x, axis=self.axis)
'''
    assert line in rendered(text)["tests/nn/test_nn_example.py"]


@pytest.mark.parametrize("kind", ["Axis", "Axis | None", "tuple[Axis, ...]"])
def test_axes_of_an_optimizer_are_of_scalars_too(kind):
    text = f'''class Example(Optimizer):
    """A spec of a test."""

    axis: {kind}  #: axes of the sum

    def update(self, grad, param):
        return -grad
'''
    files = rendered(text, "optim")
    assert "rank = 0" in files["tests/optim/test_optim_example.py"]
    assert axes(0).values == ((),)


WEIGHTS = '''class Example(Layer):
    """A spec of a test."""

    size: Size = 3  #: a size
    wide: bool = False  #: whether it begins with ones

    def setup(self):
        self.first = trainable(lambda k, s, d=jnp.float32: jnp.full(s, 2.0, d), (3,))
        self.second = trainable(ones if self.wide else zeros, (self.size,))
        self.third = trainable(local := ones, (3,))
        zeros_ = ones
        self.fourth = trainable(zeros_, (3,))

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x
'''


def test_initializers_that_are_made_in_init_make_way_for_given_ones():
    made = module(WEIGHTS)
    for wide in (False, True):
        weights, _, _ = made.init(jax.random.key(0), wide=wide)
        expected = [2.0, float(wide), 1.0, 1.0]
        assert [float(w[0]) for w in weights] == expected
        sevens = {
            f"{name}_initializer": lambda k, s, d=float: 7.0 * jnp.ones(s)
            for name in ("first", "second", "third", "fourth")
        }
        weights, _, _ = made.init(jax.random.key(0), wide=wide, **sevens)
        assert [float(w[0]) for w in weights] == [7.0] * 4


def test_defaults_are_computed_by_python():
    made = module('''class Example(Layer):
    """A spec of a test."""

    turn: Positive = 2 * math.pi  #: an angle
    root: float = -math.sqrt(2.0) / 4  #: a number

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x * self.turn
''')
    _, _, hyperparams = made.init()
    assert hyperparams.turn == 2 * np.pi
    assert hyperparams.root == -(2.0**0.5) / 4


def test_a_schedule_without_fields():
    made = module(
        '''class Example(Schedule):
    """A spec of a test."""

    def value(self, step):
        return step + 1.0
''',
        "schedule",
    )
    assert made.Example()(2.0) == 3.0


def test_statements_that_do_nothing_may_stand_anywhere():
    made = module('''class Example(Layer):
    """A spec of a test."""

    def forward(self, x: Float["..."]) -> Float["..."]:
        pass
        y = x + x
        pass
        return y
''')
    y, _ = made.fwd(jnp.ones(3), None, None, made.init()[2])
    assert y[0] == 2


def test_what_python_warns_of_is_not_told_by_the_generator():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read('''class Example(Layer):
    """A spec of a test."""

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x if x.ndim is 2 else 1(x)
''')


LAUGHS = '''class Example(Layer):
    """A spec of a test."""

    size: Size = 3  #: a size

    def setup(self):
        a0 = self.size
{0}
        require({1}, "some")
        self.kernel = trainable(zeros, (a30,))

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x
'''


@pytest.mark.parametrize(
    "condition",
    [
        "len(self.size)",
        "max(self.size)",
        "len('a' * 10000000000) > 1",
        "len((0,) * 10000000000) > 1",
        "len('%1000000000d' % 1) > 1",
        "self.size // 0",
        "a30 > 1",
        "a30 * a30 * a30 > 1",
    ],
)
def test_a_page_understands_little_and_quickly(condition):
    """Locals of locals, and arithmetic without bounds, are not followed."""
    locals_ = "".join(f"        a{i + 1} = a{i} * a{i}\n" for i in range(30))
    definition, _ = read(LAUGHS.format(locals_, condition))
    setup = Setup(definition)
    assert len(setup.text(definition.declarations[0].shape)) < 10_000
    with pytest.raises(Unknown):
        setup.value(definition.requirements[0].condition, {"size": 3})


BESIDE = {
    "nn": '''
def squared(x):
    return x * x


class Example(Layer):
    """A spec of a test."""

    size: Size
    activation: Activation | None = squared

    def forward(self, x: Float["size"]) -> Float["size"]:
        return x if self.activation is None else self.activation(x)
''',
    "optim": '''
def matrices(path, leaf):
    return leaf.ndim == 2 and "norm" not in path


class Example(Optimizer):
    """A spec of a test."""

    mask: Mask | None = matrices

    def update(self, grad, param):
        return grad - param if self.mask else grad
''',
    "schedule": '''
def root(x):
    return x**0.5


class Example(Schedule):
    """A spec of a test."""

    bend: Function = root

    def value(self, step):
        return self.bend(step)
''',
}


@pytest.mark.parametrize("section", BESIDE)
def test_functions_beside_a_definition_are_defaults(section):
    made = module(BESIDE[section], section)
    match section:
        case "nn":
            _, _, hyperparams = made.init(2)
            assert hyperparams.activation is made.squared
            graph = rendered(BESIDE[section])["mlax/graph/nn/example.py"]
            assert "from mlax.nn.example import squared" in graph
        case "optim":
            weights = {
                "a": jnp.ones((2, 2)),
                "norm": jnp.ones((2, 2)),
                "b": jnp.ones(2),
            }
            state, hyperparams = made.init(weights)
            updates, _ = made.step(weights, state, weights, hyperparams)
            assert {k: float(u.sum()) for k, u in updates.items()} == {
                "a": 0.0,
                "norm": 4.0,
                "b": 2.0,
            }
        case _:
            assert made.Example()(jnp.float32(4.0)) == 2.0


TEXT_OF_AN_AXIS = '''
from mlax_scaffold.spec import function


@function
def example(
    x: Float["rows classes"],
    *,
    classes: str = "all",  #: which of them count
    rows: float = 0.5,  #: a factor
) -> Float["_"]:
    """Sums of rows, or their first elements."""
    return rows * (sum(x, axis=1) if classes == "all" else x[:, 0])
'''


def test_an_axis_with_the_name_of_what_is_no_size_is_any():
    files = rendered(TEXT_OF_AN_AXIS, "functional")
    made = ModuleType("odd_example")
    exec(files["mlax/functional/_example.py"], vars(made))
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(made.example(x), [1.5, 6.0])
    np.testing.assert_array_equal(made.example(x, classes="one", rows=1.0), [0.0, 3.0])
