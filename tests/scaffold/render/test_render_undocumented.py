"""Fields need no comment: what is generated then says what each takes, and nothing empty."""

from __future__ import annotations

import ast
import re
from typing import TypeGuard

import pytest

from mlax_scaffold.errors import SpecError
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

PROJECT = Project("mynet", "specs", "mynet", "tests/generated", "docs/reference")
EMPTY = re.compile(r"^\s*[\w`]+: *(\.(?!\.)|\()|: \.(?!\.)|what it is|\| +: ")
HEAD = """from mlax_scaffold.spec import Block, DType, Float, Initializer, Layer, Optimizer
from mlax_scaffold.spec import PerDim, Positive, Schedule, Scheduled, Size, Stacked
from mlax_scaffold.spec import SubLayer, SubLayers, function, lecun_normal, trainable


"""
SPECS = {
    "layer": (
        "nn",
        '''class Example(Layer):
    """A spec of a test."""

    spatial_dims: Size
    features: Size
    strides: PerDim[Size] = 1
    accum_dtype: DType | None = None
    kernel_initializer: Initializer = lecun_normal()

    def setup(self):
        self.weight = trainable(self.kernel_initializer, (self.features, self.features))

    def forward(self, x: Float["*spatial features"]) -> Float["*spatial features"]:
        return x @ self.weight
''',
    ),
    "block": (
        "block",
        '''class Example(Block):
    """A spec of a test."""

    first: SubLayer
    others: SubLayers

    def forward(self, x: Float["..."]) -> Float["..."]:
        x = self.first(x)
        for layer in self.others:
            x = layer(x)
        return x
''',
    ),
    "function": (
        "functional",
        '''@function
def example(x: Float["..."], *, rate: Positive = 1.0) -> Float["..."]:
    """A spec of a test."""
    return x * rate
''',
    ),
    "optimizer": (
        "optim",
        '''class Example(Optimizer):
    """A spec of a test."""

    learning_rate: Scheduled
    rate: Positive = 1.0

    def update(self, grad, param):
        return -self.learning_rate * self.rate * grad
''',
    ),
    "schedule": (
        "schedule",
        '''class Example(Schedule):
    """A spec of a test."""

    rate: Positive

    def value(self, step):
        return step * self.rate
''',
    ),
}


def spec(kind: str) -> SpecFile:
    section, text = SPECS[kind]
    return SpecFile(f"specs/{section}/example.py", section, HEAD + text)


@pytest.mark.parametrize("kind", SPECS)
def test_what_is_generated_says_nothing_empty(kind: str):
    library = read_library((spec(kind),), find_specs(LIBRARY_SPECS, "library"))
    for file in render(library, PROJECT):
        if file.source != spec(kind).path:
            continue
        texts = [file.text]
        if file.path.endswith(".py"):
            constants = (n for n in ast.walk(ast.parse(file.text)) if _is_text(n))
            texts = [ast.literal_eval(n.value) for n in constants]
            assert all(text.strip(" .") for text in texts), file.path
        for line in "\n".join(texts).splitlines():
            assert not EMPTY.search(line), line


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def test_a_project_may_demand_comments():
    with pytest.raises(SpecError) as error:
        read_library((spec("layer"),), document_fields=True)
    found = [d.message for d in error.value.diagnostics]
    names = ("spatial_dims", "features", "strides", "accum_dtype", "kernel_initializer")
    assert found == [f"the hyperparameter `{n}` is not documented" for n in names]
