"""What people complain of elsewhere, and that no other test has for its subject."""

import json
import os
import re
import subprocess
import sys

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.render.environment import TemplateFault, Templates

LAYER = "mynet/nn/scale.py"
SPEC = "specs/nn/scale.py"
RENDERED = """
import hashlib, json, sys
from mlax_scaffold.project.workspace import Workspace

made = Workspace.find(sys.argv[1]).generate()
print(json.dumps({o.path: hashlib.sha256(o.text.encode()).hexdigest() for o in made.outputs}))
"""
"""Prints the digest of each file that a project generates."""


@pytest.mark.parametrize("file", ["probe_twice", "another_name"])
def test_creating_twice_inserts_nothing_twice(generated: ProjectFolder, file: str):
    generated.ok("new-function", "probe_twice", "--no-test")
    folder = generated.root / "specs/functional"
    (folder / "probe_twice.py").rename(folder / f"{file}.py")
    generated.ok("generate")
    before = generated.files()
    again = generated.run("new-function", "probe_twice", "--no-test")
    # It is the definition that is found, wherever its spec stands: the file is not asked.
    assert again.exit_code == 2
    said = f'"probe_twice" exists already; edit specs/functional/{file}.py'
    assert said in again.stderr
    assert generated.files() == before
    registry = generated.text("mynet/functional/__init__.py")
    assert registry.count("import probe_twice") == 1


def test_a_file_that_was_edited_heals_and_follows_its_spec_again(
    generated: ProjectFolder,
):
    generated.write(LAYER, generated.text(LAYER) + "# mine\n")
    assert generated.run("check").exit_code == 1
    generated.ok("generate", "--force", "--no-trial")
    generated.ok("check")
    spec = generated.text(SPEC)
    generated.write(SPEC, spec.replace("by element", "of each element"))
    generated.ok("generate", "--no-trial")
    assert "of each element" in generated.text(LAYER)
    generated.ok("check")


def test_no_version_and_no_moment_is_in_what_is_generated(generated: ProjectFolder):
    stamps = re.compile(rb"20\d\d-\d\d-\d\d|mlax-scaffold \d|version \d+\.\d+")
    for path in generated.files():
        if path.startswith(("mynet/", "tests/", "docs/")) and path.endswith(".py"):
            assert not stamps.search((generated.root / path).read_bytes()), path


def test_the_whole_library_is_the_same_whatever_the_hash_seed():
    """Few specs have what an unordered set would show in; among all of them each has one."""
    root = Workspace.find(os.path.dirname(__file__)).root
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RENDERED, root],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
                "PYTHONHASHSEED": seed,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    first, second = (json.loads(run.communicate()[0]) for run in runs)
    assert len(first) > 500
    assert first == second


def test_another_moment_of_change_is_no_difference(generated: ProjectFolder):
    before = generated.files()
    for path in (LAYER, SPEC):
        os.utime(generated.root / path, (1, 1))
    generated.ok("check")
    generated.ok("generate", "--no-trial")
    assert generated.files() == before


@pytest.mark.parametrize("text", ["{% if %}", "{{ nothing.of_it }}", "{{ 1 + }}"])
def test_a_fault_of_a_template_has_its_file_and_line(tmp_path, text):
    (tmp_path / "page.jinja").write_text(f"first\n{text}\n")
    with pytest.raises(TemplateFault, match=r"page\.jinja:2: \S"):
        Templates(tmp_path).render("page.jinja")
