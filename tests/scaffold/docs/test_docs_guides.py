"""The guides: every command runs and prints what is shown, every block of Python runs."""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT, Block, anchors, blocks, commands, links, missing, run

GUIDES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
)
LANGUAGES = {"python", "console", "shell", "text", "{toctree}"}

_REPLACE = re.compile(r'<!-- replace in (\S+): "(.+)" with "(.+)" -->')
_STATUS = re.compile(r"\[exit status (\d)\]")


def read(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


@pytest.fixture
def library_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "generated_layers"))


@pytest.mark.parametrize("guide", GUIDES)
def test_guide_runs(guide, tmp_path, library_on_path):
    page = read(guide)
    replacements = iter(_REPLACE.findall(page))
    namespace: dict[str, Any] = {}
    for block in blocks(page):
        if block.file:
            place = tmp_path / block.file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            _run_commands(guide, block, tmp_path)
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


def _run_commands(guide: str, block: Block, folder: Path) -> None:
    for command in commands(block):
        shown = [line for line in command.shown if not _STATUS.match(line)]
        stated = [m[1] for m in map(_STATUS.match, command.shown) if m]
        done = run(command, folder)
        where = f"{guide}:{block.line}: {command.text}\n{done.stdout}{done.stderr}"
        assert done.returncode == int(stated[0] if stated else 0), where
        lacking = missing(shown, done.stdout + done.stderr)
        assert lacking is None, f"{lacking!r} is not in the output of {where}"


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
        r"|\.venv/bin/(pip install|python -m pytest|ruff check|mlax-scaffold new-layer)"
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
