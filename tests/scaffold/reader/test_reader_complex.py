"""Which specs compute with complex numbers: those refuse half precision, which has none."""

from __future__ import annotations

import pytest

from mlax_scaffold.model.library import Library
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library

SPEC = '''
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.numpy import fft

from mlax_scaffold.spec import Complex, Float, Layer, state, trainable, zeros

FACTOR = {constant}


def helper(x):
    return {helper}


class Example(Layer):
    """A spec of a test."""

    def setup(self):
        self.weight = trainable(zeros, (2,){dtype})

    def forward(self, x: {kind}["..."]):
        return {value}
'''
PLAIN = {
    "constant": "2.0",
    "helper": "x",
    "dtype": "",
    "kind": "Float",
    "value": "x + self.weight",
}
COMPLEX = [
    {"value": "1j * x"},
    {"value": "lax.complex(x, x).real"},
    {"value": "jax.lax.complex(x, x).real"},
    {"value": "jnp.fft.irfft(x)"},
    {"value": "fft.fft(x).real"},
    {"value": "x.astype(jnp.result_type(x, jnp.complex64)).real"},
    {"value": 'x.astype("complex64").real'},
    {"value": "x * complex(0.0, 1.0)"},
    {"value": "helper(x)", "helper": "jnp.exp(2j * x)"},
    {"value": "FACTOR(x)", "constant": "lambda x: 2j * x"},
    {"dtype": ", jnp.complex64"},
    {"kind": "Complex"},
]
REAL = [
    {},
    {"value": "x * jnp.fft.rfftfreq(4, dtype=x.dtype)[0]"},
    {"value": "jnp.real(x) + jnp.conj(x)"},
    {"helper": "jnp.exp(2j * x)"},
]


@pytest.fixture(scope="module")
def built_in() -> tuple[SpecFile, ...]:
    return find_specs(LIBRARY_SPECS, "library")


def read(parts: dict[str, str], built_in: tuple[SpecFile, ...]) -> Library:
    text = SPEC.format_map(PLAIN | parts)
    return read_library((SpecFile("specs/nn/example.py", "nn", text),), built_in)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [(p, True) for p in COMPLEX] + [(p, False) for p in REAL],
    ids=str,
)
def test_is_known(parts: dict[str, str], expected: bool, built_in):
    library = read(parts, built_in)
    definition = next(d for d in library if d.name == "Example")
    assert definition.complex_numbers is expected
    assert library.traits(definition.reference).complex_numbers is expected
