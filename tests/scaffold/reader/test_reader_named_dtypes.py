"""Who names a dtype, in a project of one's own, has declared that it is computed in."""

from __future__ import annotations

import pytest

from mlax_scaffold.model.definition import Reference
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library

BODY = '''
import jax.numpy as jnp

from mlax_scaffold.spec import (
    DType, Float, Layer, ones, state, trainable, widened
)


def in_single(y):
    return jnp.exp(y.astype(jnp.float32)).astype(y.dtype)


def spectrum(y):
    return jnp.abs(jnp.fft.fft(y))


def made(shape, dtype=jnp.float32):
    return jnp.ones(shape, dtype)


class Wide(Layer):
    """Computes in float32."""

    kept_dtype: DType = jnp.float64

    def setup(self):
        self.mean = state(ones, (), jnp.float64)
        self.root = trainable(ones, (3,))

    def forward(self, x: Float["*batch 3"]) -> Float["*batch 3"]:
        return {value}
'''
PARENT = '''
from mlax_scaffold.spec import Float, Layer
from specs.nn.wide import Wide


class Parent(Layer):
    """Computes in float32 somewhere."""

    def setup(self):
        self.wide = Wide()

    def forward(self, x: Float["*batch 3"]) -> Float["*batch 3"]:
        return self.wide(x)
'''


def library_of(value: str, *, foreign: bool = True):
    own = (
        SpecFile("specs/nn/wide.py", "nn", BODY.format(value=value)),
        SpecFile("specs/nn/parent.py", "nn", PARENT),
    )
    return read_library(own, foreign=foreign)


def dtypes(value: str, *, foreign: bool = True):
    """Those that the layer and its parent may compute in."""
    library = library_of(value, foreign=foreign)
    layers = (library[Reference("nn", name)] for name in ("Wide", "Parent"))
    return [library.own_dtypes(layer) for layer in layers]


@pytest.mark.parametrize(
    "value",
    [
        "in_single(x)",
        "x.astype(jnp.float32).astype(x.dtype)",
        'x.astype("float32").astype(x.dtype)',
        "jnp.max(jnp.abs(x), initial=jnp.float32(0)).astype(x.dtype) * x",
        'jnp.einsum("...i,i->...i", x, self.root, preferred_element_type=jnp.float32)',
        "widened(jnp.linalg.inv)(x) + x",
    ],
)
def test_a_dtype_that_is_named_is_declared(value):
    assert dtypes(value) == [("float32",), ("float32",)]
    assert dtypes(value, foreign=False) == [(), ()]


@pytest.mark.parametrize(
    "value",
    [
        "x + self.mean",
        "x if x.dtype == jnp.float16 else x + jnp.finfo(jnp.float32).eps",
        "x.astype(self.kept_dtype).astype(x.dtype)",
        "x * (x > 0).astype(jnp.int32)",
        "x * made((), x.dtype)",
    ],
)
def test_what_is_kept_or_asked_for_is_not(value):
    assert dtypes(value) == [(), ()]


def test_that_of_a_state_is_where_it_is_read_as_it_is_stored():
    expected = [("float64",), ("float64",)]
    assert dtypes("(x + self.stored.mean).astype(x.dtype)") == expected


@pytest.mark.parametrize("cast", ["", ".astype(jnp.float32)"])
def test_complex_numbers_take_half_precision_that_is_cast(cast):
    library = library_of(f"jnp.fft.fft(x{cast}).real.astype(x.dtype)")
    assert library.refuses_half(library[Reference("nn", "Wide")]) == (not cast)


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ("widened(jnp.linalg.inv)(jnp.fft.fft(x).real.astype(x.dtype))", True),
        ("widened(spectrum)(x)", False),
        ("widened(jnp.linalg.inv)(x) + spectrum(x.astype(jnp.float32))", False),
    ],
)
def test_complex_numbers_take_none_where_another_call_alone_is_widened(value, refused):
    library = library_of(value)
    assert library.refuses_half(library[Reference("nn", "Wide")]) == refused
