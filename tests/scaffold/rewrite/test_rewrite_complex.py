"""Complex numbers: inputs, weights, states and intermediates, in the precision of the input."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.compare import assert_matches
from mlax_scaffold.testing.dtypes import x64
from mlax_scaffold.testing.layer_gradients import assert_gradients

HEAD = """
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Complex, DType, Float, Layer, Size, lecun_normal
from mlax_scaffold.spec import normal, ones, state, trainable, zeros


"""
SPECS = {
    "spectral": '''
class Spectral(Layer):
    """Multiplies Fourier modes by complex weights."""

    features: Size

    def setup(self):
        self.weight = trainable(lecun_normal(), (self.features, self.features), jnp.complex64)

    def forward(self, x: Float["batch time features"]) -> Float["batch time features"]:
        modes = jnp.fft.rfft(x, axis=1)
        return jnp.fft.irfft(modes @ self.weight, n=x.shape[1], axis=1)
''',
    "diagonal": '''
class Diagonal(Layer):
    """A kernel of complex exponentials, made in a method of its own."""

    features: Size

    def setup(self):
        self.decay = trainable(ones, (self.features,))
        self.angle = trainable(ones, (self.features,))

    def _kernel(self, length):
        steps = jnp.arange(length)[:, None]
        return jnp.exp((-jnp.exp(self.decay) + 1j * self.angle) * steps)

    def forward(self, x: Float["time features"]) -> Float["features"]:
        return jnp.einsum("tf,tf->f", x, self._kernel(x.shape[0])).real
''',
    "mod_relu": '''
class ModRelu(Layer):
    """A rectified modulus, and the phase that there is."""

    features: Size

    def setup(self):
        self.bias = trainable(ones, (self.features,))

    def forward(self, z: Complex["*batch features"]) -> Complex["*batch features"]:
        return jax.nn.relu(jnp.abs(z) + self.bias) * jnp.exp(1j * jnp.angle(z))
''',
    "turned": '''
class Turned(Layer):
    """Complex weights in a list, a complex state, and a complex input beside a real one."""

    features: Size

    def setup(self):
        self.phases = [trainable(normal(1.0), (self.features,), "complex64") for _ in range(2)]
        self.last = state(zeros, (self.features,), jnp.complex64)

    def forward(self, x: Float["batch features"], z: Complex["batch features"]):
        y = x * self.phases[0] + z * jnp.conj(self.phases[1]) + self.last
        self.last = y[0]
        return y, jax.lax.complex(x, x)
''',
    "around": '''
from specs.nn.spectral import Spectral


class Around(Layer):
    """A layer of complex numbers in a real one."""

    features: Size

    def setup(self):
        self.mix = Spectral(self.features)

    def forward(self, x: Float["batch time features"]) -> Float["batch time features"]:
        return x + self.mix(x)
''',
    "wide": '''
class Wide(Layer):
    """A spectrum in a dtype that is declared, where one is."""

    spectrum_dtype: DType | None = None

    def forward(self, x: Float["*batch time"]) -> Float["*batch _"]:
        wide = x if self.spectrum_dtype is None else x.astype(self.spectrum_dtype)
        return jnp.abs(jnp.fft.rfft(wide)).astype(x.dtype)
''',
}
X = np.linspace(-1.0, 2.0, 24).reshape(2, 4, 3)
Z = X[0] + 1j * X[1]
CALLS: dict[str, tuple[dict[str, Any], Any]] = {
    "spectral": ({"features": 3}, X),
    "diagonal": ({"features": 3}, X[0]),
    "mod_relu": ({"features": 3}, Z),
    "turned": ({"features": 3}, (X[0], Z)),
    "around": ({"features": 3}, X),
    "wide": ({}, X),
}
PRECISIONS = [("float32", "complex64"), ("float64", "complex128")]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = [SpecFile(f"specs/nn/{n}.py", "nn", HEAD + t) for n, t in SPECS.items()]
    with importable(specs, words, tmp_path_factory.mktemp("complex")) as made:
        yield made


def in_precision(x: Any, real: str, twin: str) -> Any:
    return jax.tree.map(
        lambda v: jnp.asarray(v, twin if np.iscomplexobj(v) else real), x
    )


def made(module: Any, fields: dict[str, Any], dtype: str | None) -> tuple[Any, ...]:
    if "key" not in inspect.signature(module.init).parameters:
        return module.init(**fields)
    return module.init(jax.random.key(0), **fields, dtype=dtype)


@pytest.mark.parametrize("weights", ["float32", "float64"])
@pytest.mark.parametrize(("real", "twin"), PRECISIONS)
@pytest.mark.parametrize("name", CALLS)
def test_equals_the_spec_in_the_precision_of_the_input(
    examples: Examples, name: str, real: str, twin: str, weights: str
):
    fields, given = CALLS[name]
    module = examples.module("nn", name)
    with x64():
        x = in_precision(given, real, twin)
        trainables, state, hyperparams = made(module, fields, weights)
        layer = examples.oracle("nn", name)(**fields)
        layer.load(trainables, state)
        y, new = module.fwd(x, trainables, state, hyperparams)
        assert_matches(layer(x), y, real, ulps=64)
        assert {str(v.dtype) for v in jax.tree.leaves(y)} <= {real, twin}
        before, after = ([v.dtype for v in jax.tree.leaves(s)] for s in (state, new))
        assert after == before


@pytest.mark.parametrize(("real", "twin"), PRECISIONS)
def test_weights_and_states_have_the_precision_of_init(examples, real, twin):
    with x64():
        spectral, _, _ = made(examples.module("nn", "spectral"), {"features": 3}, real)
        assert spectral.weight.dtype == twin
        turned, state, _ = made(examples.module("nn", "turned"), {"features": 3}, real)
        assert {v.dtype for v in turned.phases} == {jnp.dtype(twin)}
        assert state.last.dtype == twin


def test_weights_are_drawn_in_both_parts(examples: Examples):
    trainables, _, _ = made(examples.module("nn", "spectral"), {"features": 3}, None)
    assert trainables.weight.dtype == "complex64"
    assert np.all(trainables.weight.real != 0)
    assert np.all(trainables.weight.imag != 0)


def test_half_precision_weights_say_what_complex_ones_need(examples: Examples):
    with pytest.raises(ValueError, match="float32 or float64, and not of bfloat16"):
        made(examples.module("nn", "spectral"), {"features": 3}, "bfloat16")


@pytest.mark.parametrize("name", ["spectral", "diagonal", "wide", "around"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_inputs_say_what_to_cast(examples, name, dtype):
    fields, x = CALLS[name]
    module = examples.module("nn", name)
    owner = {"around": "Spectral"}.get(name, name.capitalize())
    with pytest.raises(TypeError, match=rf"{owner} computes with complex.*got {dtype}"):
        module.fwd(jnp.asarray(x, dtype), *made(module, fields, "float32"))


def test_a_declared_dtype_serves_half_precision(examples: Examples):
    module = examples.module("nn", "wide")
    y, _ = module.fwd(jnp.asarray(X, "bfloat16"), *module.init("float32"))
    assert y.dtype == "bfloat16"
    expected = np.abs(np.fft.rfft(np.asarray(jnp.asarray(X, "bfloat16"), "float64")))
    np.testing.assert_allclose(np.asarray(y, "float64"), expected, rtol=1e-2, atol=1e-2)


def test_complex_inputs_are_asked_for(examples: Examples):
    module = examples.module("nn", "mod_relu")
    layer = made(module, {"features": 3}, None)
    with pytest.raises(TypeError, match="ModRelu: z must be a complex array, got floa"):
        module.fwd(jnp.ones((2, 3)), *layer)
    module = examples.module("nn", "turned")
    mixed = jnp.ones((2, 3), "float16"), jnp.ones((2, 3), "complex64")
    with pytest.raises(TypeError, match="x: float16, z: complex64"):
        module.fwd(mixed, *made(module, {"features": 3}, None))


def test_equals_numpy(examples: Examples):
    module = examples.module("nn", "spectral")
    layer = made(module, {"features": 3}, None)
    y, _ = module.fwd(jnp.asarray(X, "float32"), *layer)
    modes = np.fft.rfft(X, axis=1) @ np.asarray(layer[0].weight)
    np.testing.assert_allclose(y, np.fft.irfft(modes, n=4, axis=1), atol=1e-5)
    module = examples.module("nn", "mod_relu")
    y, _ = module.fwd(jnp.asarray(Z, "complex64"), *made(module, {"features": 3}, None))
    np.testing.assert_allclose(y, (np.abs(Z) + 1) * Z / np.abs(Z), atol=1e-5)


@pytest.mark.parametrize("name", ["spectral", "diagonal", "mod_relu", "turned"])
def test_gradients_are_those_of_finite_differences(examples: Examples, name: str):
    fields, given = CALLS[name]
    module = examples.module("nn", name)
    x = jax.tree.map(
        lambda v: jax.ShapeDtypeStruct(
            v.shape, "complex64" if np.iscomplexobj(v) else "float32"
        ),
        given,
    )
    case = Case.of_layer(name, module, None, fields, x=x, complex_numbers=True)
    assert_gradients(case)


def test_a_wrong_gradient_of_a_complex_weight_is_found(examples: Examples):
    module = examples.module("nn", "mod_relu")

    @jax.custom_vjp
    def conjugated(z):
        return z

    conjugated.defvjp(lambda z: (z, None), lambda _, ct: (jnp.conj(ct),))

    def fwd(x: Any, *trees: Any, **mode: Any) -> Any:
        return module.fwd(conjugated(x), *trees, **mode)

    x = jax.ShapeDtypeStruct((2, 3), "complex64")
    case = Case.of_layer("mod_relu", module, None, {"features": 3}, x=x)
    with pytest.raises(AssertionError, match="finite differences give"):
        assert_gradients(Case(case.name, case.init, fwd, x, complex_numbers=True))
