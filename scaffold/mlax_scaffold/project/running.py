"""Runs generated tests where they are."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

from mlax_scaffold.errors import UsageError
from mlax_scaffold.project.lookup import find_definition
from mlax_scaffold.project.processes import PACKAGE, Program
from mlax_scaffold.project.settings import import_root
from mlax_scaffold.project.workspace import Workspace

_RUN = """
import json, sys

import pytest

sys.exit(pytest.main(json.loads(sys.argv[1])))
"""


def missing_packages() -> list[str]:
    """What the tests need and is not installed."""
    names = {"pytest": "pytest", "hypothesis": "Hypothesis"}
    return [said for name, said in names.items() if not importlib.util.find_spec(name)]


def files_of(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """The test files of the named definitions, or the folder of all of them.

    Raises:
        UsageError: a name is not known, or its tests are not there.
    """
    project = workspace.project
    if not names:
        if not os.path.isdir(os.path.join(workspace.root, project.tests)):
            raise UsageError(
                f"there are no tests in {project.tests}; run `mlax-scaffold generate`"
            )
        return [project.tests]
    library = workspace.read()
    found: list[str] = []
    for name in names:
        source = find_definition(workspace, name, library).source
        files = [
            path
            for path, recorded in workspace.lock.outputs.items()
            if recorded.source == source
            and path.startswith(f"{project.tests}/")
            and os.path.isfile(os.path.join(workspace.root, path))
        ]
        if not files:
            raise UsageError(
                f"the tests of {name} are not there; run `mlax-scaffold generate`"
            )
        found += files
    return sorted(set(found))


def run_tests(workspace: Workspace, files: Sequence[str], *, quiet: bool) -> int:
    """Run pytest on files of the project; returns its status.

    The package and the generator are found also where neither is installed.
    """
    package = os.path.normpath(
        os.path.join(workspace.root, import_root(workspace.project))
    )
    own = [package, workspace.root]
    last = [*own, *workspace.plugin_roots, os.path.dirname(PACKAGE)]
    # The process may be a copy of one that has imported what pytest would have rewritten.
    known = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")
    arguments = [*(["-q"] if quiet else []), *known, *files]
    # The project's folder is not to come first: it may hold modules of any name.
    return Program(_RUN, arguments, workspace.root, last=last).run()
