"""How the generator is cut: what may import what, how long modules are, and how much a spec is worth."""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mlax_scaffold
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.render import render
from mlax_scaffold.spec.check_library import read_library
from mlax_scaffold.spec.files import LIBRARY_SPECS, find_specs

PACKAGE = Path(mlax_scaffold.__file__).parent
LAYERS = ("errors", "model", "spec", "rewrite", "render", "write", "cli")
"""Each may import what stands before it."""

SIDES = {
    "testing": {"errors", "model", "spec"},
    "pytest_plugin": {"testing"},
    "specs": {"spec"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""What stands beside the layers, and what it may import."""

ORACLE = {"specs"}
"""Words of a spec are functions of the library: the eager side imports their specs."""

OPTIONAL = {"safetensors", "treescope"}
"""What the library can use where it is installed."""

MAX_LINES = 400
MAX_SPEC = 40
WORTH = 10
PROJECT = Project("mlax", "specs", "generated_layers/mlax", "tests", "docs")


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the generator, with the part of it that it belongs to."""
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        yield part, path


def optional(text: str) -> set[str]:
    """The extras that a text imports where they are used, with an error of its own without."""
    return {
        alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Try)
        and any("ImportError" in ast.unparse(handler) for handler in node.handlers)
        for statement in node.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    } & OPTIONAL


def imported(text: str) -> Iterator[str]:
    """Dotted names of the modules that a text imports, anywhere in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_imported(path: Path) -> set[str]:
    """The parts of the generator that a module imports."""
    names = [name.split(".") for name in imported(path.read_text(encoding="utf-8"))]
    return {
        parts[1] for parts in names if parts[0] == "mlax_scaffold" and len(parts) > 1
    }


def allowed(part: str) -> set[str]:
    if part in SIDES:
        return {part, *SIDES[part]}
    own = {part, *LAYERS[: LAYERS.index(part)]}
    return own | ORACLE if part == "spec" else own


@cache
def files() -> tuple[Rendered, ...]:
    """Everything that follows from the library's specs."""
    library = read_library(find_specs(LIBRARY_SPECS, "specs"))
    return render(library, PROJECT)


def test_every_part_has_a_place():
    assert {part for part, _ in modules()} <= {*LAYERS, *SIDES}


@pytest.mark.parametrize("part", [*LAYERS, *SIDES])
def test_imports_point_one_way(part: str):
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for owner, path in modules()
        if owner == part
        for name in parts_imported(path) - allowed(part)
    }
    assert not wrong


def test_a_wrong_import_would_be_seen(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from mlax_scaffold.render import text\n")
    assert parts_imported(module) - allowed("rewrite") == {"render"}
    assert parts_imported(module) - allowed("write") == set()


def test_the_librarys_files_are_named_after_what_they_define():
    library = read_library(find_specs(LIBRARY_SPECS, "specs"))
    assert all(d.module == Path(d.source).stem for d in library)


def test_reading_specs_needs_no_libraries():
    """The reader's modules stay quick to import: nothing of libcst, jinja2 or jax."""
    heavy = {"jax", "libcst", "jinja2", "numpy"}
    for part, path in modules():
        reader = path.name.startswith(("check_", "parse_", "reader"))
        if part in ("errors", "model") or (part == "spec" and reader):
            names = {name.partition(".")[0] for name in imported(path.read_text())}
            assert not names & heavy, path.name


def test_modules_fit_on_a_few_screens():
    long = {
        str(path.relative_to(PACKAGE)): count
        for _, path in modules()
        if (count := path.read_text(encoding="utf-8").count("\n")) > MAX_LINES
    }
    assert not long


def test_generated_code_depends_on_jax_alone():
    code = [f for f in files() if f.path.startswith(f"{PROJECT.output}/")]
    assert len(code) > 50
    known = {"jax", "mlax", *sys.stdlib_module_names}
    wrong = {
        f"{file.path} imports {name}"
        for file in code
        if file.path.endswith(".py")
        for name in imported(file.text)
        if name.partition(".")[0] not in known | optional(file.text)
    }
    assert not wrong


def test_specs_are_small():
    lengths = [spec.text.count("\n") for spec in find_specs(LIBRARY_SPECS, "specs")]
    assert statistics.median(lengths) <= MAX_SPEC


def test_what_follows_from_a_spec_is_ten_times_as_long():
    specs = {
        spec.path: spec.text.count("\n") for spec in find_specs(LIBRARY_SPECS, "specs")
    }
    made = dict.fromkeys(specs, 0)
    for file in files():
        if file.source:
            made[file.source] += file.text.count("\n")
    assert statistics.median(made[path] / specs[path] for path in specs) >= WORTH


def test_every_spec_has_code_tests_and_a_page():
    roots = (PROJECT.output, PROJECT.tests, PROJECT.docs)
    for spec in find_specs(LIBRARY_SPECS, "specs"):
        places = {f.path for f in files() if f.source == spec.path}
        for root in roots:
            assert any(place.startswith(f"{root}/") for place in places), (spec, root)


def test_rendering_twice_gives_the_same_bytes():
    library = read_library(find_specs(LIBRARY_SPECS, "specs"))
    assert render(library, PROJECT) == files()
