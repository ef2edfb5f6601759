"""Functions and constants beside a definition: carried as they are, compared, and audited with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import PROJECT, Examples, generated, importable

from mlax_scaffold.errors import SpecError
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.gate.bodies import check_module
from mlax_scaffold.render.gate.imports import GateFault, check_import
from mlax_scaffold.render.gate.names import check_helper_names
from mlax_scaffold.rewrite import rewrite_methods
from mlax_scaffold.rewrite.helpers import rewrite_helpers
from mlax_scaffold.testing.audit import audit_jaxpr

LAYER = '''
import math

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float, Key, Layer, Positive, Size, normal, require, state, sum, trainable, zeros
)

LOW = 0.5
BOUNDS = (LOW, 2 * math.sqrt(LOW))  # of the scale
UNUSED = "nothing reads it"


# A comment above it.
def shift(x: Float["*batch time features"]) -> jax.Array:
    """One step later.

    Zeros in front.
    """
    require(x.ndim > 1, "there is no time")
    return jnp.concatenate([jnp.zeros_like(x[..., :1, :]), x[..., :-1, :]], -2)


def unused(x):
    return x


def noise(key: Key, x, bounds=BOUNDS, mapped=shift):
    low, high = bounds  # as above
    return mapped(x) * jax.random.uniform(key, (), x.dtype, low, high)


def half_up(n: Size) -> int:
    return (n + 1) // 2


class Shifted(Layer):
    """Shifts and scales."""

    features: Size = 3  #: size of the last axis
    scale: Positive = LOW  #: of the input

    def setup(self):
        wide = half_up(self.features) * half_up(2 * self.features)
        self.kernel = trainable(normal(LOW), (self.features, wide))
        self.total = state(zeros, (half_up(wide),))

    def forward(self, x: Float["*batch time features"]) -> Float["..."]:
        if self.training:
            x = x + noise(self.key(), x) + noise(self.key(), shift(x))
            self.total = self.total + sum(x) * BOUNDS[0]
        return (x * self.scale) @ self.kernel
'''
FUNCTION = '''
from mlax_scaffold.spec import Float, NonNegative, function, mean

COEFFICIENTS = [0.5, 1.5, -2.0]
EPSILON: float = 1e-3


def horner(x, coefficients):
    y = x * 0
    for c in reversed(coefficients):
        y = y * x + c
    return y


@function
def polynomial(
    x: Float["..."],
    *,
    epsilon: NonNegative = EPSILON,  #: added
) -> Float["..."]:
    """A polynomial, less its mean."""
    y = horner(x, COEFFICIENTS)
    return y - mean(y) + epsilon
'''
OPTIMIZER = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Optimizer, Scheduled, moment, zeros

DECAY = 0.9


def soft_sign(m, epsilon=1e-3):
    def step(y):
        return jnp.abs(y) + epsilon

    return m / step(m)


class SoftSign(Optimizer):
    """The softened sign of a moving average."""

    learning_rate: Scheduled = 1e-2  #: step size

    def setup(self, param):
        self.m = moment(zeros, param.shape)

    def update(self, grad, param):
        self.m = DECAY * self.m + (1 - DECAY) * grad
        return -self.learning_rate * soft_sign(self.m)
'''
SCHEDULE = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Schedule, Size

FLOOR = 1e-3


def part(step, start, length):
    return jnp.clip((step - start) / length, 0.0, 1.0)


class Trapezoid(Schedule):
    """Up and down."""

    warmup: Size  #: steps of the warmup
    total: Size  #: all steps

    def value(self, step):
        up = part(step, 0, self.warmup)
        return jnp.maximum(up * (1 - part(step, self.warmup, self.total)), FLOOR)
'''
SPECS = (
    SpecFile("specs/nn/shifted.py", "nn", LAYER),
    SpecFile("specs/functional/polynomial.py", "functional", FUNCTION),
    SpecFile("specs/optim/soft_sign.py", "optim", OPTIMIZER),
    SpecFile("specs/schedule/trapezoid.py", "schedule", SCHEDULE),
)
X = np.linspace(-1.0, 2.0, 24).reshape(2, 4, 3)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    with importable(SPECS, words, tmp_path_factory.mktemp("helpers")) as made:
        yield made


@pytest.fixture
def library(words):
    return read_library(SPECS, words)


def assert_same(given: Any, expected: Any) -> None:
    given, expected = jax.tree.leaves(given), jax.tree.leaves(expected)
    assert [leaf.dtype for leaf in given] == [leaf.dtype for leaf in expected]
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(one, np.float64), np.asarray(other, np.float64), rtol=1e-6
        )


def definition(library, name: str):
    return next(d for d in library if d.name == name)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("training", [True, False])
def test_layer(examples: Examples, training: bool, dtype: str):
    module = examples.module("nn", "shifted")
    trainables, non_trainables, hyperparams = module.init(jax.random.key(0))
    layer = examples.oracle("nn", "shifted")()
    layer.load(trainables, non_trainables)
    x, key = jnp.asarray(X, dtype), jax.random.key(1)
    y, new = module.fwd(x, trainables, non_trainables, hyperparams, not training, key)
    assert_same(y, layer(x, training=training, key=key))
    assert_same(new.total, layer.non_trainables["total"])


def test_function(examples: Examples):
    import importlib

    module = importlib.import_module(f"{PROJECT.package}.functional._polynomial")
    oracle = examples.oracle("functional", "polynomial")
    x = jnp.asarray(X, jnp.bfloat16)
    assert_same(module.polynomial(x), oracle(x))
    assert_same(module.polynomial(x, epsilon=1.0), oracle(x, epsilon=1.0))


def test_optimizer(examples: Examples):
    module = examples.module("optim", "soft_sign")
    params, grads = {"a": jnp.ones((3,))}, {"a": jnp.asarray([1.0, -2.0, 3.0])}
    state, hyperparams = module.init(params)
    oracle = examples.oracle("optim", "soft_sign")()
    oracle.initialize(params)
    for _ in range(2):
        updates, state = module.step(grads, state, params, hyperparams)
        assert_same(updates, oracle.step(grads, params))


def test_schedule(examples: Examples):
    module = examples.module("schedule", "_trapezoid")
    oracle = examples.oracle("schedule", "trapezoid")(3, 9)
    steps = jnp.arange(12.0)
    assert_same(module.Trapezoid(3, 9)(steps), oracle(steps))


def findings(module: Any, fwd: Any) -> list[Any]:
    trees = jax.eval_shape(lambda: module.init(jax.random.key(0))[:2])
    hyperparams = module.init(jax.random.key(0))[2]
    x = jax.ShapeDtypeStruct(X.shape, jnp.bfloat16)

    def run(x, trainables, non_trainables, key):
        return fwd(x, trainables, non_trainables, hyperparams, False, key)

    key = jax.eval_shape(lambda: jax.random.key(0))
    return audit_jaxpr(jax.make_jaxpr(run)(x, *trees, key), [jnp.bfloat16])


def test_helpers_are_audited(examples: Examples, monkeypatch: pytest.MonkeyPatch):
    module = examples.module("nn", "shifted")
    assert not findings(module, module.fwd)
    shift = module.shift
    monkeypatch.setattr(
        module,
        "shift",
        lambda x: (shift(x).astype(jnp.float32) * 2).astype(x.dtype),
    )
    assert findings(module, module.fwd)


def test_text_is_that_of_the_spec(library):
    text = rewrite_helpers(definition(library, "Shifted"))
    assert "UNUSED" not in text
    assert "def unused" not in text
    names = [
        getattr(n, "name", None) or n.targets[0].id  # type: ignore[attr-defined]
        for n in ast.parse(text).body
    ]
    assert names == ["LOW", "BOUNDS", "shift", "noise", "half_up"]
    assert "2 * math.sqrt(LOW))  # of the scale" in text
    assert "# A comment above it.\ndef shift(x: jax.Array) -> jax.Array:" in text
    assert "checks.require('Shifted', " in text
    assert '"there is no time")' in text
    assert "def noise(key: jax.Array, x, bounds=BOUNDS, mapped=shift):" in text
    assert "def half_up(n: int) -> int:" in text
    own = definition(library, "Shifted")
    assert str(own.hyperparameters[1].default) == "0.5"


def test_gate_compares_helpers(library):
    own = definition(library, "Shifted")
    methods = rewrite_methods(own, library)
    [file] = [f for f in generated(library) if f.path.endswith("nn/shifted.py")]
    check_import(file, PROJECT.package, ["LOW", "BOUNDS"])
    check_module(own, methods, file)
    for given, other in (
        ("LOW = 0.5", "LOW = 0.25"),
        ("def half_up(n: int)", "def half_up(m: int)"),
        ("low, high = bounds", "high, low = bounds"),
    ):
        assert given in file.text
        changed = Rendered(file.path, file.text.replace(given, other), file.source)
        with pytest.raises(GateFault, match="not as in"):
            check_module(own, methods, changed)
    for other in ('open("x")', "[i for i in ()]", "jnp.ones(3)", "(lambda: 0)()"):
        changed = file.text.replace("LOW = 0.5", f"LOW = {other}")
        with pytest.raises(GateFault, match="may not run at import"):
            check_import(
                Rendered(file.path, changed, file.source), PROJECT.package, ["LOW"]
            )


def test_name_of_a_generated_variable(words):
    text = OPTIMIZER.replace("soft_sign", "updates")
    specs = (SpecFile("specs/optim/soft_sign.py", "optim", text),)
    library = read_library(specs, words)
    [file] = [f for f in generated(library) if f.path.endswith("optim/soft_sign.py")]
    with pytest.raises(SpecError) as error:
        check_helper_names(definition(library, "SoftSign"), file)
    [found] = error.value.diagnostics
    assert found.message.endswith("is also a variable of the generated `step`")
    assert found.hint == "Choose another name, such as `_updates`."
    assert found.source_line == "def updates(m, epsilon=1e-3):"
