"""The site builds without a warning, where Sphinx is installed (the extra `docs`)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from docs_blocks import ROOT, links

from mlax_scaffold.model.definition import Kind

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("furo")
pytest.importorskip("matplotlib")

DRAWN = ("schedule/join", "optim/adam")
"""The pages whose pictures the test draws: all of them take a second each."""
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def test_schedules_and_optimizers_have_pictures(site):
    shown = {
        re.sub(r".*/reference/(.*)\.md", r"\1", path)
        for path, page in site.pages.items()
        if any("_plots/" in link for link in links(page))
    }
    schedules = {f"schedule/{d.module}" for d in site.library.of(Kind.SCHEDULE)}
    assert {*schedules, *DRAWN, "optim/sgd"} <= shown
    assert {name.partition("/")[0] for name in shown} == {"schedule", "optim"}


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
    pictures = tmp_path / "docs/reference/_plots"
    for path, page in site.pages.items():
        for link in links(page):
            name = link.removeprefix("../_plots/").removesuffix(".svg")
            if "/_plots/" in link and name not in DRAWN:
                picture = (tmp_path / path).parent / link
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_text(EMPTY, encoding="utf-8")
    arguments = ["-W", "--keep-going", "-n", "-q", "-b", "html"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", *arguments),
            *(str(tmp_path / "docs"), str(tmp_path / "html")),
        ],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "generated_layers")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html/reference/nn/linear.html").is_file()
    for name in DRAWN:
        text = (pictures / f"{name}.svg").read_text(encoding="utf-8")
        assert len(ElementTree.fromstring(text).findall(".//{*}path")) > 20
        image = f"_images/{name.partition('/')[2]}.svg"
        assert (tmp_path / "html" / image).read_text(encoding="utf-8") == text
        page = (tmp_path / f"html/reference/{name}.html").read_text(encoding="utf-8")
        assert f"../../{image}" in page
