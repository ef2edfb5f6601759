"""Formats generated Python: two calls of the formatter for all files together."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from mlax_scaffold.errors import MlaxScaffoldError, UsageError
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.render.scratch import fill, scratch
from mlax_scaffold.render.text import WIDTH

_COMMON = ("--isolated", "--no-cache")
_RULES = "I,F401,UP034"
"""Sort imports, drop those that are not used, drop extra parentheses."""

_COMPACT = "format.skip-magic-trailing-comma=true"


class FormatFault(MlaxScaffoldError):
    """Generated code is not valid Python: a fault of the generator."""


def format_python(files: Iterable[Rendered], package: str) -> tuple[Rendered, ...]:
    """The files, those of Python with sorted imports and in the formatter's layout.

    What is copied stays as it is.

    Raises:
        FormatFault: where a file is not valid Python.
    """
    files = tuple(files)
    with scratch() as folder:
        root = Path(folder)
        chosen = [f for f in files if f.path.endswith(".py") and not f.copied]
        fill(folder, {f.path: f.text for f in chosen})
        if chosen:
            target = ("--target-version", "py311")
            _ruff(
                root,
                "check",
                "--fix-only",
                "--select",
                _RULES,
                *_sorting(package),
                *target,
                ".",
            )
            # In a registry each name has a line, however few there are: two additions
            # then merge.
            registries = {f.path: b"" for f in chosen if f.registry}
            if registries:
                _ruff(root, "format", *target, *registries)
            registries = {path: (root / path).read_bytes() for path in registries}
            _ruff(root, "format", "--config", _COMPACT, *target, ".")
            for path, text in registries.items():
                (root / path).write_bytes(text)
        texts = {f.path: (root / f.path).read_bytes().decode() for f in chosen}
        return tuple(replace(f, text=texts.get(f.path, f.text)) for f in files)


def lay_out(texts: Mapping[str, str], package: str, width: int) -> dict[str, str]:
    """Texts by their paths, those of Python with sorted imports and lines of a width.

    What is no valid Python stays as it is.
    """
    with scratch() as folder:
        root = Path(folder)
        chosen = {path: text for path, text in texts.items() if path.endswith(".py")}
        fill(folder, chosen)
        if chosen:
            target = ("--target-version", "py311", ".")
            select = ("--fix-only", "--select", "I", *_sorting(package))
            _run(root, "check", *select, *target, width=width)
            _run(root, "format", *target, width=width)
        done = {path: (root / path).read_bytes().decode() for path in chosen}
    return {**texts, **done}


def _sorting(package: str) -> tuple[str, ...]:
    first_party = f'lint.isort.known-first-party=["{package}", "mlax_scaffold"]'
    compact = "lint.isort.split-on-trailing-comma=false"
    return "--config", first_party, "--config", compact


def _ruff(root: Path, command: str, *arguments: str) -> None:
    run = _run(root, command, *arguments)
    if run.returncode != 0 or "error:" in run.stderr:
        raise FormatFault(
            f"generated code is not valid Python (ruff {command}):\n"
            f"{run.stderr.strip() or run.stdout.strip()}\n"
            "This is a fault of a template or a rewriting pass."
        )


def _run(
    root: Path, command: str, *arguments: str, width: int = WIDTH
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [
                *(_executable(), command, *_COMMON),
                *("--line-length", str(width), *arguments),
            ],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
    except (ImportError, OSError) as error:
        raise UsageError(
            f"the formatter ruff cannot be run, without which no code is generated: {error}. "
            "Install it beside mlax-scaffold: "
            f"`{sys.executable} -m pip install --force-reinstall ruff`; "
            "`mlax-scaffold doctor` tells whether it runs"
        ) from error


def _executable() -> str:
    # What cannot be imported, or has no executable, is told as what cannot be run.
    from ruff.__main__ import find_ruff_bin

    return find_ruff_bin()
