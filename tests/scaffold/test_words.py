"""A word of the vocabulary is one row: all that is known of it follows from there."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

import mlax_scaffold
from mlax_scaffold.model.project import Project, template_root
from mlax_scaffold.model.word import Range
from mlax_scaffold.model.words import WORDS, Word
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.imports import spec_words
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render
from mlax_scaffold.spec.loading import load
from mlax_scaffold.spec.runtime import runtime
from mlax_scaffold.testing import strategies

PACKAGE = Path(mlax_scaffold.__file__).parent
CHECKS = template_root() / "package" / "_core" / "checks" / "__init__.py"
PROJECT = Project("own", "specs", "own", "tests", "docs")
NEW = Word(
    "Even",
    "an even integer",
    "count",
    "int",
    "counts()",
    "6",
    ("-2",),
    measured=True,
    names="axis",
)
SPEC = '''from mlax_scaffold.spec import Even, Float, Layer, trainable, zeros


class Halves(Layer):
    """Adds a weight to the last axis."""

    features: Even

    def setup(self):
        self.bias = trainable(zeros, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x + self.bias
'''


@pytest.fixture
def even(monkeypatch: pytest.MonkeyPatch) -> Word:
    """A word that is a row, and nothing else."""
    monkeypatch.setitem(WORDS, NEW.name, NEW)
    return NEW


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "nn" / "halves.py"
    path.parent.mkdir()
    path.write_text(SPEC)
    return path


def test_a_new_word_is_one_row(even: Word, spec: Path):
    built_in = find_specs(LIBRARY_SPECS, "library")
    library = read_library((SpecFile("specs/nn/halves.py", "nn", SPEC),), built_in)
    files = {f.path: f.text for f in render(library, PROJECT)}
    module = files["own/nn/halves.py"]
    assert 'features = checks.count("Halves", features=features)' in module
    assert "features: " in module
    assert "| An even integer. |" in files["docs/nn/halves.md"]
    assert 'checks.shapes("Halves", hyperparams, x=(x, "*batch features"))' in module
    assert "features: int | None = None" in files["own/graph/nn/halves.py"]
    assert 'pick("features", counts())' in files["tests/nn/test_nn_halves.py"]
    layer = load(spec)(4)
    assert layer._hyperparameters_ == {"features": 4}
    with pytest.raises(ValueError, match=r"Halves: features must be .* got -2"):
        load(spec)(-2)


def asking(text: str, names: set[str]) -> list[str]:
    """Where a text asks a word for its name, or decides by one of these names."""
    wrong: list[ast.AST] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name("word"), attr="name"):
                wrong.append(node)
            case ast.Attribute(value=ast.Attribute(attr="word"), attr="name"):
                wrong.append(node)
            case ast.Compare(comparators=parts) | ast.Dict(keys=parts):
                wrong += [part for part in parts if part and _named(part) & names]
            case ast.MatchValue(value=part) if _named(part) & names:
                wrong.append(node)
    return [f"{getattr(node, 'lineno', 0)}: {ast.unparse(node)}" for node in wrong]


def _named(node: ast.AST | None) -> set[str]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {name for part in node.elts for name in _named(part)}
    return {node.value} if isinstance(node, ast.Constant) else set()  # type: ignore[arg-type]


def test_nothing_asks_a_word_for_its_name():
    """But the reader, which says it in a message or an edit, and the table itself."""
    own = {name for name in WORDS if name[0].isupper()}
    wrong = [
        f"{path.relative_to(PACKAGE).as_posix()}:{found}"
        for part in (
            "model",
            "reader",
            "rewrite",
            "render",
            "spec",
            "testing",
        )
        for path in sorted((PACKAGE / part).rglob("*.py"))
        if path.name != "words.py"
        for found in asking(path.read_text(encoding="utf-8"), own)
    ]
    said = (
        "reader/checks/default_values.py",
        "reader/fields.py",
        "reader/remedies/types.py",
    )
    assert [place for place in wrong if not place.startswith(said)] == []
    assert len(wrong) == len(said)


def test_asking_would_be_seen():
    assert asking('h.type.word.name == "Size"', {"Size"})
    assert asking("word.name in _SIZES", set())
    assert asking('_TOYS = {"Cell": "toys.cell()"}', {"Cell"})
    assert asking("match w:\n    case 'Cell':\n        pass", {"Cell"})
    assert not asking("word.names == 'axis'", {"Size"})


@pytest.mark.parametrize("word", WORDS.values(), ids=lambda word: word.name)
def test_a_row_is_whole(word: Word):
    """What it names is there, and what it needs is said."""
    assert word.takes
    assert word.argument
    assert word.canonical
    if word.check:
        assert re.search(rf"\b{word.check}\b", CHECKS.read_text(encoding="utf-8"))
    if word.structural:
        assert word.home
        assert word.toy
        assert not word.strategy
    elif not word.initializes:
        assert hasattr(strategies, word.strategy.partition("(")[0])
        assert word.example
        assert word.invalid


def test_the_page_has_every_word():
    page = Path(__file__).parents[2] / "docs" / "spec-language.md"
    rows = [
        line for line in page.read_text(encoding="utf-8").split("\n") if "|" in line
    ]
    listed = {
        name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert listed >= set(WORDS)


def test_rows_are_values():
    for word in WORDS.values():
        assert dataclasses.replace(word) == word
        assert hash(word) == hash(dataclasses.replace(word))


def test_no_module_beside_the_words_is_called_like_one():
    modules = {path.stem for path in (PACKAGE / "spec").glob("*.py")}
    functions = {path.stem for path in (LIBRARY_SPECS / "functional").glob("*.py")}
    assert not modules & spec_words(functions)


@pytest.mark.parametrize("name", [w.name for w in WORDS.values() if w.range])
@pytest.mark.parametrize(
    "value",
    [-2, -1, 0, 1, 2, 10**400, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, True, "1"]
    + [float(n) for n in ("inf", "-inf", "nan")],
    ids=lambda value: repr(value)[:8],
)
def test_a_range_has_what_the_check_takes(name: str, value: object):
    word = WORDS[name]
    assert word.range is not None
    check = getattr(runtime("_core.checks"), word.check)
    given = (value,) if word.canonical.startswith("tuple") else value
    try:
        check("Example", field=given)
    except ValueError:
        assert value not in word.range
    else:
        assert value in word.range


def test_a_range_holds_what_is_within():
    assert Range(0).holds(Range(0, above=True))
    assert not Range(0, above=True).holds(Range(0))
    assert Range(0, 1).holds(Range(0, 1, below=True))
    assert not Range(0, 1, below=True).holds(Range(0, 1))
    assert Range().holds(Range(whole=True))
    assert not Range(whole=True).holds(Range())
    assert not Range().holds(Range(infinite=True))
