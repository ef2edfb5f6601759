"""`undo` and `history`: the last change, whole, or what is in the way of it."""

from __future__ import annotations

import time

from cli_projects import SCALE, ProjectFolder

from mlax_scaffold.write import Change, commit
from mlax_scaffold.write.plan import Plan

SPEC, LAYER = "specs/nn/scale.py", "mynet/nn/scale.py"


def write(project: ProjectFolder, title: str, **texts: str | None) -> None:
    """One change of the tool, of files with these stems."""
    changes = []
    for name, text in texts.items():
        place = project.root / f"{name}.txt"
        before = place.read_bytes() if place.exists() else None
        after = None if text is None else text.encode()
        changes.append(Change(f"{name}.txt", before, after))
    lock = Change("mlax-scaffold.lock", None, None)
    commit(project.root, Plan(tuple(changes), lock), title=title)


def test_history_lists_changes_the_newest_first(empty: ProjectFolder):
    assert "Nothing was changed yet" in empty.ok("history")
    begin = time.time()
    write(empty, "first", a="1", b="1")
    write(empty, "second", a="2", b=None, c="1")
    lines = empty.ok("history").splitlines()
    assert [line.split("  ")[1] for line in lines] == [
        "second: 1 created, 1 updated, 1 deleted",
        "first: 2 created, 0 updated, 0 deleted",
    ]
    changes = empty.json("history")["changes"]
    assert [change["title"] for change in changes] == ["second", "first"]
    assert (changes[0]["created"], changes[0]["deleted"]) == (["c.txt"], ["b.txt"])
    day = time.strftime("%Y-%m-%dT", time.gmtime(begin))
    assert all(change["at"].startswith(day) for change in changes)


def test_undo_goes_back_one_change_after_another(empty: ProjectFolder):
    trees = [empty.files()]
    for number in range(3):
        write(empty, f"change {number}", a=str(number), **{f"b{number}": "1"})
        trees.append(empty.files())
    for number in reversed(range(3)):
        assert f'Undid "change {number}"' in empty.ok("undo")
        assert empty.files() == trees[number]
    assert empty.json("history")["changes"] == []


def test_what_changed_since_is_said_by_both(empty: ProjectFolder):
    write(empty, "first", b="0\n")
    write(empty, "second", a="1\n", b="1\n", c="1\n")
    empty.write("a.txt", "mine\n")
    (empty.root / "b.txt").unlink()
    before = empty.files()
    refused = empty.run("undo")
    assert refused.exit_code == 1
    for shown in (refused.stdout, empty.ok("history")):
        assert "a.txt: changed since" in shown
        assert "b.txt: deleted since" in shown
        assert "c.txt: " not in shown
    assert empty.files() == before
    since = empty.json("history")["changed_since"]
    assert [entry["path"] for entry in since] == ["a.txt", "b.txt"]
    # Forced, it can be taken back itself.
    empty.ok("undo", "--force")
    assert set(empty.files()) == {"pyproject.toml", "b.txt"}
    empty.ok("undo")
    assert empty.files() == before


def test_what_an_undo_would_change_is_shown_first(empty: ProjectFolder):
    write(empty, "first", a="1\n")
    write(empty, "second", a="2\n")
    before = empty.files()
    shown = empty.ok("undo", "--diff")
    assert "-2\n+1\n" in shown
    assert 'To undo "second":\n  updated  a.txt\n' in empty.ok("undo", "--dry-run")
    assert empty.files() == before


def test_an_edit_of_a_spec_is_not_undone_with_what_followed(project: ProjectFolder):
    """Only what the tool wrote goes back."""
    project.ok("generate")
    edited = SCALE.replace("by element", "of each element")
    project.write(SPEC, edited)
    project.ok("generate")
    assert "of each element" in project.text(LAYER)
    project.ok("undo")
    assert "of each element" not in project.text(LAYER)
    assert project.text(SPEC) == edited
    assert project.run("check").exit_code == 1
    project.ok("generate")
    assert "of each element" in project.text(LAYER)


def test_line_ends_and_moments_do_not_count_as_changes(empty: ProjectFolder):
    write(empty, "first", a="1\n2\n")
    (empty.root / "a.txt").write_bytes(b"1\r\n2\r\n")
    assert empty.json("history")["changed_since"] == []
    empty.ok("undo")
