"""The site builds without a warning, where Sphinx is installed (the extra `docs`)."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from docs_blocks import ROOT

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")


def test_sphinx_builds_without_warnings(site, tmp_path):
    shutil.copytree(
        ROOT / "docs",
        tmp_path / "docs",
        ignore=shutil.ignore_patterns("reference", "_build"),
    )
    # Pages link to the spec, the module and the tests that they are about.
    shutil.copytree(ROOT / site.project.specs, tmp_path / site.project.specs)
    for file in site.files:
        place = tmp_path / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.text, encoding="utf-8")
    arguments = ["-W", "--keep-going", "-n", "-q", "-b", "html"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", *arguments),
            *(str(tmp_path / "docs"), str(tmp_path / "html")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html/reference/nn/linear.html").is_file()
