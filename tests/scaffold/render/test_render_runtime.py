"""What no spec decides is Python as it stands, in the checkout and in every package that has a copy of it."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jax
import pytest

from mlax import nn
from mlax_scaffold.model.definition import Reference
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered, template_root
from mlax_scaffold.reader.files import LIBRARY_SPECS, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render
from mlax_scaffold.render.environment import copied_modules
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.parts import has_metrics, parts_of

PARTS = ("_core", "graph", "initializers", "surgery", "train")
OF_SPECS = ("metric",)
"""Parts that call what specs make, and stand in a package that has all of that."""

MODULES = [name for part in PARTS for name, _ in copied_modules(part)]
PROJECT = Project("other.name", "specs", "src/other/name", "tests", "docs")
SPECS = find_specs(LIBRARY_SPECS, "specs")
LINEAR = tuple(s for s in SPECS if s.path.endswith("nn/linear.py"))
SERIES = tuple(s for s in SPECS if s.path.endswith("block/series.py"))
CLIP = tuple(s for s in SPECS if s.path.endswith("optim/clip.py"))


def rendered(library: Library) -> dict[str, Rendered]:
    """The files of a project, by their path below the package."""
    return {
        file.path.removeprefix(f"{PROJECT.output}/"): file
        for file in render(library, PROJECT)
    }


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The package as it stands among the templates, importable by this name."""
    name = "package"
    monkeypatch.syspath_prepend(template_root())
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield name
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_imported_where_it_stands(standing: str, module: str):
    name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found = importlib.import_module(f"{standing}.{name}")
    assert Path(str(found.__file__)) == template_root() / "package" / module
    assert found.__doc__


def test_it_is_copied_under_a_header_whatever_the_package_is_called():
    files = rendered(read_library((*LINEAR, *CLIP, *SERIES)))
    assert {name for name, file in files.items() if file.copied} == set(MODULES)
    for name in MODULES:
        header, text = files[name].text.split('\n"""', 1)
        assert all(line.startswith("# ") for line in header.splitlines())
        assert name in header
        assert f'"""{text}' == (template_root() / "package" / name).read_text("utf-8")


def test_a_package_has_the_parts_that_it_needs():
    files = rendered(read_library(()))
    assert "_core/paths.py" in files
    absent = ("generation/", "graph/", "metric/", "surgery/", "train/")
    assert not any(name.startswith(absent) for name in files)
    assert "train/__init__.py" not in rendered(read_library(LINEAR))
    assert "graph/__init__.py" not in rendered(read_library(CLIP))


def test_metrics_are_there_where_all_that_they_call_is():
    called = ("double_sum", "in_top_k", "pair_counts", "two_sum")
    loss = "softmax_cross_entropy_with_integer_labels"
    library = read_library(SPECS)
    some = [library[Reference("functional", name)] for name in called]
    every = [*some, library[Reference("loss", loss)]]
    assert not has_metrics(Library({d.reference: d for d in some}))
    assert has_metrics(Library({d.reference: d for d in every}))
    assert parts_of(library) == ["generation", "metric", "surgery", "train"]


def test_a_module_of_it_fits_on_a_few_screens():
    lengths = {
        name: text.count("\n")
        for part in (*PARTS, *OF_SPECS)
        for name, text in copied_modules(part)
    }
    assert not {name: count for name, count in lengths.items() if count > 325}


def test_nothing_of_it_knows_the_packages_name():
    for part in (*PARTS, *OF_SPECS):
        for name, text in copied_modules(part):
            names = {
                node.value
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            assert "mlax" not in text, name
            assert "{{" not in names, name


def test_the_formatter_leaves_it_alone():
    text = "x = [1,\n  2]\n"
    file = Rendered("a.py", text, "", copied=True)
    (left,) = format_python([file], "mlax")
    (formatted,) = format_python([replace(file, copied=False)], "mlax")
    assert left.text == text
    assert formatted.text == "x = [1, 2]\n"


def test_a_block_is_told_what_it_does_not_reach_in_a_layer_that_it_is_given():
    _, _, hyperparams = nn.Embed.init(jax.random.key(0), 5, 3)
    absent, *others = "attend", "attends", "take_rows", "_attend"
    with pytest.raises(AttributeError) as error:
        getattr(hyperparams, absent)
    assert str(error.value) == (
        "EmbedHyperparams has no attribute 'attend': attend is a function of mlax.nn.embed, which "
        "a block does not reach in a layer that it is given. Declare the layer in setup, where "
        "self.layer.attend(x) calls it"
    )
    for name in others:
        assert not hasattr(hyperparams, name)
        with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
            getattr(hyperparams, name)
