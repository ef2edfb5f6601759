"""The guides: every command runs and prints what is shown, every block of Python runs."""

from __future__ import annotations

import os
import posixpath
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import (
    ROOT,
    Block,
    anchors,
    blocks,
    checkout_without,
    commands,
    created,
    links,
    missing,
    run,
)
from tests.plugins.plugin_installing import SAMPLES, install

GUIDES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
)
LANGUAGES = {"python", "console", "shell", "text", "json", "yaml", "{toctree}"}

_REPLACE = re.compile(r'<!-- replace in (\S+): "(.+)" with "(.+)" -->')
_STATUS = re.compile(r"\[exit status (\d)\]")

_COMPILED = re.compile(
    r"^(Compiling \S*?(\w+)\)? with global shapes and types .*)\. Argument mapping",
    re.MULTILINE,
)
TRY = (
    "$ pytest -q --mlax-profile ci tests/generated "
    "-k 'shapes or carry or structured or creates_its'\n"
)
"""Runs what tracing decides of the tests of specs."""


def read(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


@pytest.fixture
def library_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "generated_layers"))


@pytest.fixture
def own_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Programs of guides leave checkpoints where a reader would look at them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_runs(guide, tmp_path, library_on_path, own_temporary_files):
    page = read(guide)
    replacements = iter(_REPLACE.findall(page))
    checkout = checkout_without(frozenset(created(page)))
    # Without a name its classes are of `builtins`, and dataclasses write into their module.
    namespace: dict[str, Any] = {"__name__": "__main__"}
    installed: list[str] = []
    for block in blocks(page):
        if block.file:
            place = tmp_path / block.file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            _run_commands(guide, block, tmp_path, checkout, installed)
        elif block.language == "shell":
            for folder in re.findall(r"-e (\w+)", block.text):
                installed += install(tmp_path / folder, tmp_path / ".site")
        elif block.language == "python" and _is_replacement(page, block):
            name, old, new = next(replacements)
            text = (tmp_path / name).read_text(encoding="utf-8")
            assert text.count(old) == 1
            changed = text.replace(old, new)
            assert block.text in changed
            (tmp_path / name).write_text(changed, encoding="utf-8")
        elif block.language == "python":
            source = "\n" * block.line + block.text
            exec(compile(source, guide, "exec"), namespace)
    assert not list(replacements)


def _is_replacement(page: str, block: Block) -> bool:
    # The line of a block is that of its opening fence, from 1.
    return _REPLACE.match(page.split("\n")[block.line - 2]) is not None


def _run_commands(
    guide: str,
    block: Block,
    folder: Path,
    checkout: Path,
    installed: Sequence[str],
) -> None:
    for command in commands(block):
        shown = [line for line in command.shown if not _STATUS.match(line)]
        stated = [m[1] for m in map(_STATUS.match, command.shown) if m]
        done = run(command, folder, checkout, installed=installed)
        where = f"{guide}:{block.line}: {command.text}\n{done.stdout}{done.stderr}"
        assert done.returncode == int(stated[0] if stated else 0), where
        lacking = missing(shown, done.stdout + done.stderr)
        assert lacking is None, f"{lacking!r} is not in the output of {where}"


def test_the_plugins_of_the_guide_are_the_samples():
    """What the page shows, the tests of plugins install."""
    shown = {block.file: block.text for block in blocks(read("docs/plugins.md"))}
    samples = {
        path.relative_to(SAMPLES).as_posix(): path.read_text(encoding="utf-8")
        for name in ("evens", "mirror")
        for path in (SAMPLES / name).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert samples.items() <= shown.items()


def test_guides_create_what_the_library_already_has(tmp_path):
    """Who follows a guide in the checkout adds its names to the library."""
    (tmp_path / "pyproject.toml").write_text('[tool.mlax-scaffold]\npackage = "net"\n')
    page = "$ mlax-scaffold new-layer Maxout --dry-run\n"
    assert created(page) == {"Maxout"}
    [command] = commands(Block(0, "console", page, ""))
    assert "comes with mlax-scaffold" in run(command, tmp_path).stderr
    done = run(command, tmp_path, checkout_without(frozenset(created(page))))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("guide", ["README.md", "docs/spec-language.md"])
def test_specs_of_guides_generate(guide, tmp_path):
    specs = [block for block in blocks(read(guide)) if block.file]
    (tmp_path / "pyproject.toml").write_text('[tool.mlax-scaffold]\npackage = "net"\n')
    for spec in specs:
        place = tmp_path / spec.file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(spec.text, encoding="utf-8")
    [command] = commands(Block(0, "console", "$ mlax-scaffold generate -q\n", ""))
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert specs
    [command] = commands(Block(0, "console", TRY, ""))
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for spec in specs:
        section, module = spec.file.removesuffix(".py").split("/")[1:]
        assert (tmp_path / f"docs/reference/{section}/{module}.md").is_file()


@pytest.mark.parametrize("guide", GUIDES)
def test_languages_are_known(guide):
    assert {block.language for block in blocks(read(guide))} <= LANGUAGES


@pytest.mark.parametrize("guide", GUIDES)
def test_shell_blocks_only_install_and_check(guide):
    allowed = re.compile(
        r"python3? -m venv|\. \.venv/bin/activate|pip install"
        r"|\.venv/bin/(pip install|python -m (pytest|sphinx)|ruff check|mlax-scaffold new-layer)"
    )
    for block in blocks(read(guide)):
        if block.language == "shell":
            for line in block.text.splitlines():
                assert allowed.match(line), line


@pytest.mark.parametrize("guide", GUIDES)
def test_links_resolve(guide, site):
    rendered = site.pages
    for target in links(read(guide)):
        assert "://" not in target, target
        name, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(guide), name))
        path = path if name else guide
        if path not in rendered:
            assert (ROOT / path).is_file(), target
        if anchor:
            assert anchor in anchors(rendered.get(path) or read(path)), target


@pytest.mark.parametrize("guide", GUIDES)
def test_guides_name_no_place_of_ours(guide):
    page = read(guide)
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|opt|usr)/", page)
    assert not re.search(r"https?://(localhost|\d|[\w.-]*(internal|example))", page)
    assert sys.prefix not in page


@pytest.mark.parametrize(
    ("shown", "lacking"),
    [
        (["a", "b", "c"], None),
        (["a", "...", "c"], None),
        (["...", "b", "..."], None),
        (["...", "b..."], "c"),
        (["a", "c"], "c"),
        (["b", "c"], "b"),
        (["a", "b"], "c"),
        (["...", "d"], "d"),
        ([], None),
    ],
)
def test_lines_that_are_left_out_are_marked(shown, lacking):
    assert missing(shown, "a\n\nb\nc\n") == lacking


def program(guide: str) -> str:
    """The blocks of Python of a guide, as one program."""
    found = [b.text for b in blocks(read(guide)) if b.language == "python"]
    return "\n".join(found)


@pytest.mark.parametrize("guide", [g for g in GUIDES if "mesh" in program(g)])
def test_guide_runs_on_eight_devices(guide, tmp_path):
    """As one device does, and no function of the guide is compiled for other places."""
    place = tmp_path / "program.py"
    place.write_text(program(guide), encoding="utf-8")
    [command] = commands(Block(0, "console", f"$ python {place}\n", ""))
    flags = os.environ.get("XLA_FLAGS", "")
    flags += " --xla_force_host_platform_device_count=8"
    environment = {"XLA_FLAGS": flags, "JAX_LOG_COMPILES": "1"}
    done = run(command, tmp_path, environment=environment)
    assert done.returncode == 0, done.stderr
    own = re.findall(r"^def (\w+)", program(guide), re.MULTILINE)
    compiled = [line for line, name in _COMPILED.findall(done.stderr) if name in own]
    # Shapes and types stand in the line, and shardings after it.
    assert sorted(compiled) == sorted(set(compiled))
