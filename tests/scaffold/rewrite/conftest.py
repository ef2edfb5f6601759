"""Small specs, and what their methods are rewritten to."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from mlax_scaffold.model.library import Library
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.rewrite import Rewritten, rewrite_methods

HEADER = """
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mlax_scaffold.spec import *
from specs.nn.counter import Counter
from specs.nn.noise import Noise
from specs.nn.pair import Pair
from specs.nn.plain import Plain
"""
WORDS = (
    "Axis, Block, Bool, Cell, DType, Float, Initializer, Int, Layer, Literal, Mask, "
    "Optimizer, Positive, Probability, PyTree, Schedule, Scheduled, Size, SubLayer, "
    "SubLayers, SubOptimizer, SubOptimizers, cast, constant, ema, function, lecun_normal, "
    "mean, moment, normal, ones, require, scales_loss, state, sum, trainable, "
    "tree_dot, tree_where, zeros"
)
SUB_LAYERS = {
    "plain": """
        features: Size = 3  #: size of the last axis

        def setup(self):
            self.scale = trainable(ones, (self.features,))

        def forward(self, x: Float["..."], *, shift: Float["..."] | None = None) -> Float["..."]:
            y = x * self.scale
            return y if shift is None else y + shift
        """,
    "counter": """
        def setup(self):
            self.count = state(zeros, ())

        def forward(self, x: Float["..."]) -> Float["..."]:
            self.count = self.count + 1.0
            return x + self.count
        """,
    "pair": """
        def setup(self):
            self.plain = Plain(3)
            self.counter = Counter()

        def forward(self, x: Float["..."]) -> Float["..."]:
            return self.counter(self.plain(x))
        """,
    "noise": """
        def forward(self, x: Float["..."]) -> Float["..."]:
            if not self.training:
                return x
            return x + jax.random.normal(self.key(), x.shape, x.dtype)
        """,
}
SECTIONS = {
    "Layer": "nn",
    "Block": "block",
    "Optimizer": "optim",
    "Schedule": "schedule",
}


def spec(body: str, base: str = "Layer", name: str = "Example") -> str:
    """The text of a spec whose class has the given body."""
    header = HEADER.replace("*", f"({WORDS})")
    if name != "Example":
        header = "\n".join(
            line
            for line in header.split("\n")
            if "specs.nn" not in line or f"{line.split()[-1]}(" in body
        )
    inner = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return (
        f'{header}\n\nclass {name}({base}):\n    """A spec of a test."""\n\n{inner}\n'
    )


def files(body: str, base: str = "Layer") -> tuple[SpecFile, ...]:
    """The example, and the specs of the sub-layers that it may use."""
    section = SECTIONS[base]
    example = SpecFile(f"specs/{section}/example.py", section, spec(body, base))
    others = [
        SpecFile(f"specs/nn/{n}.py", "nn", spec(text, name=n.capitalize()))
        for n, text in SUB_LAYERS.items()
    ]
    return (example, *others)


@dataclass(frozen=True)
class Pair:
    """A method, or the body of a `forward`, and what it is rewritten to: see `cases/`."""

    name: str
    base: str
    method: str
    """Which method of the class body `before` is rewritten; empty: `before` is the body of a `forward`."""
    inputs: str
    before: str
    after: str


_HEAD = re.compile(r"=== (\w+): (\w+)(?: (\w+))?(?: \((.*)\))?")


def pairs() -> list[Pair]:
    """Every pair of `cases/`."""
    found: list[Pair] = []
    for path in sorted((Path(__file__).parent / "cases").glob("*.txt")):
        for text in re.split(r"\n(?==== )", path.read_text(encoding="utf-8")):
            head, _, rest = text.partition("\n")
            before, mark, after = rest.partition("\n--- becomes\n")
            matched = _HEAD.fullmatch(head)
            assert matched, f"{path.name}: not the head of a pair: {head}"
            assert mark, f"{path.name}: {head} has no result"
            name, base, method, inputs = matched.groups(default="")
            inputs = inputs or 'x: Float["..."]'
            name = f"{path.stem}-{name}"
            found.append(Pair(name, base, method, inputs, before, after))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `pair` runs for each of them."""
    if "pair" in metafunc.fixturenames:
        found = pairs()
        metafunc.parametrize("pair", found, ids=[pair.name for pair in found])


@pytest.fixture(scope="session")
def example_files() -> Callable[..., tuple[SpecFile, ...]]:
    """Makes the specs of an example from its class body, and the name of its base."""
    return files


@cache
def built_in() -> tuple[SpecFile, ...]:
    """The specs of the library."""
    return find_specs(LIBRARY_SPECS, "library")


def read_example(body: str, base: str = "Layer") -> Library:
    """The example of a class body, with what it is built on."""
    return read_library(files(body, base), built_in())


def rewrite_example(body: str, base: str = "Layer") -> Mapping[str, Rewritten]:
    """What the methods of an example are rewritten to."""
    library = read_example(body, base)
    definition = next(d for d in library if d.name == "Example")
    return rewrite_methods(definition, library)


@pytest.fixture(scope="session")
def words() -> tuple[SpecFile, ...]:
    """The library's functions, as far as the specs here use them."""
    return built_in()


@pytest.fixture(scope="session")
def read() -> Callable[..., Library]:
    """Reads an example: its class body, and the name of its base."""
    return read_example


@pytest.fixture(scope="session")
def rewrite() -> Callable[..., Mapping[str, Rewritten]]:
    """Rewrites the methods of an example."""
    return rewrite_example


LAYER = """
features: Size = 3  #: size of the last axis
use_bias: bool = True  #: whether there is a bias and a trace

def setup(self):
    self.kernel = trainable(ones, (self.features,))
    self.bias = trainable(zeros, (self.features,)) if self.use_bias else None
    self.mean = state(zeros, (self.features,))
    self.var = state(ones, (self.features,))
    self.steps = state(zeros, (), jnp.int32)
    self.trace = state(zeros, (self.features,)) if self.use_bias else None
    self.plain = Plain()
    self.other = Plain()
    self.counter = Counter()
    self.noise = Noise()

"""
BLOCK = """
layer: SubLayer  #: an initialized layer
layers: SubLayers  #: initialized layers
features: Size = 3  #: size of the last axis

"""


def class_body(pair: Pair) -> str:
    """The class body that a pair is about."""
    if pair.method:
        return pair.before
    declared = LAYER if pair.base == "Layer" else BLOCK
    method = f"def forward(self, {pair.inputs}) -> PyTree:\n"
    return declared + method + textwrap.indent(pair.before, "    ")


@cache
def rewritten(pair: Pair) -> str:
    """What a pair is about, rewritten."""
    methods = rewrite_example(class_body(pair), pair.base)
    return methods[pair.method or "forward"].body


@pytest.fixture(scope="session")
def rewrite_pair() -> Callable[[Pair], str]:
    """Rewrites what a pair is about."""
    return rewritten
