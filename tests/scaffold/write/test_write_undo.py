"""Undoing the last commits."""

import stat

import pytest

from mlax_scaffold.errors import ConflictError, UsageError
from mlax_scaffold.model.project import GENERATED, Rendered
from mlax_scaffold.write import (
    LOCK_NAME,
    STATE_DIR,
    WriteError,
    commit,
    diff,
    history,
    plan_undo,
    undo,
)


def _mixed(project):
    """A commit that creates, updates and deletes, with directories."""
    project.specs = {"a": "2", "c": "1"}
    extra = [Rendered("new/deep/x.py", f"# {GENERATED}.\n", "specs/c.py")]
    plan = project.plan(
        [*project.outputs(), *extra], extra_writes={"specs/c.py": "spec c\n"}
    )
    assert plan.created
    assert plan.updated
    assert plan.deleted
    return commit(project.root, plan, title="new-layer C", prune=True)


def test_undo_brings_back_the_tree_and_says_what_it_did(generated):
    before = generated.snapshot()
    report = _mixed(generated)
    undone = undo(generated.root)
    assert generated.snapshot() == before
    assert undone.title == "new-layer C"
    assert undone.created == report.deleted
    assert undone.updated == report.updated
    assert undone.deleted == report.created
    assert undone.overwritten == ()
    assert undone.remaining == ("first",)


def test_undo_brings_back_directories_that_were_pruned(project):
    deep = Rendered("gen/sub/deep/x.py", f"# {GENERATED}.\n", "s")
    commit(project.root, project.plan([deep]), title="first")
    before = project.snapshot()
    commit(project.root, project.plan([]), title="prune", prune=True)
    assert not project.path("gen").exists()
    undo(project.root)
    assert project.snapshot() == before


def test_undo_leaves_directories_that_were_there_before(project):
    project.path("gen").mkdir()
    before = project.snapshot()
    project.generate()
    undo(project.root)
    assert project.snapshot() == before


def test_undo_turns_a_directory_back_into_a_file(project):
    flat, deep = (
        Rendered("gen/m", f"{GENERATED} 1\n", "s"),
        Rendered("gen/m/x.py", f"{GENERATED} 2\n", "s"),
    )
    commit(project.root, project.plan([flat]), title="flat", prune=True)
    before = project.snapshot()
    commit(project.root, project.plan([deep]), title="deep", prune=True)
    undo(project.root)
    assert project.snapshot() == before


def test_undo_brings_back_modes(generated):
    generated.path("gen/b.py").chmod(0o750)
    del generated.specs["b"]
    generated.generate()
    undo(generated.root)
    assert stat.S_IMODE(generated.path("gen/b.py").stat().st_mode) == 0o750


def test_undo_brings_back_what_force_overwrote(generated):
    edited = "by hand, with \r\n and é and no end"
    generated.path("gen/a.py").write_bytes(edited.encode())
    generated.edit("gen/b.py", f"# {GENERATED}, by hand, then orphaned\n")
    del generated.specs["b"]
    before = generated.snapshot()
    report = generated.generate(force=True)
    assert report.overwritten == ("gen/a.py", "gen/b.py")
    assert not generated.path("gen/b.py").exists()
    undo(generated.root)
    assert generated.snapshot() == before


def test_edits_since_the_commit_are_refused_and_kept(generated):
    _mixed(generated)
    generated.edit("gen/a.py", "by hand\n")
    generated.path("gen/c.py").unlink()
    generated.edit("gen/b.py", "again\n")
    before = generated.snapshot()
    with pytest.raises(ConflictError) as error:
        undo(generated.root)
    message = str(error.value)
    for line in ("gen/a.py: changed since", "gen/b.py: changed since"):
        assert line in message
    # It was to be removed, and is gone.
    assert "gen/c.py" not in message
    assert "--force" in message
    assert generated.snapshot() == before
    assert [p.title for p in history(generated.root)] == ["new-layer C", "first"]


def test_a_forced_undo_can_be_undone(generated):
    before = generated.snapshot()
    _mixed(generated)
    generated.edit("gen/a.py", "by hand\n")
    edited = generated.snapshot()
    report = undo(generated.root, force=True)
    assert report.overwritten == ("gen/a.py",)
    assert report.remaining == ("undo new-layer C", "first")
    assert tuple(p.title for p in history(generated.root)) == report.remaining
    assert generated.snapshot() == before
    undo(generated.root)
    assert generated.snapshot() == edited


def test_other_line_endings_are_no_conflict(generated):
    before = generated.snapshot()
    _mixed(generated)
    for path in ("gen/a.py", LOCK_NAME):
        place = generated.path(path)
        place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    undo(generated.root)
    assert generated.snapshot() == before


def test_nothing_to_undo_is_an_error(project):
    with pytest.raises(UsageError, match="nothing to undo"):
        undo(project.root)
    with pytest.raises(UsageError, match="nothing to undo"):
        plan_undo(project.root)
    assert [p.title for p in history(project.root)] == []


def test_only_the_last_commits_are_kept(project):
    for number in range(14):
        project.specs["a"] = str(number)
        project.generate(f"commit {number}")
    assert [p.title for p in history(project.root)] == [
        f"commit {n}" for n in range(13, 3, -1)
    ]
    for _ in range(10):
        undo(project.root)
    assert project.text("gen/a.py") == f"# {GENERATED}: a 3 generator-1\n"
    with pytest.raises(UsageError):
        undo(project.root)


def test_the_undo_can_be_shown_first(generated):
    _mixed(generated)
    before = generated.snapshot()
    title, plan = plan_undo(generated.root)
    assert title == "new-layer C"
    assert "specs/c.py" in plan.deleted
    assert f"+# {GENERATED}: a 1 generator-1\n" in diff(plan)
    assert plan.conflicts == ()
    assert generated.snapshot() == before
    generated.edit("gen/a.py", "by hand\n")
    assert [s.path for s in plan_undo(generated.root)[1].conflicts] == ["gen/a.py"]


def test_an_unreadable_record_is_explained(generated):
    (record,) = generated.path(f"{STATE_DIR}/undo").iterdir()
    record.write_text("nonsense")
    with pytest.raises(WriteError, match="cannot be read"):
        undo(generated.root)
