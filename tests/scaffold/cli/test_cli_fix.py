"""What `generate --fix` does to specs, and what is said of it without."""

from __future__ import annotations

import json

import pytest
from cli_projects import SCALE, ProjectFolder

WIDE = SCALE.replace(
    "return x * self.weight  # by element",
    "total = x.sum(-1, keepdims=True)  # of a row\n        return total * self.weight",
)
MENDED = WIDE.replace("x.sum(-1,", "sum(x, axis=-1,").replace(
    "ones, train", "ones, sum, train"
)
BY_HAND = SCALE.replace("class Scale", "class Other").replace(
    "return x * self.weight  # by element", "return jnp.sum(x) + nothing"
)
PATH = "specs/nn/scale.py"


@pytest.fixture
def wide(generated: ProjectFolder) -> ProjectFolder:
    """A project in which one spec has a finding with an edit."""
    generated.write(PATH, WIDE)
    return generated


def test_each_finding_shows_its_edit_and_the_end_offers_it(wide: ProjectFolder):
    before = wide.files()
    result = wide.run("generate")
    assert result.exit_code == 1
    assert "    import: from mlax_scaffold.spec import sum\n" in result.output
    edit = "    write:  total = sum(x, axis=-1, keepdims=True)  # of a row\n"
    assert edit in result.output
    assert result.output.endswith("`mlax-scaffold generate --fix` mends it.\n")
    assert wide.files() == before


@pytest.mark.parametrize("command", [["check"], ["new-layer", "ProbeMine"], ["list"]])
def test_every_command_that_prints_findings_offers_it(
    command: list[str], wide: ProjectFolder
):
    result = wide.run(*command)
    assert result.exit_code == 1
    assert "`mlax-scaffold generate --fix` mends it." in result.output


def test_the_edit_is_made_shown_and_undone(wide: ProjectFolder):
    before = wide.files()
    output = wide.ok("generate", "--fix")
    assert wide.text(PATH) == MENDED
    assert "+        total = sum(x, axis=-1, keepdims=True)  # of a row\n" in output
    assert f"updated  {PATH}" in output
    assert "up to date" in wide.ok("generate", "--fix")
    wide.ok("check")
    wide.ok("undo")
    assert wide.files() == before


@pytest.mark.parametrize(
    ("right", "slip"),
    [
        ("        return x", "        retrun x"),
        ("def setup(self):", "def setup(self)"),
        ("from mlax_scaffold.spec import", "form mlax_scaffold.spec import"),
    ],
)
def test_a_slip_that_is_no_python_is_mended(
    generated: ProjectFolder, right: str, slip: str
):
    generated.write(PATH, SCALE.replace(right, slip, 1))
    result = generated.run("generate")
    assert f"{PATH}:" in result.output
    assert result.output.endswith("`mlax-scaffold generate --fix` mends it.\n")
    generated.ok("generate", "--fix")
    assert generated.text(PATH) == SCALE
    assert "all clean" in generated.ok("check")


def test_a_preview_shows_the_edit_and_makes_none(wide: ProjectFolder):
    before = wide.files()
    output = wide.ok("generate", "--fix", "--diff")
    assert "-        total = x.sum(-1, keepdims=True)  # of a row\n" in output
    assert f"updated  {PATH}" in wide.ok("generate", "--fix", "--dry-run")
    assert wide.files() == before


def test_line_ends_and_a_mark_stay(wide: ProjectFolder):
    data = b"\xef\xbb\xbf" + WIDE.replace("\n", "\r\n").encode()
    (wide.root / PATH).write_bytes(data)
    wide.ok("generate", "--fix")
    after = b"\xef\xbb\xbf" + MENDED.replace("\n", "\r\n").encode()
    assert (wide.root / PATH).read_bytes() == after
    wide.ok("check", "--render")


def test_editors_get_the_edits(wide: ProjectFolder):
    content = wide.json("generate", status=1)
    assert content["mended"] == [PATH]
    [error] = content["errors"]
    assert error["fix"]["imports"] == ["from mlax_scaffold.spec import sum"]
    lines = WIDE.split("\n")
    for edit in sorted(error["fix"]["edits"], key=lambda e: -e["column"]):
        assert edit["line"] == edit["end_line"] == error["line"]
        line = lines[edit["line"] - 1]
        start, end = edit["column"] - 1, edit["end_column"] - 1
        lines[edit["line"] - 1] = line[:start] + edit["text"] + line[end:]
    assert "total = sum(x, axis=-1, keepdims=True)" in "\n".join(lines)


def test_a_spec_that_needs_a_hand_stays_and_others_are_mended(wide: ProjectFolder):
    wide.write("specs/nn/other.py", BY_HAND)
    before = wide.text("specs/nn/other.py")
    result = wide.run("generate", "--fix")
    assert result.exit_code == 1
    assert wide.text(PATH) == MENDED
    assert wide.text("specs/nn/other.py") == before
    assert f"Mended, and not yet generated from: {PATH}." in result.output
    assert "specs/nn/other.py: " in result.output
    wide.ok("undo")
    assert wide.text(PATH) == WIDE


def test_what_the_edits_bring_to_light_is_told_with_its_lines(generated: ProjectFolder):
    text = SCALE.replace("features: Size", "feature: Size")
    generated.write(PATH, text)
    result = generated.run("generate")
    assert (
        f"{PATH}: the edits shown bring to light what is to be mended by hand:\n"
        in (result.output)
    )
    line = 1 + next(
        at for at, line in enumerate(text.split("\n")) if "def forward" in line
    )
    assert f"\n  line {line}: `features` names no hyperparameter" in result.output
    content = json.loads(generated.run("generate", "--format", "json").stdout)
    assert [d["line"] for d in content["left"]] == [line]
    assert all(d["fix"] for d in content["errors"])
    mended = generated.run("generate", "--fix")
    assert f"\n  line {line}: `features` names no" in mended.output
    assert generated.text(PATH) == text


def test_nothing_is_written_where_generated_code_was_edited(wide: ProjectFolder):
    wide.write("mynet/nn/scale.py", "mine = 1\n")
    before = wide.files()
    result = wide.run("generate", "--fix")
    assert result.exit_code == 1
    assert "would be overwritten" in result.output
    assert wide.files() == before


def test_findings_without_an_edit_offer_nothing(generated: ProjectFolder):
    generated.write(PATH, SCALE.replace("x * self.weight", "x * nothing"))
    result = generated.run("generate")
    assert "--fix" not in result.output
    content = json.loads(generated.run("generate", "--format", "json").stdout)
    assert content["mended"] == []
    assert content["errors"][0]["fix"] is None


def test_a_layer_of_the_library_is_imported_from_there(generated: ProjectFolder):
    own = "from specs.nn.linear import Linear\n"
    text = SCALE.replace("\n\nclass", f"\n{own}\n\nclass", 1)
    text = text.replace("x * self.weight", "self.map(x) * self.weight").replace(
        "    def setup(self):\n",
        "    def setup(self):\n        self.map = Linear(self.features, self.features)\n",
    )
    generated.write(PATH, text)
    output = generated.run("generate").output
    assert "no plugin that this project names has a spec of nn.Linear" in output
    generated.ok("generate", "--fix")
    library = "from mlax_scaffold.specs.nn.linear import Linear\n"
    assert library in generated.text(PATH)
    assert own not in generated.text(PATH)


NOISY = '''\
import jax

from mlax_scaffold.spec import Optimizer, moment, zeros


class Noisy(Optimizer):
    """A spec of a test."""

    rate: float

    def setup(self, p):
        self.m = moment(zeros, p.shape)

    def update(self, g, p):
        self.m = g + jax.random.normal(self.key(), p.shape)
        return -self.rate * self.m
'''


def test_what_is_edited_beside_names_of_parameters_has_the_new_names(
    project: ProjectFolder,
):
    project.write("specs/optim/noisy.py", NOISY)
    told = project.run("generate", "--fix")
    assert told.exit_code == 0, told.output
    mended = project.text("specs/optim/noisy.py")
    assert "jax.random.normal(self.key(), param.shape, dtype=grad.dtype)" in mended
