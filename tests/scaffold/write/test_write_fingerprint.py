"""The fingerprint changes with the generator, and with nothing else."""

import shutil
from pathlib import Path

import pytest

from mlax_scaffold.model.project import template_root
from mlax_scaffold.write import fingerprint as module
from mlax_scaffold.write import generator_fingerprint, templates_place

PACKAGE = Path(module.__file__).parent.parent


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the generator, as in a checkout, that the fingerprint is taken of."""
    package = tmp_path / "scaffold" / "mlax_scaffold"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, package, ignore=skip)
    shutil.copytree(template_root(), tmp_path / "templates")
    monkeypatch.setattr(module, "_PACKAGE", str(package))
    return tmp_path


def test_the_templates_are_those_that_are_rendered():
    assert Path(templates_place()) == template_root()


def test_the_place_and_line_endings_do_not_count(copy):
    before = generator_fingerprint()
    for path in (copy / "scaffold/mlax_scaffold/render").glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    shutil.move(copy / "templates", copy / "scaffold/mlax_scaffold/templates")
    assert generator_fingerprint() == before


@pytest.mark.parametrize(
    "path",
    [
        "scaffold/mlax_scaffold/model/shapes.py",
        "scaffold/mlax_scaffold/reader/specs.py",
        "scaffold/mlax_scaffold/rewrite/state.py",
        "scaffold/mlax_scaffold/render/package/layer.py",
        "scaffold/mlax_scaffold/render/docs/measured_errors.json",
        "templates/package/layer.py.jinja",
        "templates/package/_core/checks/_numbers.py",
        "templates/package/new.py.jinja",
    ],
)
def test_the_generator_counts(copy, path):
    before = generator_fingerprint()
    with open(copy / path, "a") as file:
        file.write("# more\n")
    assert generator_fingerprint() != before


@pytest.mark.parametrize("path", ["specs/nn/linear.py", "cli/group.py", "errors.py"])
def test_specs_and_the_rest_do_not_count(copy, path):
    before = generator_fingerprint()
    (copy / "scaffold/mlax_scaffold" / path).unlink()
    assert generator_fingerprint() == before


def test_a_renamed_file_counts(copy):
    before = generator_fingerprint()
    layer = copy / "scaffold/mlax_scaffold/render/package/layer.py"
    layer.rename(layer.with_name("other.py"))
    assert generator_fingerprint() != before


@pytest.mark.parametrize(
    ("version", "same"), [("0.17.9", True), ("0.18.0", False), ("1.17.5", False)]
)
def test_the_formatter_counts_but_for_its_patches(monkeypatch, version, same):
    found = {"ruff": "0.17.5"}
    monkeypatch.setattr("importlib.metadata.version", found.__getitem__)
    before = generator_fingerprint()
    found["ruff"] = version
    assert (generator_fingerprint() == before) == same
