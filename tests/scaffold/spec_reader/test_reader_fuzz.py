"""Whatever the text: the reader gives findings or a definition, and a definition can be rendered."""

from __future__ import annotations

import contextlib
import io
import tokenize
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlax_scaffold.errors import Diagnostic, MlaxScaffoldError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project
from mlax_scaffold.render.package import module
from mlax_scaffold.rewrite import rewrite_methods
from mlax_scaffold.spec.check_library import library_words, read_library
from mlax_scaffold.spec.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.spec.reader import read_spec

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


@cache
def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text with what stands between them, which join to the text."""
    lines = text.splitlines(keepends=True)
    parts: list[str] = []
    at = (1, 0)

    def between(start: tuple[int, int], end: tuple[int, int]) -> str:
        if start[0] == end[0]:
            return (
                lines[start[0] - 1][start[1] : end[1]] if start[0] <= len(lines) else ""
            )
        whole = [lines[start[0] - 1][start[1] :], *lines[start[0] : end[0] - 1]]
        last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
        return "".join([*whole, last])

    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        parts += [between(at, token.start), token.string]
        at = token.end
    assert "".join(parts) == text
    return tuple(parts)


@st.composite
def mutated(draw: st.DrawFn) -> SpecFile:
    """A spec of the library with tokens or lines deleted, doubled, replaced and swapped."""
    file = draw(st.sampled_from(library_files()))
    by_line = draw(st.booleans())
    text = file.text
    parts = text.splitlines(keepends=True) if by_line else list(tokens(text))
    others = draw(st.sampled_from(library_files())).text
    pool = others.splitlines(keepends=True) if by_line else list(tokens(others))
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, len(parts) - 1))
        match draw(st.sampled_from(["delete", "double", "replace", "swap", "insert"])):
            case "delete" if len(parts) > 1:
                del parts[i]
            case "double":
                parts.insert(i, parts[i])
            case "replace":
                parts[i] = draw(st.sampled_from(pool))
            case "swap":
                j = draw(st.integers(0, len(parts) - 1))
                parts[i], parts[j] = parts[j], parts[i]
            case _:
                parts.insert(i, draw(st.sampled_from([*pool, *ODD])))
    return SpecFile(file.path, file.section, "".join(parts))


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
@given(mutated())
def test_mutations_of_the_library(file: SpecFile):
    check(file)


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
