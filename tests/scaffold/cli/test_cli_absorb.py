"""Edits of generated code go back into the spec where it can say them, and are refused where it cannot."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from cli_projects import PYPROJECT, ProjectFolder

from mlax_scaffold.errors import FindingsError, SpecError
from mlax_scaffold.project.absorbing import absorb, module_of
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader.files import LIBRARY_SPECS

GATE = '''\
import math

from jax import lax

from mlax_scaffold.spec import Float, Layer, Size, lecun_normal, trainable


class Gate(Layer):
    """Gated linear unit."""

    in_features: Size  #: size of the last axis of the input
    features: Size  #: size of the last axis of the output
    scale: float = 1.0  #: factor of the gate

    def setup(self):
        shape = (self.in_features, self.features)
        self.kernel = trainable(lecun_normal(), shape)
        self.gate_kernel = trainable(lecun_normal(), shape)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch features"]:
        y = x.dot(self.kernel)  # the value
        gate = x.dot(self.gate_kernel) * math.sqrt(2.0)
        return y * lax.logistic(gate * self.scale)
'''
SPEC, MODULE = "specs/nn/gate.py", "mynet/nn/gate.py"


@pytest.fixture
def gate(project: ProjectFolder) -> ProjectFolder:
    """A project with one layer, generated."""
    project.write("pyproject.toml", PYPROJECT)
    project.write(SPEC, GATE)
    project.ok("generate")
    return project


def edit(project: ProjectFolder, before: str, after: str) -> str:
    text = project.text(MODULE)
    assert text.count(before) == 1, text
    edited = text.replace(before, after)
    project.write(MODULE, edited)
    return edited


TAKEN = {
    "a function": ("lax.logistic(", "lax.tanh(", "lax.tanh(gate * self.scale)"),
    "a number": ("math.sqrt(2.0)", "math.sqrt(3.0)", "* math.sqrt(3.0)"),
    "a factor": ("return y *", "return 0.5 * y *", "return 0.5 * y * lax"),
    "a field": (
        "math.sqrt(2.0)",
        "math.sqrt(hyperparams.in_features)",
        "math.sqrt(self.in_features)",
    ),
    "a statement": (
        "    return y",
        "    gate = gate - 1.0  # lower\n    return y",
        "        gate = gate - 1.0  # lower\n        return y",
    ),
    "a block of statements": (
        "    return y",
        "    if gate.ndim > 2:\n        gate = -gate\n    return y",
        "        if gate.ndim > 2:\n            gate = -gate\n        return y",
    ),
    "a comment": ("# the value", "# the value itself", "# the value itself"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_an_edit_goes_back_into_the_spec(gate: ProjectFolder, case: str):
    before, after, said = TAKEN[case]
    edited = edit(gate, before, after)
    files = gate.files()
    shown = gate.ok("absorb", "Gate", "--dry-run")
    assert gate.files() == files
    assert said.splitlines()[0].strip() in shown
    gate.ok("absorb", "Gate", "--no-trial")
    assert said in gate.text(SPEC)
    assert "".join(gate.text(MODULE).split()) == "".join(edited.split())
    assert "all clean" in gate.ok("check", "--render")
    gate.ok("undo")
    assert gate.files() == files


def test_the_specs_are_read_as_they_are_and_as_they_become(
    gate: ProjectFolder, monkeypatch: pytest.MonkeyPatch
):
    edit(gate, "lax.logistic", "lax.tanh")
    read = Workspace.read_files
    said = []

    def counted(workspace, files):
        said.append(dict(workspace.edited))
        return read(workspace, files)

    monkeypatch.setattr(Workspace, "read_files", counted)
    gate.ok("absorb", "Gate")
    assert [list(edited) for edited in said] == [[], [SPEC]]


def test_layout_is_no_edit(gate: ProjectFolder):
    text = gate.text(MODULE)
    gate.write(MODULE, re.sub(r'"', "'", text).replace("'''", '"""'))
    result = gate.run("absorb", "Gate")
    assert result.exit_code == 2
    assert "was not edited" in result.stderr


STUCK = {
    "a check": (
        '"*batch in_features"',
        '"*batch 3"',
        "No line of the spec says that",
    ),
    "a signature": ("scale: float = 1.0,", "scale: int = 1.0,", "edit of `init`"),
    "a function more": (
        "@applied_by",
        "def more(x):\n    return x\n\n\n@applied_by",
        "Add or remove it in the spec",
    ),
    "what a spec cannot say": (
        "lax.logistic(",
        "jnp.sum(",
        "computes half-precision input in float32",
    ),
    "what is no Python": ("return y *", "return y * *", "invalid syntax"),
}


@pytest.mark.parametrize("case", STUCK)
def test_what_cannot_go_back_is_told_and_left(gate: ProjectFolder, case: str):
    before, after, said = STUCK[case]
    edit(gate, before, after)
    files = gate.files()
    result = gate.run("absorb", "Gate")
    assert result.exit_code == 1, result.output
    assert said in result.output
    assert MODULE in result.output
    assert gate.files() == files


def test_what_would_become_other_code_is_shown_and_can_be_had(gate: ProjectFolder):
    chosen = "y = y if x.ndim > 1 else -y"
    edited = edit(gate, "    return y", f"    {chosen}\n    return y")
    files = gate.files()
    result = gate.run("absorb", "Gate")
    if result.exit_code == 0:
        pytest.fail(
            "the generator no longer makes an `if` of a choice: take another example"
        )
    assert "would become other code" in result.output
    assert "--anyway" in result.output
    assert gate.files() == files
    gate.ok("absorb", "Gate", "--anyway", "--no-trial")
    assert f"        {chosen}\n        return y" in gate.text(SPEC)
    assert gate.text(MODULE) != edited
    assert "all clean" in gate.ok("check", "--render")


def test_a_definition_that_is_not_there_is_told(gate: ProjectFolder):
    result = gate.run("absorb", "Gaet")
    assert result.exit_code == 2
    assert 'did you mean "Gate"?' in result.stderr


def test_edits_that_have_a_spec_are_mostly_found(project: ProjectFolder):
    """The module of a spec of the library with another number, beside the spec as it was."""
    chance, found = random.Random(5), []
    names = sorted(p for p in LIBRARY_SPECS.rglob("*.py") if numbers(p.read_text()))
    for place in chance.sample(names, 10):
        path = f"specs/{place.parent.name}/{place.name}"
        text = place.read_text()
        number = chance.choice(numbers(text))
        other = f"{text[: number.start()]}7.5{text[number.end() :]}"
        project.write("pyproject.toml", PYPROJECT)
        project.write(path, text)
        workspace = Workspace.find(str(project.root))
        [definition] = [d for d in workspace.read() if d.source == path]
        try:
            edited = replace(workspace, edited={path: other})
            module, code = module_of(edited, definition)
            project.write(module, code)
            made = absorb(workspace, str(definition.reference))
            found.append(made.workspace.edited[path] == other)
        except FindingsError:
            found.append(False)
        except SpecError:
            continue  # another number is not valid there
        finally:
            (project.root / path).unlink()
    assert len(found) >= 6
    assert sum(found) / len(found) >= 0.8, found


def numbers(text: str) -> list[re.Match[str]]:
    """The numbers in the last function of a spec."""
    start = text.rfind("    def ")
    return [m for m in re.finditer(r"\b\d\.\d+\b", text) if 0 < start < m.start()]
