"""Functions that are kept, each of which holds the layer of its pass: `lambda x, layer=layer: layer(x)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

HEADER = '''
import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Int, Layer, ones, trainable


class Inner(Layer):
    """A spec of a test."""

    def setup(self):
        self.scale = trainable(ones, (3,))

    def forward(self, x: Float["batch 3"]) -> Float["..."]:
        return x * self.scale


'''
OF_ITS_OWN = '''
class Kept(Layer):
    """A spec of a test."""

    def setup(self):
        self.layers = [Inner() for _ in range(3)]
        self.shifts = [Inner() for _ in range(3)]

    def forward(self, x: Float["batch 3"], index: Int[""]) -> Float["..."]:
        {body}
'''
# Layer i scales by i + 2, and shift i by 10 (i + 1).
FORMS = {
    "listed": ("lambda h, layer=layer: layer(h)", lambda x, i: x * (i + 2)),
    "paired": (
        "lambda h, layer=layer, shift=shift: shift(jnp.tanh(layer(h)))",
        lambda x, i: np.tanh(x * (i + 2)) * 10 * (i + 1),
    ),
    "another_name": ("lambda h, f=layer: f(f(h))", lambda x, i: x * (i + 2) ** 2),
    "an_array_too": (
        "lambda h, layer=layer, s=shift.scale: layer(h) + s",
        lambda x, i: x * (i + 2) + 10 * (i + 1),
    ),
    "keyword": ("lambda h, *, layer=layer: layer(h)", lambda x, i: x * (i + 2)),
}
LOOPS = {
    "comprehension": (
        "functions = [{form} for layer, shift in zip(self.layers, self.shifts)]"
    ),
    "numbered": (
        "functions = []\n        for i in range(3):\n"
        "            layer, shift = self.layers[i], self.shifts[i]\n"
        "            functions.append({form})"
    ),
    "appended": (
        "functions = []\n        for layer, shift in zip(self.layers, self.shifts):\n"
        "            functions.append({form})"
    ),
}
CASES = [(loop, form) for loop in LOOPS for form in FORMS]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = []
    for loop, form in CASES:
        body = LOOPS[loop].format(form=FORMS[form][0])
        body += "\n        return lax.switch(index, functions, x)"
        title = "".join(part.title() for part in f"{loop}_{form}".split("_"))
        text = HEADER + OF_ITS_OWN.format(body=body)
        text = text.replace("Inner", f"Inner{title}").replace("Kept", title)
        specs.append(SpecFile(f"specs/nn/{loop}_{form}.py", "nn", text))
    with importable(specs, words, tmp_path_factory.mktemp("kept")) as made:
        yield made


@pytest.mark.parametrize(("loop", "form"), CASES)
def test_each_function_holds_its_layer(loop: str, form: str, examples: Examples):
    module: Any = examples.module("nn", f"{loop}_{form}")
    weights, state, hyperparams = module.init(jax.random.key(0))
    scaled = [w._replace(scale=w.scale * (i + 2)) for i, w in enumerate(weights.layers)]
    shifted = [
        w._replace(scale=w.scale * 10 * (i + 1)) for i, w in enumerate(weights.shifts)
    ]
    weights = weights._replace(
        layers=type(weights.layers)(scaled), shifts=type(weights.shifts)(shifted)
    )
    x = np.linspace(-1.0, 1.0, 6).reshape(2, 3).astype("float32")
    for i in range(3):
        y, _ = module.fwd((jnp.asarray(x), jnp.asarray(i)), weights, state, hyperparams)
        np.testing.assert_allclose(y, FORMS[form][1](x, i), rtol=1e-5)
