"""The record of the last generation."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write import LOCK_NAME, LockFile, Recorded, digest

SHA = digest("x")

names = st.text("abcé z.-_'\"\u2028", min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..")
)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
hashes = st.binary(max_size=8).map(digest)


@given(
    st.text(max_size=10),
    st.dictionaries(paths, hashes, max_size=5),
    st.dictionaries(
        paths,
        st.builds(Recorded, hashes, st.just("") | paths)
        | st.builds(
            Recorded, st.just(""), st.just(""), st.frozensets(names, min_size=1)
        ),
        max_size=5,
    ),
)
@example("", {"a/b": SHA}, {"a": Recorded("", "", frozenset({"line"}))})
def test_a_record_survives_its_text(fingerprint, specs, outputs):
    lock = LockFile(fingerprint, specs, outputs)
    assert LockFile.parse(lock.text()) == lock


def test_the_text_does_not_depend_on_the_order_of_what_is_recorded():
    outputs = [Rendered("b", "2", "s"), Rendered("a", "1", "")]
    one = LockFile.of(outputs, {"y": SHA, "x": SHA}, "f")
    other = LockFile.of(outputs[::-1], {"x": SHA, "y": SHA}, "f")
    assert one.text() == other.text()
    assert [line[:10] for line in one.text().splitlines()] == [
        "# What `ml",
        '["generato',
        '["spec", "',
        '["spec", "',
        '["file", "',
        '["file", "',
    ]


def test_lines_stand_between_folders():
    """So that git sees apart what is last in one and what is first in the next."""
    outputs = [Rendered(path, "", "") for path in ("a/x", "a/y", "b/x", "__init__")]
    outputs[-1] = Rendered("__init__", "line", "", registry=True)
    text = LockFile.of(outputs, {"s/a": SHA, "s/b": SHA}, "f").text()
    kinds = [line.partition(",")[0] for line in text.splitlines()[1:]]
    assert kinds == [
        *('["generator"', '# "__init__"', '["line"', '# "a"', '["file"', '["file"'),
        *('# "b"', '["file"', '# "s"', '["spec"', '["spec"'),
    ]


def test_without_a_file_the_record_is_empty_and_sound(tmp_path):
    assert LockFile.read(tmp_path) == LockFile()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense\n",
        '["generator", "f"]\n["file", "a"]\n',
        '["generator", "f"]\n["file", "a", "", "0123"]\n',
        '["generator", "f"]\n["unknown", "a"]\n',
        '["generator", "f"]\n{"file": "a"}\n',
        f'["spec", "a", "{SHA}"]\n',
        f'["generator", "f"]\n["file", "../a", "", "{SHA}"]\n',
        f'["generator", "f"]\n["file", "/etc/a", "", "{SHA}"]\n',
    ],
)
def test_what_cannot_be_understood_is_an_empty_damaged_record(tmp_path, text):
    (tmp_path / LOCK_NAME).write_text(text)
    assert LockFile.read(tmp_path) == LockFile(damaged=True)


def test_bytes_that_are_no_text_are_damage(tmp_path):
    (tmp_path / LOCK_NAME).write_bytes(b"\xff\xfe\x00")
    assert LockFile.read(tmp_path) == LockFile(damaged=True)


@pytest.mark.parametrize("markers", [True, False], ids=["markers", "union"])
def test_after_a_merge_both_sides_count_as_generated(tmp_path, markers):
    ours, theirs = digest("ours"), digest("theirs")
    lines = [
        '["generator", "f"]',
        f'["spec", "s", "{SHA}"]',
        "<<<<<<< HEAD",
        f'["file", "a", "s", "{ours}"]',
        "=======",
        f'["file", "a", "s", "{theirs}"]',
        ">>>>>>> branch",
    ]
    if not markers:
        lines = [line for line in lines if line.startswith("[")]
    (tmp_path / LOCK_NAME).write_text("\n".join(lines) + "\n")
    lock = LockFile.read(tmp_path)
    assert lock.damaged
    assert (lock.fingerprint, lock.specs) == ("", {})
    assert lock.wrote("a", b"ours")
    assert lock.wrote("a", b"theirs")
    assert not lock.wrote("a", b"fresh")
    assert not lock.wrote("b", b"ours")
    assert lock.merged("a")


def test_additions_of_both_sides_are_one_sound_record():
    def side(*names):
        outputs = [Rendered(f"gen/{n}.py", n, f"specs/{n}.py") for n in names]
        text = "".join(f"{n}\n" for n in names)
        registry = Rendered("gen/__init__.py", text, "", registry=True)
        specs = {f"specs/{n}.py": digest(n) for n in names}
        return LockFile.of([*outputs, registry], specs, "f")

    lines = side("a", "b").text().splitlines() + side("b", "c").text().splitlines()
    merged = LockFile.parse("\n".join(reversed(lines)))
    assert merged == side("a", "b", "c")
    assert merged.wrote("gen/__init__.py", b"c\nb\n\na\nb\n")
    assert not merged.wrote("gen/__init__.py", b"a\nb\n")
    assert not merged.wrote("gen/__init__.py", b"a\nb\nc\nd\n")


def test_line_endings_do_not_damage_it(tmp_path):
    lock = LockFile("f", {"s": SHA}, {"a": Recorded(SHA, "s")})
    (tmp_path / LOCK_NAME).write_bytes(lock.text().replace("\n", "\r\n").encode())
    assert LockFile.read(tmp_path) == lock


def test_the_digest_does_not_see_line_endings_and_sees_all_else():
    assert digest("a\r\nb") == digest("a\nb") == digest(b"a\nb")
    assert len({digest(t) for t in ("a\nb", "a\n\nb", "a\rb", "a b", "")}) == 5
