"""NamedTuples, enumerations, lambdas and arrays of NumPy beside a definition, and results of other types."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import pytest
from rewrite_examples import PROJECT, Examples, generated, importable

from mlax_scaffold.model.project import Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.gate.imports import GateFault, check_import
from mlax_scaffold.testing.compare import assert_matches, by_name

LAYER = '''
import enum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Int, Layer, Size, mean, trainable


class Kernel(str, enum.Enum):
    """Shapes of the bump."""

    GAUSSIAN = "gaussian"
    INVERSE = "inverse"

    @property
    def is_local(self):
        return self is Kernel.GAUSSIAN


class Stats(NamedTuple):
    mean: Float["*batch"]  # over features
    largest: jax.Array
    indices: Int["*batch"] | None = None

    def spread(self):
        return self.largest - self.mean


KERNELS = {
    Kernel.GAUSSIAN: lambda r, power=2: jnp.exp(-(r**power)),
    Kernel.INVERSE: lambda r: 1 / (1 + r),
}
WINDOW = np.array([0.25, 0.5, 0.25])
twice = lambda x: 2 * x  # of all


class Bumps(Layer):
    """Measures bumps."""

    features: Size
    kernel: Kernel = Kernel.GAUSSIAN  #: the shape
    other: Kernel | None = None

    def setup(self):
        self.w = trainable(
            lambda key, shape, dtype: jnp.full(shape, 0.5, dtype), (self.features,)
        )

    def forward(self, x: Float["*batch features"]) -> Stats:
        y = twice(KERNELS[self.kernel](x * self.w))
        if self.kernel.is_local or self.other is Kernel.INVERSE:
            y = y + jnp.asarray(WINDOW, x.dtype)[1]
        return Stats(mean(y, axis=-1), y.max(axis=-1))

    def both(self, x: Float["*batch features"]) -> dict[str, jax.Array]:
        """As a dict."""
        stats = Stats(mean(x, axis=-1), x.max(axis=-1), x.argmax(axis=-1))
        return {"spread": stats.spread(), "where": stats.indices}
'''
STEPS = '''
import enum

from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Step(enum.Enum):
    HALVE = 0.5
    DOUBLE = 2.0


def scaled(x, steps):
    for step in steps:
        x = x * step.value
    return x


class Steps(Layer):
    """Its body names no member."""

    features: Size
    first: tuple[Step, ...] = (Step.HALVE, Step.DOUBLE)
    then: tuple[Step, ...] | None = None

    def setup(self):
        self.w = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        y = scaled(x * self.w, self.first)
        return y if self.then is None else scaled(y, self.then)
'''
X = jnp.arange(6.0).reshape(2, 3) / 4


@pytest.fixture(scope="module")
def spec() -> SpecFile:
    return SpecFile("specs/nn/bumps.py", "nn", LAYER)


@pytest.fixture(scope="module")
def examples(tmp_path_factory, words, spec: SpecFile) -> Iterator[Examples]:
    steps = SpecFile("specs/nn/steps.py", "nn", STEPS)
    with importable([spec, steps], words, tmp_path_factory.mktemp("beside")) as made:
        yield made


@pytest.fixture(scope="module")
def file(words, spec: SpecFile) -> Rendered:
    library = read_library((spec,), words)
    return next(f for f in generated(library) if f.path.endswith("nn/bumps.py"))


@pytest.mark.parametrize("kernel", ["GAUSSIAN", "INVERSE", "inverse"])
@pytest.mark.parametrize("other", [None, "INVERSE"])
def test_equals_the_spec(examples: Examples, kernel: str, other: str | None):
    module = examples.module("nn", "bumps")
    trees = module.init(jax.random.key(0), 3, kernel=kernel, other=other)
    layer = examples.oracle("nn", "bumps")(3, kernel=kernel, other=trees[2].other)
    layer.load(*trees[:2])
    y, _ = module.fwd(X, *trees)
    assert isinstance(y, module.Stats)
    assert_matches(by_name(layer(X)), by_name(y), jnp.float32)
    assert_matches(layer.both(X), module.both(X, *trees)[0], jnp.float32)


def test_members_are_canonical(examples: Examples):
    module = examples.module("nn", "bumps")
    known = module.Kernel.INVERSE
    made = {
        module.init(jax.random.key(0), 3, kernel=given)[2]
        for given in (known, "INVERSE", "inverse")
    }
    assert [hyperparams.kernel for hyperparams in made] == [known]
    for wrong in ("none", 1, None):
        with pytest.raises(ValueError, match=r"Bumps: kernel .*'GAUSSIAN', 'INVERSE'"):
            module.init(jax.random.key(0), 3, kernel=wrong)


def test_members_may_be_several(examples: Examples):
    module, oracle = examples.module("nn", "steps"), examples.oracle("nn", "steps")
    step = module.Step
    for given in (("DOUBLE", step.DOUBLE), [step.DOUBLE] * 2):
        trees = module.init(jax.random.key(0), 3, then=given)
        assert trees[2].first == (step.HALVE, step.DOUBLE)
        assert trees[2].then == (step.DOUBLE, step.DOUBLE)
        y, _ = module.fwd(X, *trees)
        assert_matches(X * 4, y, jnp.float32)
        layer = oracle(3, then=given)
        layer.load(*trees[:2])
        assert_matches(layer(X), y, jnp.float32)
    for wrong in ("DOUBLE", ("TRIPLE",), 1):
        with pytest.raises(ValueError, match="Steps: then"):
            module.init(jax.random.key(0), 3, then=wrong)


def test_text_is_that_of_the_spec(file: Rendered):
    text = file.text
    assert "class Kernel(str, enum.Enum):" in text
    assert "    mean: jax.Array  # over features\n" in text
    assert "    indices: jax.Array | None = None\n" in text
    assert "# of all\ndef twice(x):\n    return 2 * x\n" in text
    assert "    kernel: Kernel | str = Kernel.GAUSSIAN,\n" in text
    assert "-> tuple[Stats, None]:" in text
    assert "-> tuple[dict[str, jax.Array], None]:" in text
    assert "lambda key, shape, dtype=float: jnp.full(shape, 0.5, dtype)" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    GAUSSIAN = "gaussian"', '    GAUSSIAN = open("x")'),
        ('    GAUSSIAN = "gaussian"', '    _ignore_ = "gaussian"'),
        ("    @property\n    def is_local(self)", "    @open\n    def is_local(self)"),
        ("    @property\n    def is_local(self)", "    def __init__(self)"),
        ("    @property\n    def is_local(self)", "    def _missing_(self)"),
        ("(str, enum.Enum)", "(dict, enum.Enum)"),
        ("(str, enum.Enum)", "(enum.EnumMeta)"),
        ("    def spread(self)", "    def __init_subclass__(self)"),
        ("jax.Array | None = None\n", "jax.Array | None = open('x')\n"),
        ("power=2:", "power=open('x'):"),
        ("np.array([0.25,", "np.array([open('x'),"),
        ("np.array([0.25,", "np.load([0.25,"),
        ("np.array([0.25, 0.5, 0.25])", "np.zeros((1000, 1000))"),
        ("= Kernel.GAUSSIAN,", "= Kernel.__class__,"),
        ("= Kernel.GAUSSIAN,", "= Kernel.GAUSSIAN.value,"),
    ],
)
def test_gate(file: Rendered, old: str, new: str):
    constants = ("KERNELS", "WINDOW")
    check_import(file, PROJECT.package, constants)
    assert old in file.text
    changed = Rendered(file.path, file.text.replace(old, new, 1), file.source)
    with pytest.raises(GateFault, match="may not run at import"):
        check_import(changed, PROJECT.package, constants)
