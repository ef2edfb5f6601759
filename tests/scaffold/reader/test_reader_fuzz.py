"""Whatever the text: the reader gives findings or a definition, and a definition can be rendered."""

from __future__ import annotations

import contextlib
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlax_scaffold.errors import Diagnostic, MlaxScaffoldError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import library_words, read_library
from mlax_scaffold.reader.specs import read_spec
from mlax_scaffold.render.package.files import module
from mlax_scaffold.rewrite import rewrite_methods

PROJECT = Project("fuzzed", "specs", "fuzzed", "tests", "docs")
SLOW = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@cache
def library_files() -> tuple[SpecFile, ...]:
    return find_specs(LIBRARY_SPECS, "specs")


ODD = (
    *(
        "self",
        "self.",
        ".x",
        "*",
        "**",
        "()",
        "[]",
        "lambda: ",
        ":=",
        "None",
        "self.key()",
    ),
    *(
        "if ",
        " else ",
        "for x in x: ",
        "\\",
        "\n",
        "\t",
        '"',
        "'''",
        "#:",
        "@",
        "await ",
    ),
    *(
        "self.x = ",
        "x = self.y = ",
        "self.training",
        "require(",
        "async ",
        "match x:\n",
    ),
)


def check(file: SpecFile) -> None:
    """Read the spec, and render what it defines with what it is built on."""
    definition, findings = read_spec(file.path, file.text, library_words())
    assert (definition is None) == bool(findings)
    assert all(isinstance(found, Diagnostic) and str(found) for found in findings)
    lines = file.text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    for found in findings:
        assert found.location.path == file.path
        assert 1 <= found.location.line <= len(lines) + 1
        assert found.location.column >= 1
    if definition is None:
        return
    others = [f for f in library_files() if f.path != file.path]
    with contextlib.suppress(MlaxScaffoldError):
        library = read_library((file,), tuple(others))
        render(definition, library)


def render(definition: Definition, library: Library) -> None:
    methods = rewrite_methods(definition, library)
    rendered = module(definition, library, methods, PROJECT)
    compile(rendered.text, rendered.path, "exec")


@SLOW
@given(st.text())
def test_any_text(text: str):
    check(SpecFile("specs/nn/example.py", "nn", text))


@SLOW
@given(
    st.lists(st.sampled_from([*ODD, "class A(Layer):\n    ", "def forward(self, x)"]))
)
def test_odd_words(parts: list[str]):
    check(SpecFile("specs/nn/a.py", "nn", "".join(parts)))


@pytest.mark.parametrize("file", library_files(), ids=lambda file: file.path[6:])
def test_the_library_itself(file: SpecFile):
    definition, findings = read_spec(file.path, file.text, library_words())
    assert findings == ()
    assert definition is not None
    assert definition.source == file.path


@pytest.mark.parametrize("count", [10, 40, 88])
def test_the_deepest_expression_that_is_read_can_be_rewritten(count: int):
    text = f'''from mlax_scaffold.spec import Float, Layer


class Example(Layer):
    """A spec of a test."""

    def forward(self, x: Float["..."]) -> Float["..."]:
        return {" + ".join(["x"] * count)}
'''
    check(SpecFile("specs/nn/example.py", "nn", text))
    definition, findings = read_spec("specs/nn/example.py", text)
    assert not findings
    assert definition is not None
    body = rewrite_methods(definition, Library({definition.reference: definition}))
    assert body["forward"].body.count("x") == count
