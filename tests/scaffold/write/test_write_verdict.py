"""How each file stands: the table of verdicts, and the fast path."""

import pytest

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.project import GENERATED, Rendered
from mlax_scaffold.write import (
    LOCK_NAME,
    LockFile,
    Recorded,
    Verdict,
    digest,
    judge,
    quick_check,
)

PATH, SOURCE = "gen/x.py", "specs/x.py"
OLD, NEW, HAND = (f"# {GENERATED}, {text}\n" for text in ("old", "new", "by hand"))
SOMEBODYS = "mine\n"
FOLDERS = ("gen", "docs")

# On disk, recorded, expected, has the spec changed, has the generator → the verdict.
TABLE = [
    (None, None, NEW, False, False, Verdict.MISSING),
    (None, OLD, NEW, True, True, Verdict.MISSING),
    (NEW, NEW, NEW, False, False, Verdict.CLEAN),
    (NEW, OLD, NEW, True, True, Verdict.CLEAN),
    (NEW, None, NEW, False, False, Verdict.CLEAN),
    (OLD, OLD, NEW, True, False, Verdict.STALE_SPEC),
    (OLD, OLD, NEW, True, True, Verdict.STALE_SPEC),
    (OLD, OLD, NEW, False, True, Verdict.STALE_GENERATOR),
    (OLD, OLD, NEW, False, False, Verdict.STALE_GENERATOR),
    (HAND, OLD, OLD, False, False, Verdict.EDITED),
    (HAND, OLD, NEW, True, False, Verdict.EDITED),
    (OLD, None, NEW, False, False, Verdict.UNTRACKED),
    (OLD, OLD, None, True, False, Verdict.ORPHAN),
    (HAND, OLD, None, True, False, Verdict.ORPHAN),
    (None, OLD, None, True, False, None),
    # Without the generator's header it is nobody's to delete.
    (SOMEBODYS, SOMEBODYS, None, True, False, None),
    (HAND, None, None, False, False, None),
]


def _judge_one(root, actual, recorded, expected, spec_changed, generator_changed):
    if actual is not None:
        (root / PATH).parent.mkdir(exist_ok=True)
        (root / PATH).write_bytes(actual.encode())
    lock = LockFile(
        "f1",
        {SOURCE: digest("spec")},
        {PATH: Recorded(digest(recorded), SOURCE)} if recorded else {},
    )
    outputs = [Rendered(PATH, expected, SOURCE)] if expected else []
    specs = {SOURCE: digest("changed" if spec_changed else "spec")}
    fingerprint = "f2" if generator_changed else "f1"
    return judge(root, outputs, lock, specs, fingerprint, folders=FOLDERS)


@pytest.mark.parametrize("row", TABLE)
def test_the_table_of_verdicts(tmp_path, row):
    *situation, verdict = row
    statuses = _judge_one(tmp_path, *situation)
    assert [s.verdict for s in statuses] == ([verdict] if verdict else [])
    for status in statuses:
        assert (status.path, status.source) == (PATH, SOURCE)
        work = situation[0] == HAND or verdict is Verdict.UNTRACKED
        assert status.by_hand == work


def test_the_details_say_what_else_is_the_case(tmp_path):
    def detail(*situation):
        return _judge_one(tmp_path, *situation)[0].detail

    assert detail(HAND, OLD, OLD, False, False) == ""
    assert detail(HAND, OLD, NEW, True, False) == f"also stale: {SOURCE} has changed"
    assert "edited by hand" in detail(HAND, OLD, None, False, False)
    assert "edited by hand" not in detail(OLD, OLD, None, False, False)
    merged = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
    (status,) = _judge_one(tmp_path, merged, OLD, OLD, False, False)
    assert status.detail == "it holds what a merge made of two versions"
    assert not status.by_hand


@pytest.mark.parametrize("change", ["changed", "added", "removed"])
def test_a_registry_follows_from_all_specs(tmp_path, change):
    lock = LockFile("f", {"s": digest("1")}, {"r": Recorded(digest(OLD), "")})
    (tmp_path / "r").write_text(OLD)
    specs = {
        "changed": {"s": digest("2")},
        "added": {"s": digest("1"), "t": digest("1")},
        "removed": {},
    }[change]
    (status,) = judge(
        tmp_path, [Rendered("r", NEW, "")], lock, specs, "f", folders=FOLDERS
    )
    assert status.verdict is Verdict.STALE_SPEC
    assert ("t" if change == "added" else "s") in status.detail


def test_a_file_that_another_spec_changed_is_stale_by_a_spec(tmp_path):
    lock = LockFile(
        "f", {"s": digest("1"), "t": digest("1")}, {"a": Recorded(digest(OLD), "s")}
    )
    (tmp_path / "a").write_text(OLD)
    specs = {"s": digest("1"), "t": digest("2")}
    (status,) = judge(
        tmp_path, [Rendered("a", NEW, "s")], lock, specs, "f", folders=FOLDERS
    )
    assert status.verdict is Verdict.STALE_SPEC
    assert "builds on" in status.detail


def test_other_line_endings_are_no_edit(generated):
    for path in [output.path for output in generated.outputs()]:
        place = generated.path(path)
        place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    assert {s.verdict for s in generated.plan().statuses} == {Verdict.CLEAN}
    assert generated.plan().is_empty


def test_a_directory_in_the_place_of_a_file_is_somebodys(generated):
    generated.path("gen/a.py").unlink()
    generated.edit("gen/a.py/inside.txt", "mine")
    status = next(s for s in generated.plan().statuses if s.path == "gen/a.py")
    assert (status.verdict, status.by_hand) == (Verdict.EDITED, True)
    assert "directory" in status.detail


def test_statuses_are_sorted_by_path(project):
    paths = [status.path for status in project.plan().statuses]
    assert paths == sorted(paths)
    assert len(paths) == 7


def _quick(project):
    return quick_check(
        project.root, project.lock(), project.hashes(), project.fingerprint
    )


def test_the_fast_path_agrees_with_rendering(generated):
    generated.edit("gen/a.py", HAND)
    generated.path("docs/ref/b.md").unlink()
    quick = _quick(generated)
    assert quick is not None
    assert quick == list(generated.plan().statuses)
    verdicts = {s.path: s.verdict for s in quick}
    assert verdicts.pop("gen/a.py") is Verdict.EDITED
    assert verdicts.pop("docs/ref/b.md") is Verdict.MISSING
    assert set(verdicts.values()) == {Verdict.CLEAN}


@pytest.mark.parametrize("change", ["spec", "new", "gone", "generator", "lock", "none"])
def test_the_fast_path_answers_only_what_the_lock_settles(generated, change):
    match change:
        case "spec":
            generated.specs["a"] = "2"
        case "new":
            generated.specs["c"] = "1"
        case "gone":
            del generated.specs["a"]
        case "generator":
            generated.fingerprint = "generator-2"
        case "lock":
            generated.edit(LOCK_NAME, generated.text(LOCK_NAME) + "<<<<<<< HEAD\n")
    assert (_quick(generated) is None) == (change != "none")


def test_a_registry_beside_its_record_is_compared_with_what_follows(tmp_path):
    """Git may have kept a recorded line whose addition was reverted."""
    line = "from . import a\n"
    (tmp_path / "__init__.py").write_text(line)
    rendered = Rendered("__init__.py", line, "", registry=True)
    lock = LockFile.of([rendered], {}, "f")
    [status] = quick_check(tmp_path, lock, {}, "f") or []
    assert status.verdict is Verdict.CLEAN
    gone = {"__init__.py": Recorded("", "", frozenset({line.strip(), "of another"}))}
    lock = LockFile("f", {}, gone)
    assert quick_check(tmp_path, lock, {}, "f") is None
    [status] = judge(tmp_path, [rendered], lock, {}, "f", folders=FOLDERS)
    assert status.verdict is Verdict.CLEAN


def test_the_fast_path_judges_every_file(tmp_path):
    specs = {f"specs/{i}.py": digest(str(i)) for i in range(2000)}
    text = "# a line of a generated file\n" * 100
    outputs = {}
    for source in specs:
        for kind in ("gen", "tests", "docs"):
            path = f"{kind}/{source[6:]}"
            outputs[path] = Recorded(digest(text), source)
            (tmp_path / kind).mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
    (tmp_path / LOCK_NAME).write_text(LockFile("f", specs, outputs).text())
    statuses = quick_check(tmp_path, LockFile.read(tmp_path), specs, "f")
    assert statuses is not None
    assert len(statuses) == 6000


def test_only_below_the_folders_of_outputs_there_are_orphans(tmp_path):
    paths = ["gen/a.py", "gen/sub/b.py", "docs/c.md", "gently.py", "src/d.py", "e.py"]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(OLD)
    outputs = {path: Recorded(digest(OLD), SOURCE) for path in paths}
    statuses = judge(tmp_path, [], LockFile("f", {}, outputs), {}, "f", folders=FOLDERS)
    assert [s.path for s in statuses] == ["docs/c.md", "gen/a.py", "gen/sub/b.py"]
    assert all(s.verdict is Verdict.ORPHAN and s.source_gone for s in statuses)


def test_a_path_that_leads_out_is_refused(tmp_path):
    with pytest.raises(MlaxScaffoldError, match=r"leads out of the project's root"):
        judge(
            tmp_path, [Rendered("../x", "", "")], LockFile(), {}, "f", folders=FOLDERS
        )
