"""What people complain of elsewhere, and that no other test has for its subject."""

import os
import re

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.render.environment import TemplateFault, Templates

LAYER = "mynet/nn/scale.py"
SPEC = "specs/nn/scale.py"


def test_creating_twice_inserts_nothing_twice(generated: ProjectFolder):
    generated.ok("new-function", "probe_twice", "--no-test")
    before = generated.files()
    again = generated.run("new-function", "probe_twice", "--no-test")
    assert again.exit_code == 2
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
