"""What a release promised holds, or the list of changes says what differs, and why."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from click.testing import CliRunner
from tests.freeze import checkpoint
from tests.freeze.differences import (
    FOLDER,
    Difference,
    announced,
    recorded,
)

import mlax
from mlax_scaffold.cli.group import cli

VERSION = "0.1.0"
RECORDED = recorded(VERSION)


@pytest.fixture(scope="module")
def found() -> dict[str, list[Difference]]:
    """The differences of all items, each computed once."""
    return _differences(RECORDED)


def _differences(records: dict[str, dict[str, Any]]) -> dict[str, list[Difference]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.freeze.differences"],
        cwd=FOLDER.parents[1],
        input=json.dumps(records),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = json.loads(done.stdout)
    return {item: [Difference(item, part) for part in parts[item]] for item in parts}


def test_every_difference_is_announced(found):
    rows = announced(VERSION)
    missing = [
        f"{difference.item}: {difference.part}"
        for each in found.values()
        for difference in each
        if not any(row.covers(difference) for row in rows)
    ]
    assert "\n".join(missing) == "", "not in the table of CHANGELOG.md"


def test_every_announced_difference_is_there(found):
    there = [difference for each in found.values() for difference in each]
    stale = [
        row for row in announced(VERSION) if not any(row.covers(one) for one in there)
    ]
    assert not stale, "rows of CHANGELOG.md without a difference"


def test_every_announced_difference_has_a_reason():
    assert all(len(row.reason.split()) > 3 for row in announced(VERSION))


def test_a_changed_number_is_a_difference():
    record = RECORDED["nn/Linear"]
    [(path, (shape, dtype, weighted, largest))] = record["step"].items()
    changed = record | {"step": {path: [shape, dtype, weighted + 0.01, largest]}}
    found = _differences({"nn/Linear": changed})["nn/Linear"]
    known = _differences({"nn/Linear": record})["nn/Linear"]
    new = set(found) - set(known)
    assert new == {Difference("nn/Linear", "numbers of step")}


@pytest.mark.filterwarnings("ignore:.*donated")
def test_a_checkpoint_loads_and_predicts_the_same():
    folder = FOLDER / f"checkpoint-{VERSION}"
    trees = {
        name: mlax.load_safetensors(folder / f"{name}.safetensors", like=tree)
        for name, tree in checkpoint.start().items()
    }
    expected = mlax.load_safetensors(folder / "predictions.safetensors")
    for name, prediction in checkpoint.predictions(trees).items():
        np.testing.assert_allclose(prediction, expected[name], rtol=1e-5, atol=1e-6)
    assert jax.tree.leaves(trees["optimizer"].step) == [2]


def test_a_project_generates_and_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with zipfile.ZipFile(FOLDER / f"project-{VERSION}.zip") as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    specs = {path: path.read_bytes() for path in tmp_path.glob("specs/**/*.py")}
    for command in (["generate"], ["check", "--render"]):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    assert {path: path.read_bytes() for path in tmp_path.glob("specs/**/*.py")} == specs
    program = (
        "import mynet.nn, mynet.optim, mynet.functional, mynet.graph; print('imported')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "imported\n", done.stderr
