"""Every call of the operating system fails once, or is the last one before a kill."""

import builtins
import errno
import os
import shutil
from contextlib import contextmanager, suppress

import pytest

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.project import GENERATED, Rendered
from mlax_scaffold.write import (
    LOCK_NAME,
    STATE_DIR,
    Verdict,
    WriteError,
    commit,
    digest,
    history,
    recover,
    undo,
)

CALLS = [
    *((os, name) for name in ("replace", "link", "mkdir", "unlink", "rmdir", "chmod")),
    *((os, name) for name in ("fsync", "open", "listdir")),
    (builtins, "open"),
]


class Killed(BaseException):
    """Stands for the end of the process: from then on no call does anything."""


class Injector:
    """Lets the n-th call below a root fail, and perhaps all that follow."""

    def __init__(self, monkeypatch, root, nth, make_error, *, lasting):
        self.calls = 0
        self._root, self._nth = os.path.realpath(root), nth
        self._make_error, self._lasting = make_error, lasting
        for module, name in CALLS:
            monkeypatch.setattr(module, name, self._wrap(getattr(module, name)))

    def _wrap(self, function):
        def wrapped(*args, **kwargs):
            # A descriptor, as for fsync, is one that the writer opened.
            if isinstance(args[0], int) or str(args[0]).startswith(self._root):
                self.calls += 1
                if self.calls == self._nth or (
                    self._lasting and self.calls > self._nth
                ):
                    raise self._make_error(str(args[0]))
            return function(*args, **kwargs)

        return wrapped


def _commit(project):
    """A commit that creates, updates and deletes, with directories."""
    doomed = Rendered("old/deep/x.py", f"# {GENERATED}.\n", "specs/b.py")
    commit(project.root, project.plan([*project.outputs(), doomed]), title="first")
    project.specs = {"a": "2", "c": "1"}
    fresh = Rendered("new/deep/x.py", f"# {GENERATED}.\n", "specs/c.py")
    plan = project.plan(
        [*project.outputs(), fresh], extra_writes={"specs/c.py": "spec c\n"}
    )
    return lambda root: commit(root, plan, title="second", prune=True)


def _commit_over_bytecode(project):
    """That commit, where Python compiled the module that goes."""
    operate = _commit(project)
    compiled = project.path("old/deep/__pycache__/x.cpython-311.pyc")
    compiled.parent.mkdir()
    compiled.write_bytes(b"compiled")
    return operate


def _undo(project):
    """The undo of that."""
    _commit(project)(project.root)
    return undo


def _recovery(project):
    """Completing that after a kill right after the commit point."""
    operate = _commit(project)
    with dying_at_the_commit_point(), pytest.raises(Killed):
        operate(project.root)
    return recover


@contextmanager
def dying_at_the_commit_point():
    """Within the block, a process ends as soon as its transaction is committed."""
    place = os.replace

    def replace(source, target):
        place(source, target)
        if str(target).endswith("journal"):
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", replace)
        yield


class Trials:
    """An operation that is run again and again, each time with another call failing."""

    def __init__(self, monkeypatch, new_project, prepare):
        self._patch, self._new_project = monkeypatch, new_project
        self._template = new_project()
        self._operate = prepare(self._template)
        self.old = state(self._template)
        done = self._copy()
        self._operate(done.root)
        self.new = state(done)

    def _copy(self):
        project = self._new_project()
        shutil.copytree(self._template.root, project.root, dirs_exist_ok=True)
        return project

    def each_call(self, make_error, *, lasting):
        """Yields the number of the call, the project and the error that came of it."""
        for nth in range(1, 10_000):
            project, error = self._copy(), None
            with self._patch.context() as patch:
                injector = Injector(
                    patch, project.root, nth, make_error, lasting=lasting
                )
                try:
                    self._operate(project.root)
                except (MlaxScaffoldError, Killed, KeyboardInterrupt) as raised:
                    error = raised
            if injector.calls < nth:
                assert nth > 50, "the operation makes more calls than were seen"
                return
            yield nth, project, error
            shutil.rmtree(project.root)


@pytest.fixture
def trials(monkeypatch, new_project, prepare):
    """The trials of the operation that the test is parametrized with."""
    return Trials(monkeypatch, new_project, prepare)


def state(project):
    """The tree, and what can be undone."""
    return project.snapshot(), [p.title for p in history(project.root)]


def check_lock(project):
    """Whether the lock agrees with the tree."""
    for path, recorded in project.lock().outputs.items():
        assert digest(project.path(path).read_bytes()) == recorded.sha256


def _full(path):
    return OSError(errno.ENOSPC, "No space left on device", path)


@pytest.mark.parametrize("prepare", [_commit, _undo])
def test_one_failing_call_changes_nothing_or_does_not_matter(trials):
    failures = 0
    for nth, project, error in trials.each_call(_full, lasting=False):
        assert error is None or isinstance(error, WriteError), (nth, error)
        assert state(project) == (trials.old if error else trials.new), nth
        assert error is None or "disk is full" in str(error)
        assert recover(project.root) is None
        assert not project.staged(), nth
        failures += error is not None
    assert failures > 30


@pytest.mark.parametrize("prepare", [_recovery])
def test_one_failing_call_of_a_recovery_can_be_made_up_for(trials):
    failures = 0
    for nth, project, error in trials.each_call(_full, lasting=False):
        assert error is None or isinstance(error, WriteError), (nth, error)
        assert state(project) == (trials.old if error else trials.new), nth
        # What could not even be begun is completed now, else it was taken back.
        pending = project.staged()
        recover(project.root)
        assert state(project) == (trials.new if pending or not error else trials.old)
        failures += error is not None
    assert failures > 10


@pytest.mark.parametrize("prepare", [_commit, _recovery])
def test_when_everything_fails_from_some_call_on_the_next_run_completes(trials):
    partial = 0
    for nth, project, error in trials.each_call(_full, lasting=True):
        assert error is None or isinstance(error, WriteError), (nth, error)
        partial += error is not None and "only in part" in str(error)
        recover(project.root)
        assert state(project) in (trials.old, trials.new), nth
        assert not project.staged()
        check_lock(project)
    assert partial > 10


@pytest.mark.parametrize(
    ("prepare", "end", "lasting"),
    [
        (_commit, Killed, True),
        (_commit_over_bytecode, Killed, True),
        (_undo, Killed, True),
        (_recovery, Killed, True),
        (_commit, KeyboardInterrupt, False),
    ],
)
def test_an_end_at_any_call_leaves_the_old_tree_or_the_new(trials, end, lasting):
    seen = []
    for nth, project, error in trials.each_call(end, lasting=lasting):
        assert isinstance(error, end), nth
        recovery = recover(project.root)
        assert recovery is None or recovery.kept == ()
        assert state(project) in (trials.old, trials.new), nth
        seen.append(state(project) == trials.new)
        assert not project.staged()
        assert recover(project.root) is None
        check_lock(project)
    # There is one commit point, which an interrupted run has behind it.
    assert seen == sorted(seen)
    assert seen[-1]


@pytest.mark.parametrize("prepare", [_commit])
def test_going_back_can_be_killed_as_well(trials, monkeypatch):
    place = os.replace

    def replace(source, target):
        if str(target).endswith("tests/test_c.py"):
            raise _full(target)
        place(source, target)

    monkeypatch.setattr(os, "replace", replace)
    gone_back = 0
    for nth, project, error in trials.each_call(Killed, lasting=True):
        assert isinstance(error, Killed), nth
        pending = project.path(f"{STATE_DIR}/journal")
        gone_back += pending.exists() and '"forward": false' in pending.read_text()
        with suppress(WriteError):
            recover(project.root)
        assert state(project) == trials.old, nth
        assert not project.staged()
    assert gone_back > 10


def test_what_is_staged_is_on_the_disk_before_the_commit_point(generated, monkeypatch):
    generated.specs = {"a": "2", "c": "1"}
    staging = generated.path(f"{STATE_DIR}/staging")
    synced, missing = set(), []
    sync, place = os.fsync, os.replace

    def fsync(descriptor):
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def replace(source, target):
        if str(target).endswith("journal"):
            # What stands in for an old content is a second name of what was there.
            written = [p for p in staging.iterdir() if p.stat().st_nlink == 1]
            assert len(written) > 6
            missing.extend(p for p in written if p.stat().st_ino not in synced)
            assert staging.stat().st_ino in synced
        place(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    generated.generate()
    assert missing == []
    # So are the directories afterwards, or a rename might be lost.
    for directory in ("gen", "tests", "docs/ref", STATE_DIR):
        assert generated.path(directory).stat().st_ino in synced


def test_an_edit_between_a_kill_and_the_recovery_is_kept(generated):
    generated.specs["a"] = "2"
    with dying_at_the_commit_point(), pytest.raises(Killed):
        generated.generate("second")
    generated.edit("gen/a.py", "by hand\n")
    recovery = recover(generated.root)
    assert recovery is not None
    assert (recovery.title, recovery.kept) == ("second", ("gen/a.py",))
    assert generated.text("gen/a.py") == "by hand\n"
    assert generated.text("tests/test_a.py") == f"# test {GENERATED}: a 2 generator-1\n"
    verdicts = {s.path: s.verdict for s in generated.plan().statuses}
    assert verdicts["gen/a.py"] is Verdict.EDITED


def test_the_next_commit_recovers_by_itself(generated):
    generated.specs["a"] = "2"
    with dying_at_the_commit_point(), pytest.raises(Killed):
        generated.generate("second")
    assert generated.staged()
    assert undo(generated.root).title == "second"
    assert generated.text("gen/a.py") == f"# {GENERATED}: a 1 generator-1\n"


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "permission was denied"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_the_error_says_what_to_do(generated, monkeypatch, number, advice):
    generated.specs["a"] = "2"
    before = generated.snapshot()

    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match=f"cannot prepare 'generate': .*{advice}"):
        generated.generate()
    assert generated.snapshot() == before
    assert not generated.staged()


def test_a_directory_that_is_not_writable_is_found_first(generated, monkeypatch):
    generated.specs["a"] = "2"
    before = generated.snapshot()
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "docs" not in path and access(path, mode)
    )
    with pytest.raises(WriteError, match=r"docs/ref/a\.md: .* is not writable"):
        generated.generate()
    assert generated.snapshot() == before
    assert not generated.staged()


def test_a_root_that_cannot_be_written_is_explained(project):
    project.edit(STATE_DIR, "a file")
    with pytest.raises(WriteError, match=rf"cannot create {STATE_DIR}"):
        project.generate()


def test_a_directory_in_the_place_of_a_file(project):
    project.edit("gen/a.py/mine.txt", "mine")
    before = project.snapshot()
    with pytest.raises(MlaxScaffoldError, match=r"gen/a\.py.*a directory is in its"):
        project.generate()
    with pytest.raises(WriteError, match=r"gen/a\.py is a directory"):
        project.generate(force=True)
    assert project.snapshot() == before


def test_a_file_in_the_place_of_a_directory(project):
    project.edit("gen", "a file")
    before = project.snapshot()
    with pytest.raises(WriteError, match="gen is a file, but a directory is needed"):
        project.generate()
    assert project.snapshot() == before


def test_without_hard_links_it_works_as_well(generated, monkeypatch):
    def fail(source, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", fail)
    before = generated.snapshot()
    generated.specs["a"] = "2"
    generated.generate()
    assert generated.text("gen/a.py") == f"# {GENERATED}: a 2 generator-1\n"
    undo(generated.root)
    assert generated.snapshot() == before


def test_a_journal_that_is_none_is_explained(generated):
    generated.edit(f"{STATE_DIR}/journal", "nonsense")
    with pytest.raises(WriteError, match="journal of an interrupted run cannot be"):
        recover(generated.root)


def test_recovering_where_nothing_was_interrupted_touches_nothing(project):
    assert recover(project.root) is None
    assert list(project.root.iterdir()) == []


def test_staged_files_of_a_killed_run_are_cleared(generated):
    generated.edit(f"{STATE_DIR}/staging/0.new", "half a fi")
    assert recover(generated.root) is None
    assert not generated.staged()
    assert generated.text(LOCK_NAME)
