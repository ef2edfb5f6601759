"""The fenced blocks of a Markdown page, and what is done with them."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from mlax_scaffold.reader.homes import module_name

ROOT = Path(__file__).resolve().parents[3]

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w{}-]*)\s*$")
_FILE = re.compile(r"^<!-- file: (?P<path>[\w/.-]+) -->$")
_HEADING = re.compile(r"^#{1,6} +(?P<title>.*)$")
_NEW = re.compile(r"^\$ mlax-scaffold new-\w+ (?P<name>\w+)", re.MULTILINE)
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


def created(page: str) -> set[str]:
    """The names of what the commands of a page create."""
    return {match["name"] for match in _NEW.finditer(page)}


@functools.cache
def checkout_without(names: frozenset[str]) -> Path:
    """A checkout whose library has nothing of these names: this one, or a copy.

    A guide creates what is not there; who followed it in the checkout has it there.
    """
    specs = Path("scaffold/mlax_scaffold/specs")
    known = {module_name(name) for name in names}
    there = [p for p in (ROOT / specs).glob("*/*.py") if p.stem in known]
    if not there:
        return ROOT
    copy = Path(tempfile.mkdtemp(prefix="checkout-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    for name in ("scaffold", "templates", "generated_layers"):
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, ignore=skip)
    for path in there:
        (copy / path.relative_to(ROOT)).unlink()
    return copy


def run(
    command: Command,
    folder: Path,
    checkout: Path = ROOT,
    environment: Mapping[str, str] = MappingProxyType({}),
    installed: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, with the programs of a checkout.

    `installed` is what else has to be in the path.
    """
    words = shlex.split(command.text)
    programs = {
        "mlax-scaffold": ["-m", "mlax_scaffold"],
        "pytest": ["-m", "pytest", "-p", "mlax_scaffold.pytest_plugin"],
        "python": [],
    }
    assert words[0] in programs, f"cannot run {command.text!r} in a test"
    path = os.pathsep.join(
        [str(checkout / "scaffold"), str(checkout / "generated_layers"), *installed]
    )
    variables = {
        **os.environ,
        "PYTHONPATH": path,
        "JAX_PLATFORMS": "cpu",
        # The plugin is named above, whether the package is installed or not.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "80",
        **environment,
    }
    return subprocess.run(
        [sys.executable, *programs[words[0]], *words[1:]],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def missing(shown: Sequence[str], output: str) -> str | None:
    """The first shown line that the output has not in this place, or one that is not shown.

    A line `...` stands for any lines, and `...` in a line for any text. Blank lines do not
    count. Nothing shown says nothing.
    """
    lines = [line.rstrip() for line in shown if line.strip()]
    given = [line.rstrip() for line in output.split("\n") if line.strip()]
    if not lines:
        return None
    index, anywhere = 0, False
    for line in lines:
        if line.strip() == "...":
            anywhere = True
            continue
        pattern = re.compile(re.escape(line).replace(r"\.\.\.", ".*"))
        while index < len(given) and anywhere and not pattern.fullmatch(given[index]):
            index += 1
        if index == len(given) or not pattern.fullmatch(given[index]):
            return line
        index, anywhere = index + 1, False
    return None if anywhere or index == len(given) else given[index]
