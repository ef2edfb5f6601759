"""Every way of calling a layer, of every holder of layers, in methods of one's own and in entry points.

A way is one method. What all of them compute, with weights, states and keys, is that of the eager spec; and
without it: no key is used twice, each call counts once, and gradients of weights are added in the compute
dtype, however often a way uses them.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from differential import assert_runs_alike, rows
from rewrite_examples import Examples, importable, results_of

from mlax_scaffold.reader.files import SpecFile

HEADER = """
import functools

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Layer, ones, state, trainable, zeros
"""
INNER = '''

class {name}(Layer):
    """A spec of a test."""

    def setup(self):
        self.scale = trainable(ones, (3,)){declared}

    def forward(self, x: Float["..."]) -> Float["..."]:
        y = x * self.scale
        {more}return y
'''
DRAWN = """if self.training:
            y = y + jax.random.normal(self.key(), x.shape, x.dtype)
        """
KINDS = {
    "Plain": INNER.format(name="Plain", declared="", more=""),
    "Drawn": INNER.format(name="Drawn", declared="", more=DRAWN),
    "Counted": INNER.format(
        name="Counted",
        declared="\n        self.calls = state(zeros, ())",
        more=DRAWN + "self.calls = self.calls + 1.0\n        ",
    ),
}
HOLDERS = {
    "one": ("self.f = {kind}()", "self.f"),
    "either": ("self.f = {kind}() if self.first else Plain()", "self.f"),
    "listed": ("self.f = [{kind}() for _ in range(2)]", "self.f[1]"),
    "mixed": ("self.f = [Plain(), {kind}()]", "self.f[1]"),
    "named": ("self.f = {{'a': Plain(), 'b': {kind}()}}", "self.f['b']"),
}
STATEFUL = {
    "called": (1, "return {f}(x)"),
    "again": (2, "return {f}({f}(x))"),
    "beside": (2, "a, b = {f}(x), {f}(x + 1.0)\nreturn a + b"),
    "added": (2, "x += {f}(x)\nx *= {f}(x)\nreturn x"),
    "another_name": (1, "g = {f}\nreturn g(x)"),
    "passes": (2, "for _ in range(2):\n    x = {f}(x)\nreturn x"),
    "branches": (
        1,
        "if x.ndim == 2:\n    y = {f}(x)\nelse:\n    y = {f}({f}(x))\nreturn y",
    ),
    "chosen": (1, "y = {f}(x) if x.ndim == 2 else x\nreturn y"),
    "returned": (1, "return {f}(x) if x.ndim == 2 else x"),
    "early": (1, "if x.ndim == 1:\n    return x\nreturn {f}(x)"),
    "matched": (
        1,
        "match x.ndim:\n    case 2:\n        return {f}(x)\n    case _:\n        return x",
    ),
    "checkpoint": (1, "return jax.checkpoint({f})(x)"),
    "decorated": (
        1,
        "@jax.checkpoint\ndef g(v):\n    return {f}(v) * 2.0\nreturn g(x)",
    ),
    "nested": (2, "def g(v):\n    return {f}(v) + v\nreturn g(g(x))"),
    "scanned": (
        4,
        "y, _ = lax.scan(lambda c, v: ({f}(c + v), None), x[0], x)\nreturn x + y",
    ),
    "repeated": (3, "return lax.fori_loop(0, 3, lambda i, c: {f}(c), x)"),
    "one_branch": (1, "return lax.cond(x[0, 0] < 99.0, {f}, lambda v: v * 2.0, x)"),
    "switched": (1, "return lax.switch(0, [{f}, lambda v: v], x)"),
    "mapped": (4, "return lax.map({f}, x)"),
    "comprehended": (4, "ys = [{f}(v) for v in x]\nreturn jnp.stack(ys)"),
    "of_a_tree": (
        2,
        "t = jax.tree.map({f}, {{'a': x, 'b': x + 1.0}})\nreturn t['a'] + t['b']",
    ),
}
STATELESS = {
    "vectorized": (0, "return jax.vmap({f})(x)"),
    "vectorized_inside": (0, "return jax.vmap(lambda v: {f}(v) * 2.0)(x)"),
    "in_a_choice": (0, "return x + ({f}(x) if x.ndim == 2 else x)"),
    "in_a_dictionary": (
        0,
        "ys = {{i: {f}(v) for i, v in enumerate(x)}}\nreturn jnp.stack([*ys.values()])",
    ),
    "asserted": (0, "if (y := {f}(x)).ndim == 2:\n    return y\nreturn x"),
}
LOOPS = {
    "loop": (1, "for g in self.f:\n    x = g(x)\nreturn x"),
    "remat": (1, "for g in self.f:\n    x = jax.checkpoint(g)(x)\nreturn x"),
    "remat_inside": (
        1,
        "for g in self.f:\n    x = jax.checkpoint(lambda v: g(v) * 2.0)(x)\nreturn x",
    ),
    "numbered": (
        2,
        "for i, g in enumerate(self.f):\n    x = g(x) + g(x * i)\nreturn x",
    ),
    "numbers": (1, "for i in range(2):\n    x = self.f[i](x)\nreturn x"),
}
KEY = jax.random.key(3)


def ways(holder: str, kind: str) -> dict[str, tuple[int, str]]:
    """The ways of calling a layer, with how often each calls it."""
    listed = LOOPS if holder in ("listed", "mixed") else {}
    return STATEFUL | ({} if kind == "Counted" else STATELESS) | listed


def text_of(title: str, holder: str, kind: str, place: str) -> str:
    """The spec of a layer that calls a layer in every way."""
    declared, called = HOLDERS[holder]
    kinds = [kind, *(["Plain"] if "Plain" in declared else [])]
    imports = "".join(f"from specs.nn.{k.lower()} import {k}\n" for k in sorted(kinds))
    lines = [f"class {title}(Layer):", '    """A spec of a test."""', ""]
    lines += ["    first: bool = True  #: which one it is", "", "    def setup(self):"]
    lines += [f"        {declared.format(kind=kind)}", ""]
    head = (
        '(self, x: Float["..."]) -> Float["..."]' if place == "entry" else "(self, x)"
    )
    mark = "" if place == "entry" else "_"
    known = ways(holder, kind)
    for name, (_, body) in known.items():
        lines.append(f"    def {mark}{name}{head}:")
        lines += [textwrap.indent(body.format(f=called), " " * 8), ""]
    lines.append('    def forward(self, x: Float["..."]) -> Float["..."]:')
    lines += [f"        y_{name} = self.{mark}{name}(x)" for name in known]
    lines.append(f"        return jnp.stack([{', '.join(f'y_{n}' for n in known)}])")
    return HEADER + imports + "\n\n" + "\n".join(lines) + "\n"


CASES = [
    *itertools.product(HOLDERS, ("Drawn", "Counted"), ("own",)),
    *itertools.product(("one", "mixed"), ("Drawn", "Counted"), ("entry",)),
]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = [
        SpecFile(f"specs/nn/{name.lower()}.py", "nn", HEADER + text)
        for name, text in KINDS.items()
    ]
    for case in CASES:
        title = "".join(part.title() for part in case)
        name = "_".join(case).lower()
        specs.append(SpecFile(f"specs/nn/{name}.py", "nn", text_of(title, *case)))
    with importable(specs, words, tmp_path_factory.mktemp("ways")) as made:
        yield made


@pytest.mark.parametrize(("holder", "kind", "place"), CASES)
def test_ways(holder: str, kind: str, place: str, examples: Examples):
    name = f"{holder}_{kind}_{place}".lower()
    module: Any = examples.module("nn", name)
    made = module.init(KEY)
    trainables, state, hyperparams = made
    layer = examples.oracle("nn", name)()
    assert_runs_alike(module, layer, made, rows(), True)

    def loss(weights: Any, x: Any) -> Any:
        y, _ = module.fwd(x, weights, state, hyperparams, False, KEY)
        return y.ravel()[0]

    program = jax.make_jaxpr(jax.grad(loss))(trainables, rows("bfloat16"))
    added = {str(v.dtype) for v in results_of(program.jaxpr, "add_any")}
    assert added == {"bfloat16"}


@pytest.mark.parametrize(
    ("holder", "place"), [(h, p) for h, kind, p in CASES if kind == "Counted"]
)
def test_each_call_counts(holder: str, place: str, examples: Examples):
    module: Any = examples.module("nn", f"{holder}_counted_{place}")
    trainables, state, hyperparams = module.init(KEY)
    _, state = module.fwd(rows(), trainables, state, hyperparams, False, KEY)
    expected = sum(count for count, _ in ways(holder, "Counted").values())
    if holder == "listed":
        # What loops over the list calls each of its two once a pass.
        expected += sum(count for count, _ in LOOPS.values())
    assert float(jnp.sum(jnp.stack(jax.tree.leaves(state)))) == expected
