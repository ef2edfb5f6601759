"""Plans and commits: what is written, what is not, and what is refused."""

import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlax_scaffold.errors import ConflictError
from mlax_scaffold.model.project import GENERATED, Rendered
from mlax_scaffold.write import (
    LOCK_NAME,
    STATE_DIR,
    Verdict,
    WriteError,
    commit,
    diff,
    digest,
    history,
)


def _stats(project):
    return {
        path: (project.path(path).stat().st_ino, project.path(path).stat().st_mtime_ns)
        for path, data in project.snapshot().items()
        if data is not None
    }


def test_the_first_generation_writes_everything_and_the_lock(project):
    plan = project.plan()
    assert plan.created == tuple(sorted(o.path for o in project.outputs()))
    assert (plan.updated, plan.deleted, plan.unchanged) == ((), (), ())
    report = commit(project.root, plan, title="first")
    assert report.created == plan.created
    for output in project.outputs():
        assert project.text(output.path) == output.text
    lock = project.lock()
    assert lock.specs == project.hashes()
    assert {p: r.sha256 for p, r in lock.outputs.items()} == {
        o.path: digest(o.text) for o in project.outputs()
    }
    assert not project.staged()
    assert project.text(f"{STATE_DIR}/.gitignore") == "*\n"


def test_planning_writes_nothing(project):
    project.plan()
    assert list(project.root.iterdir()) == []


def test_nothing_is_written_when_all_is_up_to_date(generated):
    before = _stats(generated)
    assert generated.plan().is_empty
    report = generated.generate()
    assert (report.created, report.updated, report.deleted) == ((), (), ())
    assert _stats(generated) == before
    assert [p.title for p in history(generated.root)] == ["first"]


def test_only_what_changed_is_written(generated):
    before = _stats(generated)
    generated.specs["a"] = "2"
    report = generated.generate()
    assert report.updated == ("docs/ref/a.md", "gen/a.py", "tests/test_a.py")
    after = _stats(generated)
    written = {path for path in after if after[path] != before[path]}
    assert written == {*report.updated, LOCK_NAME}


def test_a_new_generator_with_the_same_output_writes_the_lock_alone(generated):
    before = _stats(generated)
    outputs = generated.outputs()
    generated.fingerprint = "generator-2"
    plan = generated.plan(outputs)
    assert plan.changes == ()
    assert not plan.is_empty
    commit(generated.root, plan, title="generate")
    after = _stats(generated)
    assert {path for path in after if after[path] != before[path]} == {LOCK_NAME}
    assert generated.lock().fingerprint == "generator-2"


def test_orphans_are_pruned_with_the_directories_that_they_leave_empty(project):
    extra = Rendered("gen/sub/deep/x.py", f"# {GENERATED}.\n", "specs/x.py")
    commit(project.root, project.plan([*project.outputs(), extra]), title="first")
    cache = project.path("gen/sub/deep/__pycache__")
    cache.mkdir()
    (cache / "x.cpython-311.pyc").write_bytes(b"compiled")
    plan = project.plan()
    assert plan.deleted == ("gen/sub/deep/x.py",)
    commit(project.root, plan, title="prune", prune=True)
    assert not project.path("gen/sub").exists()
    assert project.path("gen/a.py").exists()


def test_a_directory_with_somebodys_file_stays(project):
    extra = Rendered("gen/sub/x.py", f"# {GENERATED}.\n", "specs/x.py")
    commit(project.root, project.plan([*project.outputs(), extra]), title="first")
    project.edit("gen/sub/mine.txt", "mine")
    project.generate()
    assert not project.path("gen/sub/x.py").exists()
    assert project.text("gen/sub/mine.txt") == "mine"


def test_files_that_nobody_generated_are_left_alone(generated):
    generated.edit("gen/mine.py", "mine")
    del generated.specs["a"]
    assert generated.generate().deleted == (
        "docs/ref/a.md",
        "gen/a.py",
        "tests/test_a.py",
    )
    assert generated.text("gen/mine.py") == "mine"


@pytest.mark.parametrize("kind", ["edited", "untracked", "orphan"])
def test_somebodys_work_is_refused_and_kept(generated, kind):
    path = "gen/a.py"
    if kind == "untracked":
        path = "gen/c.py"
        generated.specs["c"] = "1"
    elif kind == "orphan":
        del generated.specs["a"]
    generated.edit(path, f"# {GENERATED}, by hand\n")
    generated.specs["b"] = "2"
    before = generated.snapshot()
    with pytest.raises(ConflictError) as error:
        generated.generate()
    message = str(error.value)
    assert f"\n  {path}: " in message
    assert "1 file would" in message
    assert "--force" in message
    assert "spec" in message
    assert generated.snapshot() == before


def test_every_conflict_is_listed(generated):
    generated.edit("gen/a.py", "by hand\n")
    generated.edit("docs/ref/b.md", "by hand\n")
    with pytest.raises(
        ConflictError, match=r"2 files would(.|\n)*ref/b.md(.|\n)*a\.py"
    ):
        generated.generate()


def test_an_edit_after_the_plan_is_refused_and_kept(generated):
    generated.specs["a"] = "2"
    plan = generated.plan()
    generated.edit("gen/a.py", "by hand, just now\n")
    before = generated.snapshot()
    with pytest.raises(
        ConflictError, match=r"gen/a\.py\nNothing was changed. Run agai"
    ):
        commit(generated.root, plan, title="generate")
    assert generated.snapshot() == before
    assert not generated.staged()


def test_an_edit_while_staging_is_refused_and_kept(generated, monkeypatch):
    generated.specs["a"] = "2"
    plan = generated.plan()
    mkdir = os.mkdir

    def edit_meanwhile(path, *args):
        mkdir(path, *args)
        if str(path).endswith("staging"):
            generated.edit("gen/a.py", "by hand, just now\n")

    monkeypatch.setattr(os, "mkdir", edit_meanwhile)
    with pytest.raises(ConflictError, match=r"gen/a\.py"):
        commit(generated.root, plan, title="generate")
    assert generated.text("gen/a.py") == "by hand, just now\n"
    assert generated.text("gen/b.py") == f"# {GENERATED}: b 1 generator-1\n"
    assert not generated.staged()


def test_an_edit_after_the_commit_point_is_kept_and_reported(generated, monkeypatch):
    generated.specs["a"] = "2"
    plan = generated.plan()
    place = os.replace

    def edit_meanwhile(source, target):
        place(source, target)
        if str(target).endswith("journal"):
            generated.edit("gen/a.py", "by hand, just now\n")

    monkeypatch.setattr(os, "replace", edit_meanwhile)
    report = commit(generated.root, plan, title="generate")
    assert report.kept == ("gen/a.py",)
    assert report.updated == ("docs/ref/a.md", "tests/test_a.py")
    assert generated.text("gen/a.py") == "by hand, just now\n"
    statuses = {s.path: s.verdict for s in generated.plan().statuses}
    assert statuses["gen/a.py"] is Verdict.EDITED


def test_a_plan_that_another_run_overtook_is_refused(generated):
    generated.specs["a"] = "2"
    plan = generated.plan()
    generated.specs["b"] = "2"
    generated.generate()
    with pytest.raises(ConflictError, match=r"mlax-scaffold\.lock"):
        commit(generated.root, plan, title="late")


def test_force_overwrites_and_says_so(generated):
    generated.edit("gen/a.py", "by hand\n")
    report = generated.generate(force=True)
    assert report.overwritten == ("gen/a.py",)
    assert report.updated == ("gen/a.py",)
    assert generated.text("gen/a.py") == f"# {GENERATED}: a 1 generator-1\n"


def test_extra_files_are_part_of_the_commit(generated):
    generated.edit("specs/b.py", "spec b\n")
    generated.edit("pyproject.toml", "[tool]\n")
    generated.specs["c"] = "1"
    del generated.specs["b"]
    plan = generated.plan(
        extra_writes={"specs/c.py": "spec c\n"},
        extra_updates={"pyproject.toml": "[tool.new]\n"},
        extra_deletes=["specs/b.py", "specs/never.py"],
    )
    assert "specs/c.py" in plan.created
    assert "pyproject.toml" in plan.updated
    assert "specs/b.py" in plan.deleted
    assert plan.conflicts == ()
    commit(generated.root, plan, title="swap", prune=True)
    assert generated.text("specs/c.py") == "spec c\n"
    assert generated.text("pyproject.toml") == "[tool.new]\n"
    assert not generated.path("specs/b.py").exists()
    assert set(generated.lock().outputs) == {o.path for o in generated.outputs()}


def test_an_extra_file_does_not_overwrite_what_exists(generated):
    generated.edit("specs/c.py", "somebody's spec\n")
    plan = generated.plan(extra_writes={"specs/c.py": "template\n"})
    with pytest.raises(ConflictError, match=r"specs/c\.py: not generated"):
        commit(generated.root, plan, title="new-layer C", prune=True)
    same = generated.plan(extra_writes={"specs/c.py": "somebody's spec\n"})
    assert same.is_empty


def test_a_generated_file_can_be_taken_over_by_hand(generated):
    text = generated.text("gen/a.py")
    outputs = [o for o in generated.outputs() if o.path != "gen/a.py"]
    plan = generated.plan(outputs, extra_writes={"gen/a.py": text})
    assert plan.deleted == ()
    commit(generated.root, plan, title="take over")
    assert generated.text("gen/a.py") == text
    assert "gen/a.py" not in generated.lock().outputs


def test_modes_are_kept(generated):
    generated.path("gen/a.py").chmod(0o754)
    generated.specs["a"] = "2"
    generated.generate()
    assert stat.S_IMODE(generated.path("gen/a.py").stat().st_mode) == 0o754


def test_a_damaged_lock_heals(generated):
    sound = generated.text(LOCK_NAME)
    generated.edit(LOCK_NAME, "nonsense")
    plan = generated.plan()
    assert (plan.changes, plan.conflicts) == ((), ())
    commit(generated.root, plan, title="heal")
    assert generated.text(LOCK_NAME) == sound


def test_a_merged_lock_heals_and_needs_no_force(generated):
    ours = generated.text(LOCK_NAME)
    generated.specs["a"] = "2"
    generated.generate()
    theirs = generated.text(LOCK_NAME)
    generated.edit(LOCK_NAME, f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n")
    generated.edit("gen/a.py", f"# {GENERATED}: a 1 generator-1\n")
    generated.generate()
    assert generated.text("gen/a.py") == f"# {GENERATED}: a 2 generator-1\n"
    assert generated.text(LOCK_NAME) == theirs


def test_a_merged_lock_still_protects_edits(generated):
    generated.edit(LOCK_NAME, "<<<<<<< HEAD\n" + generated.text(LOCK_NAME))
    generated.edit("gen/a.py", "by hand\n")
    with pytest.raises(ConflictError, match=r"gen/a\.py: edited by hand"):
        generated.generate()


def test_a_file_can_become_a_directory_and_back(project):
    flat, deep = (
        Rendered("gen/m", f"{GENERATED} 1\n", "s"),
        Rendered("gen/m/x.py", f"{GENERATED} 2\n", "s"),
    )
    commit(project.root, project.plan([flat]), title="flat", prune=True)
    before = project.snapshot()
    commit(project.root, project.plan([deep]), title="deep", prune=True)
    assert project.text("gen/m/x.py") == deep.text
    project.path("gen/m/x.py").unlink()
    project.path("gen/m").rmdir()
    commit(project.root, project.plan([flat]), title="flat", prune=True)
    assert project.snapshot() == before


def test_the_diff_shows_what_a_commit_would_change(generated):
    assert diff(generated.plan()) == ""
    generated.specs = {"a": "2"}
    generated.path("gen/__init__.py").unlink()
    generated.edit("docs/ref/a.md", "no newline")
    text = diff(generated.plan())
    assert "--- a/gen/a.py\n+++ b/gen/a.py\n" in text
    assert f"-# {GENERATED}: a 1 generator-1\n+# {GENERATED}: a 2 generator-1\n" in text
    assert "--- /dev/null\n+++ b/gen/__init__.py\n" in text
    assert "--- a/gen/b.py\n+++ /dev/null\n" in text
    assert "-no newline\n\\ No newline at end of file\n+# Generated by" in text
    assert LOCK_NAME not in text


def test_the_diff_shows_empty_files(project):
    assert diff(project.plan([Rendered("gen/py.typed", "", "")])) == (
        "new empty file gen/py.typed\n"
    )


@pytest.mark.parametrize(
    "path",
    [
        *("", "../x", "/etc/x", "a/../../x", "a//b", "./a", "a/", "a\\b", "C:/x"),
        *("a\0b", "\udc80", ".mlax-scaffold/x", ".git/hooks/x"),
    ],
)
def test_paths_that_lead_elsewhere_are_refused(project, path):
    with pytest.raises(WriteError, match="refusing to touch"):
        project.plan([Rendered(path, "x", "")])
    with pytest.raises(WriteError, match="refusing to touch"):
        project.plan(extra_writes={path: "x"})
    with pytest.raises(WriteError, match="refusing to touch"):
        project.plan(extra_deletes=[path])


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a", "a"], "written twice"),
        (["gen/Linear.py", "gen/linear.py"], "case does not count"),
        (["gen/a", "gen/a/b"], "gen/a would be a file, and a directory for gen/a/b"),
        ([LOCK_NAME], "own record"),
    ],
)
def test_paths_that_collide_are_refused(project, paths, message):
    with pytest.raises(WriteError, match=message):
        project.plan([Rendered(path, "x", "") for path in paths])


def test_a_symbolic_link_out_of_the_root_is_refused(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    project.path("gen").symlink_to(outside)
    with pytest.raises(WriteError, match=r"gen/__init__\.py: its directory is a symbo"):
        project.generate()
    assert list(outside.iterdir()) == []


def test_a_symbolic_link_in_the_place_of_a_file_is_refused(generated, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "a.py"
    outside.write_text("outside\n")
    generated.path("gen/a.py").unlink()
    generated.path("gen/a.py").symlink_to(outside)
    with pytest.raises(WriteError, match=r"gen/a\.py: it is a symbolic link"):
        generated.generate(force=True)
    assert outside.read_text() == "outside\n"
    assert generated.path("gen/a.py").is_symlink()


def test_a_link_to_a_directory_within_the_root_is_followed(project):
    project.path("elsewhere").mkdir()
    project.path("gen").symlink_to("elsewhere")
    project.generate()
    assert project.text("elsewhere/a.py") == f"# {GENERATED}: a 1 generator-1\n"
    assert project.path("gen").is_symlink()


def test_two_paths_of_one_file_are_refused(project):
    project.path("one").mkdir()
    project.path("two").symlink_to("one")
    plan = project.plan([Rendered("one/x", "1", ""), Rendered("two/x", "2", "")])
    with pytest.raises(WriteError, match="same file"):
        commit(project.root, plan, title="first")


def test_the_state_directory_must_not_be_a_link(project, tmp_path_factory):
    project.path(STATE_DIR).symlink_to(tmp_path_factory.mktemp("outside"))
    with pytest.raises(WriteError, match="must be a directory in the project"):
        project.generate()


texts = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d/a", "d/b", "d/e/a"]),
    st.sampled_from(["", "1\n", "2\n"]),
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(texts, min_size=1, max_size=4))
def test_any_sequence_of_generations_gives_the_last_and_undoes_to_nothing(
    new_project, generations
):
    from mlax_scaffold.write import undo

    project = new_project()
    trees = [project.snapshot()]
    for number, files in enumerate(generations):
        project.fingerprint = str(number)
        outputs = [
            Rendered(f"out/{path}", f"{GENERATED} {text}", "")
            for path, text in files.items()
        ]
        commit(project.root, project.plan(outputs), title=str(number))
        assert {
            path: data.decode()
            for path, data in project.snapshot().items()
            if data is not None and path != LOCK_NAME
        } == {output.path: output.text for output in outputs}
        trees.append(project.snapshot())
    for number in reversed(range(len(generations))):
        assert project.snapshot() == trees[number + 1]
        assert undo(project.root).title == str(number)
    assert project.snapshot() == trees[0]
