"""A kind of output is a folder: what lists, formats, checks and writes files knows nothing of it."""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

import pytest

import mlax_scaffold.render as room
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import environment, render
from mlax_scaffold.render.gate.imports import GateFault

PROJECT = Project("own", "specs", "own", "tests", "docs")
SPEC = '''from mlax_scaffold.spec import Float, Layer, Size, trainable, zeros


class Shift(Layer):
    """Adds a weight to the last axis."""

    features: Size

    def setup(self):
        self.bias = trainable(zeros, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x + self.bias
'''
FILES = '''
"""Modules of another framework."""

from mlax_scaffold.model.project import Rendered
from mlax_scaffold.render.environment import render_template
from mlax_scaffold.render.gate.imports import GateFault
from mlax_scaffold.render.output import Output
from mlax_scaffold.render.signatures import signatures


def of_library(library, project):
    names = [d.name for d in library]
    yield Rendered(f"{project.output}/other/names.txt", f"{names}\\n", "")


def of_definition(source):
    text = render_template(
        "other/module.py.jinja",
        called=source.definition.name,
        init=signatures(source.definition, source.library)[0],
    )
    path = f"{source.project.output}/other/{source.definition.module}.py"
    yield Rendered(path, text, source.definition.source)


def check(source, file):
    if "class" not in file.text:
        raise GateFault(f"{file.path}: no class")


OUTPUT = Output(of_library, of_definition, check)
'''
TEMPLATE = '''
class {{ called }}Module:
    """A module of another framework."""

    fields=({% for p in init.parameters %}"{{ p.name }}", {% endfor %})
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of another kind of output, and one of its templates."""
    own = tmp_path / "render" / "other"
    own.mkdir(parents=True)
    (own / "__init__.py").touch()
    (own / "files.py").write_text(FILES)
    templates = tmp_path / "templates" / "other"
    templates.mkdir(parents=True)
    (templates / "module.py.jinja").write_text(textwrap.dedent(TEMPLATE).lstrip())
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(own.parent)])
    loaded = environment._environment(environment.template_root())
    assert loaded.loader is not None
    assert loaded.cache is not None
    places = [*loaded.loader.searchpath, str(templates.parent)]  # type: ignore[attr-defined]
    monkeypatch.setattr(loaded.loader, "searchpath", places)
    loaded.cache.clear()
    for name in ("other", "other.files"):
        monkeypatch.delitem(sys.modules, f"{room.__name__}.{name}", raising=False)
    return own


def files() -> dict[str, str]:
    spec = SpecFile("specs/nn/shift.py", "nn", SPEC)
    library = read_library((spec,), find_specs(LIBRARY_SPECS, "library"))
    return {file.path: file.text for file in render(library, PROJECT)}


def test_another_kind_of_output_is_a_folder(folder: Path):
    made = files()
    assert made["own/other/names.txt"] == "['Shift']\n"
    module = made["own/other/shift.py"]
    assert module.count("fields = (") == 1  # formatted like all others
    [node] = ast.parse(module).body
    assert isinstance(node, ast.ClassDef)
    assert node.name == "ShiftModule"
    assert '"key",' in module
    assert '"bias_initializer",' in module


def test_its_own_gate_is_asked(folder: Path):
    template = folder.parent.parent / "templates" / "other" / "module.py.jinja"
    template.write_text("NAME = '{{ called }}'\n")
    with pytest.raises(GateFault, match=r"own/other/shift\.py: no class"):
        files()


def test_without_it_the_rest_is_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch):
    made = files()
    monkeypatch.setattr(room, "__path__", room.__path__[:-1])
    assert {p: t for p, t in made.items() if "/other/" not in p} == files()
