"""The project's own check runs what the README says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_ci_runs_the_test_command_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python3 -m venv .*$", readme, re.MULTILINE)
    [command] = [line for line in commands if line.split("&&")[-1].count("pytest")]
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
