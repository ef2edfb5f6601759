"""What a file imports from files of the same code comes along."""

from __future__ import annotations

from pathlib import Path

from mlax_scaffold.conversion import convert
from mlax_scaffold.conversion.source.other_files import with_other_files

PARTS = """\
import math

import torch.nn as nn

SCALE = 2


def scaled(x):
    return x / math.sqrt(SCALE)


class Part(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return scaled(self.fc(x))


class Unread(nn.Module):
    pass
"""
MAIN = """\
import torch
import torch.nn as nn

{imported}


class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.part = Part(dim)

    def forward(self, x):
        return torch.sparse.mm(self.part(x), x)
"""


def joined(folder: Path, imported: str):
    (folder / "code").mkdir(exist_ok=True)
    (folder / "layers").mkdir(exist_ok=True)
    (folder / "code/parts.py").write_text(PARTS)
    (folder / "layers/parts.py").write_text(PARTS)
    path = folder / "code/net.py"
    path.write_text(MAIN.format(imported=imported))
    return path, with_other_files(str(path), path.read_text(), "Net")


def test_classes_come_from_files_beside_it(tmp_path: Path):
    for imported in (
        "from .parts import Part",
        "from .parts import *",
        "from layers.parts import Part",
        "from parts import Part",
    ):
        path, found = joined(tmp_path, imported)
        assert "class Part" in found.text, imported
        assert "SCALE = 2" in found.text
        assert "Unread" not in found.text
        mended = found.text.replace("torch.sparse.mm(self.part(x), x)", "self.part(x)")
        made = convert(str(path), mended, "Net", "Net")
        assert made.whole, made.notes
        assert "class Part(Layer)" in made.text
        assert "def scaled" in made.text


def test_lines_are_those_of_their_files(tmp_path: Path):
    path, found = joined(tmp_path, "from .parts import Part")
    made = convert(str(path), found.text, "Net", "Net")
    [note] = [n for n in made.notes if n.blocks]
    assert found.place(note.line) == ("", 13)
    place = found.text.splitlines().index("class Part(nn.Module):") + 1
    assert found.place(place) == (str(path.parent / "parts.py"), 12)


def test_two_meanings_of_a_name_are_left_as_they_are(tmp_path: Path):
    path, _ = joined(tmp_path, "from .parts import Part\n\nSCALE = 3")
    found = with_other_files(str(path), path.read_text(), "Net")
    assert found.text == path.read_text()


def test_libraries_are_not_followed(tmp_path: Path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("class nn: pass")
    path, found = joined(tmp_path, "")
    assert found.text == path.read_text()
