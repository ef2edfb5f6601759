"""`generate`, `check` and `undo` on a project."""

import os
import shutil
import threading

import pytest
from cli_projects import SCALE, execute

from mlax_scaffold.write import LOCK_NAME, mutex

LAYER = "mynet/nn/scale.py"
SPEC = "specs/nn/scale.py"


def verdicts(project, *arguments, status=1):
    files = project.json("check", *arguments, status=status)["files"]
    return {f["path"]: f["verdict"] for f in files if f["verdict"] != "clean"}


def test_generate_writes_everything_and_then_nothing(project):
    first = project.json("generate")
    assert LAYER in first["created"]
    assert "mynet/nn/twice.py" in first["created"]
    before = project.files()
    again = project.json("generate")
    assert (again["created"], again["updated"], again["deleted"]) == ([], [], [])
    assert again["unchanged"] == len(first["created"])
    assert project.files() == before
    assert "up to date" in project.ok("generate")


def test_generate_prints_what_it_did(project):
    output = project.ok("generate")
    assert f"created  {LAYER}" in output
    assert "0 updated, 0 deleted" in output
    assert project.ok("generate", "--quiet") == ""


def test_generate_without_specs_says_how_to_begin(empty):
    assert "mlax-scaffold new-layer" in empty.ok("generate")
    assert set(empty.files()) == {"pyproject.toml"}
    assert "all clean" in empty.ok("check")


def test_check_of_what_was_generated_is_clean(generated):
    assert verdicts(generated, status=0) == {}
    assert verdicts(generated, "--render", status=0) == {}
    assert generated.ok("check", "--quiet") == ""
    assert "all clean" in generated.ok("check")


def test_check_writes_nothing(project):
    before = project.files()
    assert LAYER in verdicts(project)
    assert project.files() == before
    assert not (project.root / ".mlax-scaffold").exists()


def test_each_verdict(generated):
    generated.write(SPEC, SCALE.replace("by element", "of each element"))
    (generated.root / "specs/nn/twice.py").unlink()
    (generated.root / "mynet/py.typed").unlink()
    edited = "mynet/_core/arrays.py"
    generated.write(edited, generated.text(edited) + "# edited\n")
    found = verdicts(generated)
    assert found[LAYER] == "stale spec"
    assert found["mynet/nn/__init__.py"] == "stale spec"
    assert found["mynet/nn/twice.py"] == "orphan"
    assert found["mynet/py.typed"] == "missing"
    assert found[edited] == "edited by hand"
    text = generated.run("check").output
    assert f"{edited}: edited by hand" in text
    assert "mlax-scaffold generate --force" in text


def test_another_generator_makes_files_stale(generated, monkeypatch):
    from mlax_scaffold import render

    original = render.render

    def other(library, project, *rest, **options):
        from dataclasses import replace

        return tuple(
            replace(f, text=f.text + "# new\n") if f.path == LAYER else f
            for f in original(library, project, *rest, **options)
        )

    monkeypatch.setattr("mlax_scaffold.render.render", other)
    monkeypatch.setattr(
        "mlax_scaffold.project.workspace.generator_fingerprint", lambda: "other"
    )
    assert verdicts(generated) == {LAYER: "stale generator"}


def test_another_generator_with_the_same_result_is_clean(generated, monkeypatch):
    monkeypatch.setattr(
        "mlax_scaffold.project.workspace.generator_fingerprint", lambda: "other"
    )
    result = generated.run("check")
    assert result.exit_code == 0
    assert "another version" in result.stderr


def test_render_does_not_believe_the_record(generated, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("mlax_scaffold.render.render", fail)
    assert generated.run("check").exit_code == 0
    assert generated.run("check", "--render").exit_code == 3


def test_check_for_github(generated):
    generated.write(LAYER, "edited = 1\n")
    result = generated.run("check", "--format", "github")
    assert result.exit_code == 1
    assert result.stdout.startswith(f"::error file={LAYER}::edited by hand")


def test_an_edited_file_is_not_overwritten(generated):
    generated.write(LAYER, "mine = 1\n")
    result = generated.run("generate")
    assert result.exit_code == 1
    assert LAYER in result.stdout
    assert "--force" in result.stdout
    assert generated.text(LAYER) == "mine = 1\n"
    forced = generated.ok("generate", "--force")
    assert "edited by hand" in forced
    assert verdicts(generated, status=0) == {}
    generated.ok("undo")
    assert generated.text(LAYER) == "mine = 1\n"


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_looking_first_writes_nothing(generated, option):
    generated.write(SPEC, SCALE.replace("by element", "of each element"))
    before = generated.files()
    output = generated.ok("generate", option)
    assert LAYER in output
    assert ("+    # of each" in output or "of each element" in output) == (
        option == "--diff"
    )
    assert generated.files() == before


def test_looking_first_tells_of_conflicts(generated):
    generated.write(LAYER, "mine = 1\n")
    assert generated.run("generate", "--dry-run").exit_code == 1
    assert generated.run("generate", "--dry-run", "--force").exit_code == 0


def test_all_errors_of_all_specs_come_in_one_run(project):
    project.write(SPEC, SCALE.replace("Size", "Sise").replace("ones", "onez"))
    project.write("specs/nn/twice.py", "x = 1\n")
    before = project.files()
    result = project.run("generate")
    assert result.exit_code == 1
    assert f"{SPEC}:1:" in result.stdout
    assert "specs/nn/twice.py:1:1" in result.stdout
    assert "^" in result.stdout
    assert "Nothing was changed" in result.stdout
    assert project.files() == before

    errors = project.json("generate", status=1)["errors"]
    assert {e["path"] for e in errors} == {SPEC, "specs/nn/twice.py"}
    assert all(e["line"] >= 1 and e["message"] for e in errors)
    github = project.run("generate", "--format", "github")
    assert github.exit_code == 1
    assert f"::error file={SPEC},line=1,col=" in github.stdout
    assert project.run("check").exit_code == 1


def test_the_same_bytes_whatever_the_hash_seed_and_the_folder(project, tmp_path):
    other = tmp_path / "elsewhere" / "copy"
    shutil.copytree(project.root, other)
    first = execute(["generate", "--no-trial"], project.root, PYTHONHASHSEED="1")
    second = execute(["generate", "--no-trial"], other / "specs/nn", PYTHONHASHSEED="2")
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    here = project.files()
    project.root = other
    assert project.files() == here
    assert LAYER in here


def test_deleted_outputs_come_back_the_same(generated):
    before = generated.files()
    for folder in ("mynet", "tests/generated", "docs/reference"):
        shutil.rmtree(generated.root / folder, ignore_errors=True)
    assert generated.files() != before
    generated.ok("generate")
    assert generated.files() == before


@pytest.mark.parametrize("damage", ["", "no record\n", "<<<<<<< ours\n"])
def test_a_damaged_record_is_a_finding_that_generate_heals(generated, damage):
    before = generated.files()
    lock = generated.root / LOCK_NAME
    lock.write_text(damage + (lock.read_text() if damage.startswith("<") else ""))
    result = generated.run("check")
    assert result.exit_code == 1
    assert LOCK_NAME in result.stdout
    generated.ok("generate")
    assert generated.files() == before


def test_a_missing_record_is_a_finding(generated):
    (generated.root / LOCK_NAME).unlink()
    result = generated.run("check")
    assert result.exit_code == 1
    assert f"{LOCK_NAME}: it is missing" in result.stdout


def test_a_record_of_other_specs_is_a_finding(generated):
    generated.write(SPEC, f"# A comment that no file follows from.\n{SCALE}")
    result = generated.run("check")
    assert result.exit_code == 1
    assert f"{LOCK_NAME}: it does not record the specs" in result.stdout
    generated.ok("generate")
    generated.ok("check")


def test_two_runs_at_once_do_not_mix(project):
    held, release = threading.Event(), threading.Event()

    def hold():
        with mutex(project.root):
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(30)
        result = project.run("generate", "--wait", "0")
    finally:
        release.set()
        thread.join()
    assert result.exit_code == 1
    assert "another mlax-scaffold is at work" in result.stdout
    assert LAYER not in project.files()
    project.ok("generate")


def test_a_read_only_project_is_left_alone(project, monkeypatch):
    before = project.files()
    original = os.replace

    def refuse(source, target, **options):
        if ".mlax-scaffold" in str(target):
            raise OSError(30, "Read-only file system", str(target))
        original(source, target, **options)

    monkeypatch.setattr(os, "replace", refuse)
    result = project.run("generate")
    assert result.exit_code == 3
    assert "read-only" in result.stderr
    assert "fault of mlax-scaffold" not in result.stderr
    assert project.files() == before


def test_an_interrupted_run_is_told_by_check_and_completed_by_generate(
    project, monkeypatch
):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mlax_scaffold.write.transaction.finish", die)
        assert project.run("generate").exit_code == 130
    before = project.files()
    for arguments in (["check"], ["generate", "--dry-run"]):
        result = project.run(*arguments)
        assert result.exit_code == 1
        assert "interrupted" in result.stdout
    assert project.files() == before
    result = project.run("generate")
    assert result.exit_code == 0
    assert 'Completed "generate"' in result.stderr
    assert verdicts(project, status=0) == {}


def test_undo_brings_back_what_was_there(project):
    before = project.files()
    project.ok("generate")
    preview = project.ok("undo", "--dry-run")
    assert f"deleted  {LAYER}" in preview
    output = project.ok("undo")
    assert 'Undid "generate"' in output
    assert project.files() == before
    result = project.run("undo")
    assert result.exit_code == 2
    assert "nothing to undo" in result.stderr


def test_undo_refuses_over_an_edit(generated):
    generated.write(LAYER, "mine = 1\n")
    before = generated.files()
    result = generated.run("undo")
    assert result.exit_code == 1
    assert LAYER in result.stdout
    assert generated.files() == before
    generated.ok("undo", "--force")
    assert not (generated.root / LAYER).exists()
    generated.ok("undo")
    assert generated.text(LAYER) == "mine = 1\n"


def test_built_in_specs_come_along(empty):
    empty.write(
        "specs/nn/affine.py",
        SCALE.replace("Scale", "Affine")
        .replace(
            "\n\n\nclass",
            "\nfrom mlax_scaffold.specs.nn.linear import Linear\n\n\nclass",
        )
        .replace("trainable(ones, (self.features,))", "Linear(self.features, 3)")
        .replace("x * self.weight", "self.weight(x)")
        .replace('Float["*batch features"]:', 'Float["*batch 3"]:')
        .replace("ones, trainable", "function")
        .replace(", function", ""),
    )
    created = empty.json("generate")["created"]
    assert "mynet/nn/linear.py" in created
    assert "from mlax import" not in empty.text("mynet/nn/affine.py")
    lock = empty.text(LOCK_NAME)
    assert '"mlax_scaffold/specs/nn/linear.py"' in lock
    assert "specs/nn/conv.py" not in lock
    assert verdicts(empty, status=0) == {}
