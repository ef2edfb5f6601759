"""The fenced blocks of a Markdown page, and what is done with them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w{}-]*)\s*$")
_FILE = re.compile(r"^<!-- file: (?P<path>[\w/.-]+) -->$")
_HEADING = re.compile(r"^#{1,6} +(?P<title>.*)$")
_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    line: int
    language: str
    text: str
    file: str
    """The file that the block is the content of, by the comment `<!-- file: ... -->` before it."""


@dataclass(frozen=True)
class Command:
    """A command of a console block, with the output that is shown under it."""

    text: str
    shown: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [part for part in _parts(page) if isinstance(part, Block)]


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    return "\n".join(part for part in _parts(page) if isinstance(part, str))


def links(page: str) -> list[str]:
    """The targets of the links of a page."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "``", prose(page))
    return [match["target"] for match in _LINK.finditer(text)]


def anchors(page: str) -> set[str]:
    """The anchors that the headings of a page get."""
    found = set()
    for line in prose(page).split("\n"):
        if heading := _HEADING.match(line):
            title = re.sub(r"[^\w\- ]", "", heading["title"].lower())
            found.add(title.replace(" ", "-"))
    return found


def _parts(page: str) -> Iterator[Block | str]:
    lines = page.split("\n")
    file, index = "", 0
    while index < len(lines):
        line = lines[index]
        opened = _FENCE.match(line)
        if opened is None:
            named = _FILE.match(line)
            file = named["path"] if named else file if not line.strip() else ""
            yield line
            index += 1
            continue
        start = index + 1
        closing = opened["indent"] + opened["fence"]
        index = lines.index(closing, start)
        text = "".join(
            line.removeprefix(opened["indent"]) + "\n" for line in lines[start:index]
        )
        yield Block(start, opened["language"], text, file)
        file, index = "", index + 1


def commands(block: Block) -> list[Command]:
    """The commands of a console block: lines that begin with a prompt."""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            assert found, f"line {block.line}: output without a command: {line!r}"
            found[-1][1].append(line)
    return [Command(text, tuple(shown)) for text, shown in found]


def run(command: Command, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, with the programs of this checkout."""
    words = shlex.split(command.text)
    programs = {
        "mlax-scaffold": ["-m", "mlax_scaffold"],
        "pytest": ["-m", "pytest", "-p", "mlax_scaffold.pytest_plugin"],
        "python": [],
    }
    assert words[0] in programs, f"cannot run {command.text!r} in a test"
    path = os.pathsep.join([str(ROOT / "scaffold"), str(ROOT / "generated_layers")])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "JAX_PLATFORMS": "cpu",
        # The plugin is named above, whether the package is installed or not.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "80",
    }
    return subprocess.run(
        [sys.executable, *programs[words[0]], *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def missing(shown: Sequence[str], output: str) -> str | None:
    """The first shown line that the output lacks, in order; `...` stands for anything."""
    rest = iter(line.rstrip() for line in output.split("\n"))
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        pattern = re.compile(re.escape(line.rstrip()).replace(r"\.\.\.", ".*"))
        if not any(pattern.fullmatch(given) for given in rest):
            return line
    return None
