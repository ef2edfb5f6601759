"""Texts that are no ordinary text files: line ends, marks, encodings, depths and lengths."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from mlax_scaffold.errors import SpecError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.reader.files import SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.reader.remedies.mending import mend
from mlax_scaffold.reader.specs import module_name, read_spec

SPEC = '''from mlax_scaffold.spec import Float, Layer, Size


class Example(Layer):
    """A spec of a test."""

    size: Size = 3  #: a size

    def forward(self, x: Float["*batch size"]) -> Float["*batch size"]:
        y = x * self.size
        return y
'''


def read(text: str) -> Definition:
    definition, findings = read_spec("specs/nn/example.py", text)
    assert not findings
    assert definition is not None
    return definition


def findings(text: str) -> list[str]:
    definition, found = read_spec("specs/nn/example.py", text)
    assert definition is None
    return [str(finding) for finding in found]


def test_windows_line_ends_and_a_mark_change_nothing():
    assert read("\ufeff" + SPEC.replace("\n", "\r\n")) == read(SPEC)
    assert "\r" not in read(SPEC.replace("\n", "\r\n")).text


def test_places_are_the_same_with_windows_line_ends():
    wrong = SPEC.replace("self.size", "self.sise")
    assert findings(wrong.replace("\n", "\r\n")) == findings(wrong)
    assert findings(wrong) == [
        "specs/nn/example.py:10:17: self.sise is neither a hyperparameter nor declared "
        "in setup\n"
        "            y = x * self.sise\n"
        "                    ^^^^^^^^^\n"
        '    did you mean "size"?\n'
        "    write:  y = x * self.size"
    ]


def test_no_line_feed_at_the_end():
    assert read(SPEC.rstrip("\n")) == read(SPEC)


def test_tabs():
    assert read(SPEC.replace("    ", "\t")) == read(SPEC)


@pytest.mark.parametrize(
    "character",
    [
        *("\0", "\x0b", "\x0c", "\r", "\x1b", "\x1c", "\x1e", "\x85", "\u2028"),
        *("\u2029", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\ud800"),
    ],
    ids=lambda c: f"U+{ord(c):04X}",
)
def test_characters_that_cannot_be_seen(character: str):
    text = SPEC.replace("return y", f'return y  # "{character}import os')
    code = f"U+{ord(character):04X}"
    assert findings(text) == [
        f"specs/nn/example.py:11:22: the character {code} cannot be seen\n"
        '            return y  # "\ufffdimport os\n'
        "                         ^\n"
        "    Remove it; in a string, write it as an escape."
    ]


def test_escapes_of_such_characters_are_text():
    text = SPEC.replace("A spec of a test.", r"A spec \0 of \u2028 a \x85 test.")
    assert read(text).doc == "A spec \0 of \u2028 a \x85 test."


def test_a_doubtful_escape_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(SPEC.replace("A spec", r"A \d spec")).doc == r"A \d spec of a test."


def test_files_that_are_not_utf_8_are_all_named(tmp_path: Path):
    (tmp_path / "nn").mkdir()
    (tmp_path / "nn" / "a.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "nn" / "b.py").write_bytes(b"\xff\xfe")
    (tmp_path / "nn" / "c.py").write_text(SPEC, encoding="utf-8")
    with pytest.raises(SpecError) as error:
        find_specs(tmp_path, "specs")
    first, second = error.value.diagnostics
    assert str(first.location) == "specs/nn/a.py:1:1"
    assert str(second.location) == "specs/nn/b.py:1:1"
    assert first.message.startswith("not UTF-8: ")
    assert first.hint == "Save it as UTF-8."


def test_files_are_found_with_marks_and_windows_line_ends(tmp_path: Path):
    (tmp_path / "nn").mkdir()
    text = "\ufeff" + SPEC.replace("\n", "\r\n")
    (tmp_path / "nn" / "example.py").write_bytes(text.encode())
    [file] = find_specs(tmp_path, "specs")
    assert (file.path, file.section, file.text) == (
        "specs/nn/example.py",
        "nn",
        SPEC,
    )


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 5000 + "x" + ")" * 5000,
        "[" * 150 + "x" + "]" * 150,
        "-" * 3000 + "x",
        "not " * 3000 + "x",
        " + ".join(["x"] * 5000),
        "x" + ".T" * 5000,
        "x" + "[0]" * 5000,
        "x" + "()" * 5000,
        "lambda: " * 300 + "x",
        "x if x else " * 500 + "x",
    ],
    ids=lambda text: text[:8],
)
def test_deep_nesting_is_a_finding(deep: str):
    [found] = findings(SPEC.replace("x * self.size", deep))
    assert "nested too deeply" in found or "too many nested parentheses" in found


def test_deep_blocks_are_a_finding():
    lines = [f"{' ' * (8 + i)}if x:" for i in range(97)]
    text = SPEC.replace("        return y", "\n".join([*lines, " " * 105 + "return y"]))
    [*_, found] = findings(text)
    assert "nested too deeply" in found or "too many" in found


def calls(work: Callable[[], object]) -> int:
    """How many functions are called: work that is counted, and not timed."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_the_work_of_reading_grows_with_the_length():
    def text(lines: int) -> str:
        body = "".join(f"        y{i} = x * {i}  # {i}\n" for i in range(lines))
        return SPEC.replace("        y = x", body + "        y = x")

    short, long = text(100), text(1_000)
    assert len(read(long).method("forward").names) > 1_000  # type: ignore[union-attr]
    assert calls(lambda: read(long)) < 12 * calls(lambda: read(short))


def test_the_work_of_findings_grows_with_their_number():
    def text(wrong: int) -> str:
        body = "".join(f"        y = self.size{i}\n" for i in range(wrong))
        return SPEC.replace("        y = x", body + "        y = x")

    short, long = text(100), text(400)
    assert len(findings(long)) == 400
    assert calls(lambda: findings(long)) < 5 * calls(lambda: findings(short))


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("Linear", "linear"),
        ("MultiHeadAttention", "multi_head_attention"),
        ("LSTMCell", "lstm_cell"),
        ("GRU", "gru"),
        ("F", "f"),
        ("Conv2D", "conv2_d"),
        ("softmax", "softmax"),
        ("log_softmax", "log_softmax"),
    ],
)
def test_module_name(name: str, module: str):
    assert module_name(name) == module


UNREAD = """import einops
from beartype import beartype
from mlpack import layers as given, vmap
import jax

from mlax_scaffold.spec import Float, Layer


class Example(Layer):
    \"\"\"Sums.\"\"\"

    def forward(self, x: Float["..."]) -> Float["..."]:
        beartype = x + x
        return vmap(beartype)
"""


def test_what_nothing_reads_is_not_imported():
    """Tests run the spec, and need what it imports; jax is there."""
    file = SpecFile("specs/nn/example.py", "nn", UNREAD)

    def read(files):
        return read_library(tuple(files), foreign=True)

    with pytest.raises(SpecError) as caught:
        read([file])
    said = [d.message for d in caught.value.diagnostics]
    assert said == [
        "`einops` is imported, and nothing reads it",
        "`beartype` is imported, and nothing reads it",
    ]
    mended = mend([file], caught.value, read).texts[file.path]
    assert mended.startswith("from mlpack import layers as given, vmap\nimport jax\n")
