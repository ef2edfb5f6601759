"""How the generator is cut: what may import what, and how long modules are."""

from __future__ import annotations

import ast
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.library import PROJECT, SPECS, library, rendered

import mlax_scaffold
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.reader.files import LIBRARY_SPECS, find_specs
from mlax_scaffold.render import render

PACKAGE = Path(mlax_scaffold.__file__).parent
LAYERS = (
    *("errors", "spelling", "parallel", "model", "reader", "rewrite", "render"),
    *("conversion", "write", "project", "owning", "cli"),
)
"""Each may import what stands before it."""

SIDES = {
    "spec": {"errors", "model", "reader", "specs"},
    "specs": {"spec"},
    "weights": {"errors", "spelling"},
    "testing": {"errors", "model", "reader", "spec", "weights"},
    "pytest_plugin": {"testing"},
    "plugin": {"model", "spec", "rewrite", "render"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""What stands beside the layers, and what it may import."""

BESIDE = {"project": {"spec"}, "cli": {"weights"}}
"""`show` runs what it shows, and names weights as the words of specs do; `weights` is a command."""

OPTIONAL = {"orbax", "safetensors", "tqdm", "treescope"}
"""What the library can use where it is installed."""

MAX_LINES = 400
MAX_SPEC = 40


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


def imported_from_elsewhere(file: Rendered) -> set[str]:
    """The packages that a generated file imports; a copied one imports its own relatively."""
    tree = ast.parse(file.text)
    own = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]
    assert file.copied or not own, file.path
    for node in own:
        node.level, node.module = 0, PROJECT.package
    return {name.partition(".")[0] for name in imported(ast.unparse(tree))}


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
    return own | BESIDE.get(part, set())


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


CONVERSION = (
    *("source", "output", "shapes", "rows", "lists", "forms", "handed", "changes"),
    *("declarations", "examples", "bodies", "definitions", "optimizers"),
)
"""The folders of `conversion`: each may import what stands before it."""

ROOMS = {
    "conversion": {f"conversion/{room}" for room in CONVERSION},
    **{
        f"conversion/{room}": {f"conversion/{before}" for before in CONVERSION[:number]}
        for number, room in enumerate(CONVERSION)
    },
    "render": {"render/gate"},
    "render/gate": {"render"},
    "render/package": {"render", "render/gate"},
    "render/graph": {"render", "render/gate", "render/package"},
    "render/tests": {"render", "render/gate", "render/graph"},
    "render/docs": {"render", "render/package", "render/graph"},
}
"""What the folders of a part may import of it, beside themselves. `render` finds outputs by their folders."""


def rooms_imported(path: Path) -> set[str]:
    """The rooms of its own part that a module imports."""
    part = path.relative_to(PACKAGE).parts[0]
    found: set[str] = set()
    for name in imported(path.read_text(encoding="utf-8")):
        parts = name.split(".")[1:]
        if name.startswith("mlax_scaffold.") and parts[0] == part and len(parts) > 1:
            folder = PACKAGE.joinpath(*parts[:2])
            found.add("/".join(parts[:2]) if folder.is_dir() else part)
    return found


def room_of(path: Path) -> str:
    """The folder of a part that a module stands in, or the part."""
    return "/".join(path.parent.relative_to(PACKAGE).parts[:2])


def test_rooms_import_what_stands_before_them():
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {room}"
        for part, path in modules()
        for own in [room_of(path)]
        if own in ROOMS
        for room in rooms_imported(path) - ROOMS[own] - {own}
    }
    assert not wrong


def test_each_part_can_be_imported_first():
    """Whoever uses one part imports no other before it."""
    code = """
import importlib, sys
for part in sys.argv[1:]:
    for name in [n for n in sys.modules if n.partition('.')[0] == 'mlax_scaffold']:
        del sys.modules[name]
    importlib.import_module(part)
"""
    parts = ("reader", "reader.methods", "reader.roles", "conversion", "rewrite")
    names = [f"mlax_scaffold.{part}" for part in (*parts, "render", "write", "weights")]
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_folder_of_these_parts_is_a_room():
    parts = {room.partition("/")[0] for room in ROOMS}
    assert {room_of(path) for part, path in modules() if part in parts} == set(ROOMS)


def test_private_names_stay_in_their_modules():
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for _, path in modules()
        for name in imported(path.read_text(encoding="utf-8"))
        if name.startswith("mlax_scaffold.") and name.rpartition(".")[2].startswith("_")
        if not PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py").is_file()
    }
    assert not wrong


def test_a_wrong_import_would_be_seen(tmp_path: Path):
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from mlax_scaffold.render import text\n")
    assert parts_imported(module) - allowed("rewrite") == {"render"}
    assert parts_imported(module) - allowed("write") == set()


def test_the_librarys_files_are_named_after_what_they_define():
    """What shares its helpers with another definition stands beside that one."""
    names: dict[str, set[str]] = {}
    for definition in library():
        names.setdefault(definition.source, set()).add(definition.module)
    beside = {source for source, modules in names.items() if len(modules) > 1}
    assert all(Path(source).stem in modules for source, modules in names.items())
    assert {Path(source).stem for source in beside} == {"galore", "vector_quantizer"}


def test_only_commands_speak():
    """What works on projects hands over values; the command line says them."""
    for part, path in modules():
        if part in LAYERS and part != "cli":
            text = path.read_text(encoding="utf-8")
            names = {name.partition(".")[0] for name in imported(text)}
            assert "click" not in names, path.name
            calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
            printed = [n for n in calls if ast.unparse(n.func) == "print"]
            assert not printed or path.name == "inspection.py", path.name


PARSERS = {
    "model/shapes.py": {"ast.parse"},
    "rewrite/layout.py": {"ast.parse", "cst.parse_module"},
    "rewrite/nodes.py": {"cst.parse_expression", "cst.parse_statement"},
    "render/docs/api.py": {"ast.parse"},
    "render/docs/values.py": {"ast.parse"},
    "render/gate/imports.py": {"ast.parse"},
    "render/gate/bodies.py": {"ast.parse"},
}
"""What parses after the reader: shapes, for the reader and for tests; the concrete syntax of a spec,
once; code that a pass writes; templates that are Python in full, for their pages; examples of words,
which are the generator's own; and the gate."""

PATTERNS = {
    "model/docstrings.py",
    "model/shapes.py",
    "render/docs/api.py",
    "render/docs/equations.py",
    "render/docs/markdown.py",
}
"""What uses regular expressions after the reader: prose, equations and shapes have no other grammar."""


def parsing(text: str) -> set[str]:
    """The calls in a text that parse Python."""
    named = ("parse", "parse_module", "parse_expression", "parse_statement")
    return {
        ast.unparse(node)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and node.attr in named
        and isinstance(node.value, ast.Name)
    } | {
        node.func.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("compile", "eval", "exec")
    }


def test_what_a_spec_says_is_parsed_once():
    """After the reader nothing parses the text of a spec, or looks for something in it."""
    parsers: dict[str, set[str]] = {}
    patterns: set[str] = set()
    for part, path in modules():
        if part in ("model", "rewrite", "render"):
            text, name = path.read_text(), path.relative_to(PACKAGE).as_posix()
            if found := parsing(text):
                parsers[name] = found
            if "re" in set(imported(text)):
                patterns.add(name)
    assert parsers == PARSERS
    assert patterns == PATTERNS


def test_parsing_would_be_seen():
    assert parsing("import ast\nast.parse(d.shape)") == {"ast.parse"}
    assert parsing("cst.parse_expression(text)") == {"cst.parse_expression"}
    assert parsing("compile(text, '', 'eval')") == {"compile"}


def test_reading_specs_needs_no_libraries():
    """Reading stays quick to start: nothing of libcst, jinja2 or jax."""
    heavy = {"jax", "libcst", "jinja2", "numpy"}
    for part, path in modules():
        if part in ("errors", "spelling", "model", "reader"):
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
    code = [f for f in rendered() if f.path.startswith(f"{PROJECT.output}/")]
    assert len(code) > 50
    known = {"jax", "numpy", "mlax", *sys.stdlib_module_names}  # numpy is jax's own
    wrong = {
        f"{file.path} imports {name}"
        for file in code
        if file.path.endswith(".py")
        for name in imported_from_elsewhere(file) - known - optional(file.text)
    }
    assert not wrong


def test_specs_are_small():
    lengths = [spec.text.count("\n") for spec in find_specs(LIBRARY_SPECS, "specs")]
    assert statistics.median(lengths) <= MAX_SPEC


def test_every_spec_has_code_tests_and_a_page():
    roots = (PROJECT.output, PROJECT.tests, PROJECT.docs)
    for spec in find_specs(LIBRARY_SPECS, SPECS):
        places = {f.path for f in rendered() if f.source == spec.path}
        for root in roots:
            assert any(place.startswith(f"{root}/") for place in places), (spec, root)


def test_what_is_checked_in_is_what_is_rendered():
    """Another process made it, from the same specs: with other seeds of hashes, too."""
    root = PACKAGE.parent.parent
    stale = [
        file.path
        for file in rendered()
        if (root / file.path).read_text(encoding="utf-8") != file.text
    ]
    assert not stale, "run `mlax-scaffold generate`"


def test_rendering_twice_gives_the_same_bytes():
    some = {d.source for d in list(library())[::8]}
    found = render(library(), PROJECT, new=some)
    assert {f.source for f in found} >= some
    assert set(found) <= set(rendered())
