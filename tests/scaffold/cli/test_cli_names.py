"""Names of what is created: none means something else where it is used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from cli_projects import SCALE, TWICE

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.definition import SECTIONS, Kind
from mlax_scaffold.project.names import check_free, check_name
from mlax_scaffold.project.workspace import names_in
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs

ROOT = Path(__file__).resolve().parents[3]
KINDS = {"layer": Kind.LAYER, "function": Kind.FUNCTION, "optimizer": Kind.OPTIMIZER}
SPECS = (
    *find_specs(LIBRARY_SPECS, "mlax_scaffold/specs", "mlax-scaffold"),
    SpecFile("specs/nn/scale.py", "nn", SCALE),
    SpecFile("specs/nn/twice.py", "nn", TWICE),
)

_OF_A_SPEC = re.compile(rf"mlax\.({'|'.join(SECTIONS)})\.[a-z]\w*")
_CREATED = re.compile(r'"new-(layer|function|optimizer)",\s*"(\w+)"(?! \*)')


def refused(name: str, kind: Kind) -> bool:
    try:
        check_name(name, kind)
        check_free(name, kind, SPECS)
    except UsageError:
        return True
    return False


def imported(path: Path) -> set[str]:
    """The names that a module gets by imports, but classes that a spec has for its own modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        and not _OF_A_SPEC.fullmatch(getattr(node, "module", "") or "")
        for alias in node.names
    }


@pytest.mark.parametrize("folder", ["tests/generated", "generated_layers/mlax"])
def test_no_definition_is_called_what_generated_code_imports(folder):
    """A class of the name would be another thing in its own module, or in its tests."""
    known = set(names_in(SPECS))
    found: set[str] = set()
    for section in ("nn", "block", "optim"):
        for path in (ROOT / folder / section).glob("*.py"):
            if path.name != "__init__.py":
                found |= imported(path) - known
    classes = {name for name in found if re.fullmatch(r"[A-Z][A-Za-z0-9]*", name)}
    assert classes
    free = {n for n in classes if not all(refused(n, k) for k in KINDS.values())}
    assert not free


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.glob("*.py")), ids=lambda path: path.name
)
def test_tests_create_what_no_library_will_have(path):
    """A person may add any name to the library, and these tests still create theirs."""
    for kind, name in _CREATED.findall(path.read_text(encoding="utf-8")):
        probe = name.lower().startswith("probe")
        assert probe or refused(name, KINDS[kind]), f"{name}: call it Probe{name}"
