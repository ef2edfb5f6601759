"""`init`."""

import tomllib

import pytest
from cli_projects import ProjectFolder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    root = tmp_path / "p"
    root.mkdir()
    monkeypatch.chdir(root)
    return ProjectFolder(root)


def table(folder):
    return tomllib.loads(folder.text("pyproject.toml"))["tool"]


def test_a_new_project(folder):
    output = folder.ok("init", "--package", "mynet")
    assert "mlax-scaffold new-layer" in output
    assert set(folder.files()) == {"pyproject.toml", ".gitattributes"}
    tools = table(folder)
    assert tools["mlax-scaffold"] == {
        "package": "mynet",
        "specs": "specs",
        "output": "mynet",
        "tests": "tests/generated",
        "docs": "docs/reference",
    }
    assert tools["pytest"]["ini_options"]["pythonpath"] == ["."]
    assert tools["ruff"]["lint"]["per-file-ignores"] == {"specs/**": ["F722", "F821"]}
    assert tools["pyright"]["executionEnvironments"][0]["root"] == "specs"
    folder.ok("check")


def test_again_changes_nothing(folder):
    folder.ok("init", "--package", "mynet")
    before = folder.files()
    assert "Nothing to do" in folder.ok("init", "--package", "mynet")
    assert folder.files() == before


def test_another_package_in_a_project_is_refused(folder):
    folder.ok("init", "--package", "mynet")
    result = folder.run("init", "--package", "other")
    assert result.exit_code == 2
    assert 'the project of "mynet" already' in result.stderr


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_is_there_stays_byte_by_byte(folder, ending):
    old = ending.join(
        ["# mine", "[project]", 'name   = "x"', "[tool.ruff]", "line-length=99", ""]
    ).encode()
    (folder.root / "pyproject.toml").write_bytes(old)
    output = folder.ok("init", "--package", "mynet", "--yes")
    new = (folder.root / "pyproject.toml").read_bytes()
    assert new.startswith(old)
    assert new.count(b"\n") == new.count(ending.encode())
    tools = table(folder)
    assert tools["ruff"]["line-length"] == 99
    assert tools["ruff"]["lint"]["per-file-ignores"]["specs/**"]
    assert "pytest" not in tools
    assert 'pythonpath = ["."]' in output
    folder.ok("undo")
    assert (folder.root / "pyproject.toml").read_bytes() == old


def test_tables_that_exist_are_not_touched_but_advised(folder):
    folder.write(
        "pyproject.toml",
        "[tool.ruff.lint]\nselect = ['E']\n[tool.pyright]\nstrict = ['x']\n"
        "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    )
    output = folder.ok("init", "--package", "mynet")
    tools = table(folder)
    assert tools["ruff"] == {"lint": {"select": ["E"]}}
    assert tools["pyright"] == {"strict": ["x"]}
    assert "F722" in output
    assert "reportInvalidTypeArguments" in output
    assert "pythonpath" not in output


@pytest.mark.parametrize(
    "text", ["tool = {ruff = {}}\n", "[tool]\nruff = {line-length = 1}\n"]
)
def test_what_cannot_be_extended_is_left_alone(folder, text):
    folder.write("pyproject.toml", text)
    result = folder.run("init", "--package", "mynet")
    assert result.exit_code == 2
    assert "by hand" in result.stderr
    assert folder.text("pyproject.toml") == text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my-net", "a name that Python can import"),
        ("class", "a name that Python can import"),
        ("a/b", "a name that Python can import"),
        ("", "a name that Python can import"),
        ("json", "a module of Python itself"),
        ("jax", "is taken"),
        ("tests", "is taken"),
    ],
)
def test_names_that_will_not_do(folder, name, message):
    result = folder.run("init", "--package", name)
    assert result.exit_code == 2
    assert message in result.stderr
    assert folder.files() == {}


def test_a_package_that_somebody_wrote_is_not_taken_over(folder):
    folder.write("mynet/__init__.py", "mine = 1\n")
    result = folder.run("init", "--package", "mynet")
    assert result.exit_code == 2
    assert "--package mynet.layers --output mynet/layers" in result.stderr
    folder.ok("init", "--package", "mynet.layers", "--output", "mynet/layers")


def test_what_python_leaves_of_a_package_is_no_package(folder):
    folder.write("mynet/nn/__pycache__/x.pyc", "")
    folder.ok("init", "--package", "mynet")


def test_a_source_layout(folder):
    folder.ok("init", "--package", "mynet", "--output", "src/mynet")
    assert table(folder)["pytest"]["ini_options"]["pythonpath"] == ["src"]


def test_without_a_name_and_a_terminal_it_asks_for_the_name(folder):
    result = folder.run("init")
    assert result.exit_code == 2
    assert "mlax-scaffold init mynet" in result.stderr


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_looking_first_writes_nothing(folder, option):
    output = folder.ok("init", "--package", "mynet", option)
    assert "pyproject.toml" in output
    assert folder.files() == {}


def test_broken_toml(folder):
    folder.write("pyproject.toml", "[tool\n")
    result = folder.run("init", "--package", "mynet")
    assert result.exit_code == 2
    assert "not valid TOML" in result.stderr


def test_the_name_needs_no_option(tmp_path, monkeypatch):
    folder = ProjectFolder(tmp_path)
    monkeypatch.chdir(tmp_path)
    folder.ok("init", "mynet")
    assert 'package = "mynet"' in folder.text("pyproject.toml")
    result = folder.run("init", "mynet", "--package", "other")
    assert result.exit_code == 2
    assert 'the package is "mynet" or "other": give one of them' in result.stderr


def test_a_folder_is_no_name(tmp_path, monkeypatch):
    folder = ProjectFolder(tmp_path)
    folder.write("mynet/pyproject.toml", "")
    monkeypatch.chdir(tmp_path)
    for given in ("mynet", "./mynet"):
        result = folder.run("init", given)
        assert result.exit_code == 2
        assert "mlax-scaffold init mynet --project mynet\n" in result.stderr
    result = folder.run("init", "a/b")
    assert "mkdir -p a/b && mlax-scaffold init b --project a/b\n" in result.stderr
    assert folder.files().keys() == {"mynet/pyproject.toml"}
