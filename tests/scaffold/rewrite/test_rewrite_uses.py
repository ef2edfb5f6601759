"""Every way of using a weight and a state, of every holder of them, in methods that are called once or twice.

Weights and states are stored in one dtype and used in another. Functions inside of a method are traced apart
from it, and from each other: what one of them casts is nothing to another. And what is used more than once is
cast once, so that its gradients are added in the compute dtype.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import pytest
from differential import assert_runs_alike, created, rows
from rewrite_examples import Examples, importable, results_of

from mlax_scaffold.reader.files import SpecFile

HEADER = """
import functools

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Layer, ones, state, trainable, zeros
"""
HOLDERS = {
    "one": ("self.w = {made}", "self.w"),
    "listed": ("self.w = [{made} for _ in range(2)]", "self.w[1]"),
    "named": ("self.w = {{'a': {made}, 'b': [{made}]}}", "self.w['b'][0]"),
    "layer": ("self.w = Inner()", "self.w.scale"),
    "layers": ("self.w = [Inner() for _ in range(2)]", "self.w[1].scale"),
    "beside": ("self.w = {{'n': Inner(), 'a': [{made}]}}", "self.w['a'][0]"),
    "rows": (
        "self.w = [{{'n': Inner(), 's': {made}}} for _ in range(2)]",
        "self.w[1]['s']",
    ),
}
MADE = {"weight": "trainable(ones, (3,))", "state": "state(ones, (3,))"}
INNER = '''

class Inner(Layer):
    """A spec of a test."""

    def setup(self):
        self.scale = trainable(ones, (3,))

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x * self.scale
'''
HANDED = '''

class Drawn(Layer):
    """A scale, and noise where it is trained."""

    def setup(self):
        self.scale = trainable(ones, (3,))

    def forward(self, x: Float["..."]) -> Float["..."]:
        if self.training:
            x = x + jax.random.normal(self.key(), x.shape, x.dtype)
        return x * self.scale


class Handed(Layer):
    """A method is handed the place of a layer that draws."""

    def setup(self):
        self.layers = [Drawn() for _ in range(3)]

    def run(self, layer, x):
        return jnp.tanh(layer(x))

    def forward(self, x: Float["..."]) -> Float["..."]:
        {body}
'''
PLACES = {
    "looped": "for layer in self.layers:\n            x = self.run(layer, x)\n        return x",
    "apart": "return self.run(self.layers[0], x) + self.run(self.layers[2], x)",
    "looped_and_again": (
        "for layer in self.layers:\n            x = self.run(layer, x)\n"
        "        return x + self.run(self.layers[0], x)"
    ),
    "again": "return self.run(self.layers[1], x) * self.run(self.layers[1], 2.0 * x)",
    "looped_twice": (
        "for layer in self.layers:\n            x = self.run(layer, x)\n"
        "        for layer in self.layers[1:]:\n            x = self.run(layer, x)\n"
        "        return x"
    ),
}
"""Which places a method is handed, and whether any is handed twice: see `TWICE`."""
TWICE = ("looped_and_again", "again", "looped_twice")
# What reads in a traced function comes first: nothing has been cast before it.
READ = {
    "scanned": "y, _ = lax.scan(lambda c, v: (c * {w} + v, None), x[0], x)\nreturn x + y * {w}",
    "repeated": "return lax.fori_loop(0, 3, lambda i, c: c * {w}, x) + {w}",
    "branches": "return lax.cond(x[0, 0] > 0.0, lambda: x * {w}, lambda: x + {w})",
    "switched": "return lax.switch(1, [lambda v: v * {w}, lambda v: v - {w}], x)",
    "mapped": "return lax.map(lambda v: v * {w}, x) * {w}",
    "checkpoint": "return jax.checkpoint(lambda v: v * {w})(x) + {w}",
    "decorated": "@jax.checkpoint\ndef g(v):\n    return v * {w}\nreturn g(g(x))",
    "vectorized": "return jax.vmap(lambda v: v * {w})(x) + {w}",
    "default": "g = lambda v, w={w}: v * w\nreturn g(g(x))",
    "passes": "for v in x:\n    x = x + v * {w}\nreturn x",
    "reduced": "return functools.reduce(lambda h, _: h * {w}, range(2), x)",
    "differentiated": "return jax.grad(lambda v: (v * v * {w})[0, 0])(x) * {w}",
    "again": "return (x + {w}) * {w}",
}
WRITTEN = {
    "one_of_several": "{w}, y = {w} + x[0], x\nreturn y + {w}",
    "one_after_the_other": "{w} = y = x[0] * {w}\nreturn x + y - {w}",
    "annotated": "{w}: jax.Array = x[0]\nreturn x * {w}",
    "added": "{w} += x[0]\n{w} *= 0.5\nreturn x - {w}",
    "while": (
        "_, y = lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * {w}), (0, x))\n"
        "return y - {w}"
    ),
    "set": "{w} = {w} + x[0]\nreturn lax.cond(x[0, 0] > 0.0, lambda: x + {w}, lambda: x * {w})",
    "set_by_passes": "for v in x:\n    {w} = {w} * 0.5 + v\nreturn lax.map(lambda v: v - {w}, x) + {w}",
    "set_in_scan": (
        "def step(c, v):\n    {w} = {w} + v\n    return c * {w}, None\n"
        "y, _ = lax.scan(step, x[0], x)\nreturn x + lax.map(lambda v: y + v * {w}, x)"
    ),
    "set_in_branches": (
        "def yes(v):\n    {w} = {w} + v[0]\n    return v + {w}\n"
        "def no(v):\n    {w} = {w} - v[0]\n    return v\n"
        "return lax.cond(x[0, 0] < 99.0, yes, no, x) - {w}"
    ),
}
CASES = [
    (holder, made, often)
    for holder, made, often in itertools.product(HOLDERS, MADE, ("once", "twice"))
    if made == "weight" or "{made}" in HOLDERS[holder][0]
]
KEY = jax.random.key(3)


def text_of(title: str, holder: str, made: str, often: str) -> str:
    """The spec of a layer that uses what it holds in every way, in methods that it calls once or twice."""
    declared, used = HOLDERS[holder]
    ways = READ | (WRITTEN if made == "state" else {})
    lines = [f"class {title}(Layer):", '    """A spec of a test."""', ""]
    lines += ["    def setup(self):", f"        {declared.format(made=MADE[made])}", ""]
    for name, body in ways.items():
        lines.append(f"    def _{name}(self, x):")
        lines += [textwrap.indent(body.format(w=used), " " * 8), ""]
    lines.append('    def forward(self, x: Float["..."]) -> Float["..."]:')
    for name in ways:
        again = f" - self._{name}(x * 2.0)" if often == "twice" else ""
        lines.append(f"        y_{name} = self._{name}(x){again}")
    lines.append(f"        return jnp.stack([{', '.join(f'y_{n}' for n in ways)}])")
    imported = "from specs.nn.inner import Inner\n" if "Inner" in declared else ""
    return HEADER + imported + "\n\n" + "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = [SpecFile("specs/nn/inner.py", "nn", HEADER + INNER)]
    for case in CASES:
        title = "".join(part.title() for part in case)
        specs.append(
            SpecFile(f"specs/nn/{'_'.join(case)}.py", "nn", text_of(title, *case))
        )
    for name, body in PLACES.items():
        title = "".join(part.title() for part in name.split("_"))
        text = HANDED.replace("Drawn", f"Drawn{title}").replace("Handed", f"Of{title}")
        specs.append(
            SpecFile(f"specs/nn/of_{name}.py", "nn", HEADER + text.format(body=body))
        )
    with importable(specs, words, tmp_path_factory.mktemp("uses")) as made:
        yield made


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("holder", "made", "often"), CASES)
def test_uses(holder: str, made: str, often: str, dtype: str, examples: Examples):
    name = f"{holder}_{made}_{often}"
    module: Any = examples.module("nn", name)
    layer = examples.oracle("nn", name)()
    assert_runs_alike(module, layer, drawn(module), rows(dtype), True)


def drawn(module: Any) -> tuple[Any, Any, Any]:
    """What `init` returns, with weights and states that are not their initial values."""
    *arrays, hyperparams = created(module)
    leaves, form = jax.tree.flatten(arrays)
    keys = jax.random.split(KEY, len(leaves))
    new = [
        jax.random.uniform(key, leaf.shape, leaf.dtype, -1.0, 1.0)
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    weights, state = jax.tree.unflatten(form, new)
    return weights, state, hyperparams


@pytest.mark.parametrize("often", ["once", "twice"])
@pytest.mark.parametrize("holder", HOLDERS)
def test_gradients_are_added_in_the_compute_dtype(
    holder: str, often: str, examples: Examples
):
    module: Any = examples.module("nn", f"{holder}_weight_{often}")
    weights, state, hyperparams = drawn(module)

    def loss(weights: Any, x: Any) -> Any:
        y, _ = module.fwd(x, weights, state, hyperparams)
        return y.ravel()[0]

    program = jax.make_jaxpr(jax.grad(loss))(weights, rows("bfloat16"))
    added = {str(v.dtype) for v in results_of(program.jaxpr, "add_any")}
    assert added == {"bfloat16"}


@pytest.mark.parametrize("place", PLACES)
def test_gradients_of_what_methods_are_handed_are_added_in_the_compute_dtype(
    place: str, examples: Examples
):
    module: Any = examples.module("nn", f"of_{place}")
    weights, state, hyperparams = drawn(module)

    def loss(weights: Any, x: Any) -> Any:
        y, _ = module.fwd(x, weights, state, hyperparams, key=KEY)
        return y.ravel()[0]

    program = jax.make_jaxpr(jax.grad(loss))(weights, rows("bfloat16"))
    added = {str(v.dtype) for v in results_of(program.jaxpr, "add_any")}
    assert added <= {"bfloat16"}
    assert (place not in TWICE) or added
