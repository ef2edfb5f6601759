"""The file of a spec may have any name: what is generated is named after the definition."""

import subprocess
import sys

import pytest
from cli_projects import SCALE, TWICE


@pytest.fixture
def renamed(project):
    """A project whose spec of Scale is in a file of another name."""
    (project.root / "specs/nn/scale.py").unlink()
    project.write("specs/nn/my_layers.py", SCALE)
    twice = TWICE.replace("specs.nn.scale", "specs.nn.my_layers")
    project.write("specs/nn/two-of-them.py", twice)
    (project.root / "specs/nn/twice.py").unlink(missing_ok=True)
    return project


def test_outputs_are_named_after_the_definition(renamed):
    renamed.ok("generate")
    assert "class ScaleHyperparams" in renamed.text("mynet/nn/scale.py")
    assert "Scale.fwd(" in renamed.text("mynet/nn/twice.py")
    assert "nn/my_layers.py" in renamed.text("mynet/nn/scale.py").split("\n")[0]
    renamed.ok("check")
    names = {d["name"] for d in renamed.json("list")["definitions"]}
    assert {"Scale", "Twice"} <= names
    assert "my_layers.py" in renamed.ok("show", "Scale")
    renamed.ok("show", "Twice")


def test_it_is_run_as_the_oracle(renamed):
    code = (
        "import sys; from mlax_scaffold.spec.loading import load; "
        "layer = load(sys.argv[1], sys.argv[2])(3); assert layer.features == 3"
    )
    arguments = [sys.executable, "-c", code, "specs/nn/two-of-them.py", "."]
    subprocess.run(arguments, cwd=renamed.root, check=True)


def test_a_file_may_be_renamed(project):
    (project.root / "specs/nn/twice.py").unlink()
    project.ok("generate")
    before = project.text("mynet/nn/scale.py")
    place = project.root / "specs/nn/scale.py"
    place.rename(place.with_name("other.py"))
    project.ok("generate")
    assert project.text("mynet/nn/scale.py") == before.replace("scale.py", "other.py")
    project.ok("check")


def test_a_file_does_not_hide_what_it_does_not_define(project):
    project.write("specs/nn/linear.py", SCALE.replace("Scale", "Mine"))
    user = TWICE.replace(
        "specs.nn.scale import Scale", "mlax_scaffold.specs.nn.linear import Linear"
    )
    user = user.replace("Scale(self.features)", "Linear(self.features, self.features)")
    project.write("specs/nn/user.py", user.replace("Twice", "User"))
    project.ok("generate")
    assert "class LinearHyperparams" in project.text("mynet/nn/linear.py")


def test_a_new_definition_overwrites_no_other(renamed):
    renamed.write("specs/nn/probe.py", SCALE.replace("Scale", "Other"))
    before = renamed.files()
    result = renamed.run("new-layer", "Probe", "--no-test")
    assert result.exit_code == 2
    assert "specs/nn/probe.py exists, and defines Other" in result.stderr
    assert renamed.files() == before
