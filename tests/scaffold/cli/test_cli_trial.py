"""What `generate` writes can be imported: it tries it first, in a process of its own."""

from __future__ import annotations

import json

import pytest
from cli_projects import SCALE, ProjectFolder

from mlax_scaffold.project import trial
from mlax_scaffold.project.settings import find_project
from mlax_scaffold.project.staging import Outcome, Stage, staged_package
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.spec.loading import load

HEAD = '''\
import jax
import jax.numpy as jnp
{imports}
from mlax_scaffold.spec import Activation, Float, Layer, Size


class {name}(Layer):
    """A spec of a test."""

    size: Size = 3  #: a size
{body}

    def forward(self, x: Float["..."]) -> Float["..."]:
        return x
'''
FAULTY = {
    # The class, a line of its spec, what it imports, and what is in its body.
    "NoDefault": (
        "jax.nn.reluu",
        "",
        "    act: Activation = jax.nn.reluu  #: a function",
    ),
    "NoName": (
        "from jax import",
        "from jax import nothing_there",
        """
    def carry(self, shape):
        return nothing_there""",
    ),
    "NoDtype": (
        "jnp.float31",
        "",
        """
    def carry(self, shape, dtype=jnp.float31):
        return shape""",
    ),
}
AROUND = '''\
from mlax_scaffold.spec import Float, Layer, Size

from ..nn.scale import Scale


class Around(Layer):
    """Another way to name the folder."""

    size: Size = 3

    def setup(self):
        self.scale = Scale(self.size)

    def forward(self, x: Float["*batch size"]) -> Float["*batch size"]:
        return self.scale(x)
'''
FUNCTION = '''\
import jax.numpy as jnp

from mlax_scaffold.spec import Float, function


@function
def no_value(
    x: Float["..."],
    *,
    scale: float = jnp.no_number,  #: a factor
) -> Float["..."]:
    """A function of a test."""
    return x * scale
'''


def stem(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]


@pytest.fixture
def faulty(project: ProjectFolder) -> ProjectFolder:
    """Two specs that are right, and others that become code that cannot be imported."""
    for name, (_, imports, body) in FAULTY.items():
        text = HEAD.format(name=name, imports=imports, body=body)
        project.write(f"specs/nn/{stem(name)}.py", text)
    project.write("specs/functional/no_value.py", FUNCTION)
    return project


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The modules that each trial imports; nothing is imported."""
    found: list[list[str]] = []

    def run(self: Stage, program: str, argument: object, *rest: object) -> Outcome:
        _, given, result = argument  # type: ignore[misc]
        with open(given) as file:
            found.append(json.load(file)["modules"])
        with open(result, "w") as file:
            json.dump({"found": [], "left": []}, file)
        return Outcome(0, "")

    monkeypatch.setattr(Stage, "run", run)
    return found


def test_every_fault_is_said_at_the_line_of_its_spec(faulty: ProjectFolder):
    before = faulty.files()
    result = faulty.run("generate", "--format", "json", trial=True)
    assert result.exit_code == 1, result.output
    assert faulty.files() == before
    errors = {e["path"]: e for e in json.loads(result.stdout)["errors"]}
    assert len(errors) == len(FAULTY) + 1
    for name, (start, _, _) in FAULTY.items():
        [error] = [e for p, e in errors.items() if p.endswith(f"/{stem(name)}.py")]
        line = faulty.text(error["path"]).split("\n")[error["line"] - 1]
        assert line[error["column"] - 1 :].startswith(start)
    message = errors["specs/functional/no_value.py"]["message"]
    assert message == "jax.numpy has no `no_number`"
    default = errors["specs/nn/no_default.py"]
    assert default["hint"] == 'did you mean "relu"?'
    assert default["fix"]["edits"][0]["text"] == "relu"
    assert "cannot be imported" in errors["specs/nn/no_name.py"]["message"]
    faulty.ok("generate")


def test_what_can_be_imported_is_written(project: ProjectFolder):
    result = project.run("generate", trial=True)
    assert result.exit_code == 0, result.output
    assert "created  mynet/nn/scale.py" in result.output


def test_one_start_for_all_that_changed(project: ProjectFolder, starts):
    assert project.run("generate", trial=True).exit_code == 0
    [modules] = starts
    assert modules[0] == "mynet"
    assert {"mynet.nn.scale", "mynet.nn.twice", "mynet.graph.nn.scale"} <= set(modules)
    assert not [name for name in modules if "test" in name]


def test_no_start_where_no_module_changes(generated: ProjectFolder, starts):
    assert generated.run("generate", trial=True).exit_code == 0
    generated.write("specs/nn/scale.py", SCALE.replace("by element", "each"))
    for arguments in (["--dry-run"], ["--diff"], ["--no-trial"]):
        assert generated.run("generate", *arguments, trial=True).exit_code == 0
    assert starts == []
    (generated.root / "docs/reference/nn/scale.md").unlink()
    assert generated.run("generate", trial=True).exit_code == 0
    assert starts == []
    generated.write("specs/nn/scale.py", SCALE)
    assert generated.run("generate", trial=True).exit_code == 0
    assert len(starts) == 1


def test_conflicts_are_said_before_the_trial(generated: ProjectFolder, starts):
    generated.write("mynet/nn/scale.py", "mine = 1\n")
    result = generated.run("generate", trial=True)
    assert result.exit_code == 1
    assert "would be overwritten" in result.output
    assert starts == []


def test_a_process_that_ends_early(project: ProjectFolder, monkeypatch):
    monkeypatch.setattr(trial, "PROGRAM", "print('oh'); import os; os._exit(7)")
    before = project.files()
    result = project.run("generate", trial=True)
    assert result.exit_code == 1, result.output
    assert "ended with status 7" in result.output
    assert project.files() == before


def test_a_process_that_does_not_end(project: ProjectFolder, monkeypatch):
    monkeypatch.setattr(trial, "PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(trial, "LONGEST", 0.1)
    result = project.run("generate", trial=True)
    assert result.exit_code == 1, result.output
    assert "longer than 0.1 seconds" in result.output


def test_modules_beside_the_generated_ones_come_along(generated: ProjectFolder):
    generated.write("mynet/nn/own.py", "one = 1\n")
    workspace = Workspace(*find_project(str(generated.root)))
    made = workspace.generate()
    program = "from mynet.nn import own, scale; print(own.one, scale.__file__)"
    with staged_package(workspace, made) as stage:
        outcome = stage.run(program, None)
    assert outcome.status == 0, outcome.output
    assert outcome.output.startswith("1 mynet/nn/scale.py")


def test_specs_import_specs_of_their_folder_relatively(project: ProjectFolder):
    text = (project.root / "specs/nn/twice.py").read_text()
    old = "from specs.nn.scale import Scale"
    assert old in text
    project.write("specs/nn/doubled.py", text.replace(old, "from .scale import Scale"))
    (project.root / "specs/nn/twice.py").unlink()
    project.write("specs/nn/around.py", AROUND)
    result = project.run("generate", trial=True)
    assert result.exit_code == 0, result.output
    found = (project.root / "mynet/nn/twice.py").read_text()
    assert "from mynet.nn import scale as Scale" in found
    assert (
        "from mynet.nn import scale as Scale"
        in (project.root / "mynet/nn/around.py").read_text()
    )
    made = load(project.root / "specs/nn/doubled.py", project.root)
    assert made.__name__ == "Twice"


def test_a_relative_import_names_a_spec(project: ProjectFolder):
    text = (project.root / "specs/nn/twice.py").read_text()
    new = text.replace("from specs.nn.scale", "from ..shared")
    project.write("specs/nn/twice.py", new)
    assert "`..shared` names no spec" in project.run("generate").output
