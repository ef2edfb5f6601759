"""`check`: a verdict for each file, specs that no one reads, and what a crash is not."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_projects import SCALE, ProjectFolder, on_a_terminal

from mlax_scaffold.project import verdicts
from mlax_scaffold.write import LOCK_NAME, Verdict, mutex

SCHEMA = Path(__file__).parents[3] / "docs" / "check.schema.json"
KEYWORDS = {
    *("$schema", "title", "description", "type", "required", "additionalProperties"),
    *("properties", "items", "enum"),
}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
TYPES |= {"integer": int, "null": type(None)}
SPEC, LAYER = "specs/nn/scale.py", "mynet/nn/scale.py"


def mistakes(value: Any, schema: Mapping[str, Any], place: str = "it") -> list[str]:
    """How a value differs from a schema of those keywords."""
    assert schema.keys() <= KEYWORDS
    found = []
    named = schema["type"]
    kinds = named if isinstance(named, list) else [named]
    if not isinstance(value, tuple(TYPES[kind] for kind in kinds)):
        return [f"{place} is no {named}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place} is {value!r}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{place} has no {k}" for k in schema["required"] if k not in value]
        closed = schema.get("additionalProperties") is False
        found += [f"{place} has {k}" for k in value if closed and k not in known]
        for key in value.keys() & known.keys():
            found += mistakes(value[key], known[key], f"{place}.{key}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += mistakes(item, schema["items"], f"{place}[{index}]")
    return found


def document(project: ProjectFolder, *options: str, status: int) -> Any:
    """What `check` prints for programs, which the schema describes."""
    found = project.json("check", *options, status=status)
    assert mistakes(found, json.loads(SCHEMA.read_text())) == []
    return found


def everything(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of a folder, with its inode, time of change and content."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


def test_the_schema_has_the_verdicts_that_there_are():
    files = json.loads(SCHEMA.read_text())["properties"]["files"]
    known = files["items"]["properties"]["verdict"]["enum"]
    assert known == [verdict.value for verdict in Verdict]


def test_the_validator_sees_mistakes():
    schema = json.loads(SCHEMA.read_text())
    wrong = {"clean": 1, "files": [{"path": "a", "verdict": "fine"}], "x": ""}
    assert len(mistakes(wrong, schema)) == 8


def test_the_document_of_each_state_is_as_described(generated: ProjectFolder):
    before = everything(generated.root)
    assert document(generated, status=0)["clean"]
    assert everything(generated.root) == before

    generated.write(SPEC, SCALE.replace("by element", "of each element"))
    generated.write("specs/layers/alpha.py", SCALE)
    (generated.root / "specs/nn/twice.py").unlink()
    (generated.root / "mynet/py.typed").unlink()
    edited = generated.text("mynet/nn/__init__.py").replace("Scale", "Shape")
    generated.write("mynet/nn/__init__.py", edited)
    before = everything(generated.root)
    found = document(generated, status=1)
    assert {f["verdict"] for f in found["files"]} == {
        *("clean", "stale spec", "edited by hand", "missing", "orphan", "not read")
    }
    assert all(bool(f["advice"]) == (f["verdict"] != "clean") for f in found["files"])
    assert everything(generated.root) == before

    generated.write(SPEC, "class Scale(Layer:\n")
    before = everything(generated.root)
    found = document(generated, status=1)
    assert (found["files"], found["errors"][0]["path"]) == ([], SPEC)
    assert everything(generated.root) == before


STRAYS = {
    "specs/layers/alpha.py": SCALE,
    "specs/alpha.py": SCALE.replace("Layer", "Block"),
    "specs/nn/inner/alpha.py": SCALE,
    "specs/NN/alpha.py": SCALE,
    "specs/nn/__init__.py": SCALE,
    "specs/functions/f.py": "from mlax_scaffold.spec import function\n\n\n@function\n"
    "def f(x):\n    return x\n",
    "specs/optimizers/a.py": "from mlax_scaffold.specs.optim.adam import Adam\n\n\n"
    "class Slow(Adam):\n    pass\n",
}


def _places(path: str) -> str:
    return (
        "block"
        if path == "specs/alpha.py"
        else "functional"
        if "/f.py" in path
        else "nn"
    )


@pytest.fixture
def empty_read(empty: ProjectFolder) -> ProjectFolder:
    """A project of which nothing is read."""
    for path, text in STRAYS.items():
        empty.write(path, text)
    # These define nothing, or are imported.
    empty.write("specs/helpers.py", "import mlax_scaffold\n\nEPSILON = 1e-5\n")
    empty.write("specs/notes/.hidden/alpha.py", SCALE)
    empty.write("specs/__pycache__/alpha.py", SCALE)
    return empty


def test_a_spec_that_no_one_reads_is_a_finding(empty_read: ProjectFolder):
    found = document(empty_read, status=1)["files"]
    assert {f["path"]: f["verdict"] for f in found} == dict.fromkeys(STRAYS, "not read")
    for file in found:
        assert file["detail"].endswith(f"move it to specs/{_places(file['path'])}")
    text = empty_read.run("check").output
    assert "specs/layers/alpha.py: not read (specs are read from specs/nn, " in text
    marks = empty_read.run("check", "--format", "github").output.splitlines()
    assert "::error file=specs/layers/alpha.py::not read" in "\n".join(marks)
    assert len(marks) == len(STRAYS)


@pytest.mark.parametrize("command", ["generate", "list"])
def test_other_commands_warn_of_it(empty_read: ProjectFolder, command: str):
    result = empty_read.run(command)
    assert result.exit_code == 0
    assert result.stderr.count("is not read") == len(STRAYS)


def test_what_specs_import_is_read(empty: ProjectFolder):
    empty.write("specs/layers/alpha.py", SCALE)
    empty.write("specs/nn/b.py", "from specs.layers.alpha import Scale\n")
    assert verdicts.Workspace.find(".").strays == []


@pytest.mark.parametrize("style", ["text", "json", "github"])
@pytest.mark.parametrize(
    "error",
    [ValueError("five"), OSError(5, "Input/output error"), RecursionError(), OSError()],
    ids=repr,
)
def test_a_crash_is_not_a_finding(
    empty: ProjectFolder,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    style: str,
):
    def crash(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(verdicts.Workspace, "examine", crash)
    result = empty.run("check", "--format", style)
    assert (result.exit_code, result.stdout) == (3, "")
    assert type(error).__name__ in result.stderr


def test_a_check_beside_a_run_reads_one_tree(
    empty: ProjectFolder, monkeypatch: pytest.MonkeyPatch
):
    """What was read while files were moved is read again."""
    runs = iter(["first", "second"])
    examine = verdicts.Workspace.examine

    def meanwhile(self: verdicts.Workspace, **options: Any) -> Any:
        found = examine(self, **options)
        if run := next(runs, None):
            empty.write(LOCK_NAME, f'["generator", "{run}"]\n')
        return found

    monkeypatch.setattr(verdicts.Workspace, "examine", meanwhile)
    document(empty, status=0)
    assert next(runs, None) is None


def test_a_check_gives_up_where_runs_never_end(
    empty: ProjectFolder, monkeypatch: pytest.MonkeyPatch
):
    number = iter(range(100))
    monkeypatch.setattr(
        verdicts.Workspace,
        "examine",
        lambda *_, **__: empty.write(LOCK_NAME, f'["generator", "{next(number)}"]\n'),
    )
    workspace: Any = verdicts.Workspace
    monkeypatch.setattr(verdicts, "_verdicts", lambda *_: workspace.examine())
    found = document(empty, "--wait", "0", status=1)
    assert "keep changing" in found["errors"][0]["message"]


@pytest.mark.parametrize("command", ["generate", "undo", "init"])
def test_a_second_run_waits_for_the_first(empty: ProjectFolder, command: str):
    """However many wait: each has its turn."""
    arguments = [command, *(["--package", "mynet"] if command == "init" else [])]
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with mutex(empty.root):
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    refused = empty.run(*arguments, "--wait", "0.05")
    threading.Timer(0.2, release.set).start()
    waited = empty.run(*arguments)
    thread.join()
    assert refused.exit_code == 1
    assert f"is at work on {os.path.realpath(empty.root)} (process" in refused.stdout
    assert "at work" not in waited.output
    assert waited.exit_code == {"generate": 0, "undo": 2, "init": 0}[command]


def test_a_bar_shows_on_a_terminal_what_is_waited_for(empty: ProjectFolder):
    with mutex(empty.root):
        status, shown = on_a_terminal(empty.root, ["generate", "--wait", "1.5"])
    assert status == 1
    assert (
        f"Waiting for another mlax-scaffold (process {os.getpid()}) ... [###" in shown
    )
    assert " of 2 s" in shown
