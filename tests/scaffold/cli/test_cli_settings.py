"""Finding a project and reading its settings."""

import pytest
from cli_projects import PYPROJECT

TABLE = "[tool.mlax-scaffold]\n"


def test_a_folder_that_is_no_project(tmp_path, project, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    for arguments in (["generate"], ["check"], ["list"], ["undo"], ["test"]):
        result = project.run(*arguments)
        assert result.exit_code == 2
        assert "mlax-scaffold init NAME" in result.stderr
        assert result.stdout == ""


def test_a_project_is_found_from_below_and_by_option(project, tmp_path, monkeypatch):
    before = project.json("list")
    monkeypatch.chdir(project.root / "specs" / "nn")
    assert project.json("list") == before
    monkeypatch.chdir(tmp_path)
    assert project.json("list", "--project", str(project.root)) == before


def test_a_pyproject_of_something_else_on_the_way_is_passed(project, monkeypatch):
    inner = project.write("specs/pyproject.toml", "[project]\nname = 'x'\n").parent
    monkeypatch.chdir(inner)
    assert project.json("list")["definitions"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.mlax-scaffold\n", "not valid TOML"),
        ("tool = 1\n", "is no mlax-scaffold project"),
        ("[tool]\nmlax-scaffold = 1\n", "expected a table"),
        (TABLE, 'there is no "package"'),
        (PYPROJECT + "outptu = 'x'\n", 'unknown key "outptu"; did you mean "output"?'),
        (PYPROJECT + "zzz = 'x'\n", "the keys are package, specs"),
        (TABLE + "package = 3\n", "package is 3, expected a string"),
        (TABLE + "package = 'my-net'\n", 'package is "my-net"'),
        (TABLE + "package = 'class'\n", "a name that Python can import"),
        (PYPROJECT + "document_fields = 1\n", "expected true or false"),
        (PYPROJECT + "specs = '../specs'\n", "leads out of the project"),
        (PYPROJECT + "docs = '/docs'\n", "absolute"),
        (PYPROJECT + "output = 'src/other'\n", 'ends in "mynet"'),
        (PYPROJECT + "tests = 'mynet'\n", "output and tests are both"),
        (PYPROJECT + "specs = 'mynet'\n", "specs and output are both"),
    ],
)
def test_wrong_settings_are_wrong_usage(empty, text, message):
    empty.write("pyproject.toml", text)
    before = empty.files()
    result = empty.run("generate")
    assert result.exit_code == 2
    assert message in result.stderr
    assert empty.files() == before


def test_all_mistakes_come_at_once(empty):
    empty.write("pyproject.toml", PYPROJECT + "outptu = 'x'\ndocs = 3\n")
    result = empty.run("generate")
    assert "outptu" in result.stderr
    assert "docs is 3" in result.stderr


def test_a_package_within_a_package(project):
    text = TABLE + 'package = "mynet.layers"\noutput = "src/mynet/layers"\n'
    project.write("pyproject.toml", text)
    project.write("src/mynet/__init__.py", "")
    project.ok("generate")
    layer = project.text("src/mynet/layers/nn/scale.py")
    assert "from mynet.layers._core" in layer
    assert project.json("show", "Scale")["parameters"] > 0


def test_a_project_may_demand_that_fields_are_documented(project):
    plain = project.text("specs/nn/scale.py").replace("  #: size of the last axis", "")
    project.write("specs/nn/scale.py", plain)
    project.ok("generate")
    assert "an integer of at least 1." in project.text("mynet/nn/scale.py")
    assert "an integer of at least 1" in project.ok("show", "Scale")
    project.write("pyproject.toml", PYPROJECT + "document_fields = true\n")
    for command in ("generate", "check"):
        result = project.run(command)
        assert result.exit_code == 1
        assert "the hyperparameter `features` is not documented" in result.output


def test_a_project_may_demand_that_specs_state_what_they_refuse(project):
    test = "tests/generated/nn/test_nn_scale.py"
    project.ok("generate")
    assert "unsaid=True" in project.text(test)
    project.write("pyproject.toml", PYPROJECT + "state_requirements = true\n")
    assert "stale" in project.run("check").output
    project.ok("generate")
    assert "unsaid" not in project.text(test)
