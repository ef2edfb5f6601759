"""The project of all specs that the corpus becomes."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from click.testing import CliRunner
from corpus_inputs import PACKAGE, write_project

from mlax_scaffold.cli.group import cli


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package that is generated from all of them together."""
    root = tmp_path_factory.mktemp("converted")
    write_project(root)
    done = CliRunner().invoke(
        cli, ["generate", "--no-trial", "-q", "--project", str(root)]
    )
    assert done.exit_code == 0, done.output
    sys.path.insert(0, str(root))
    yield importlib.import_module(PACKAGE)
    sys.path.remove(str(root))
    for name in [n for n in sys.modules if n.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
