"""Formats generated Python: two calls of the formatter for all files together."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ruff.__main__ import find_ruff_bin

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.render.text import WIDTH

_COMMON = ("--isolated", "--no-cache", "--line-length", str(WIDTH))
_RULES = "I,F401,UP034"
"""Sort imports, drop those that are not used, drop extra parentheses."""

_COMPACT = "format.skip-magic-trailing-comma=true"


class FormatFault(MlaxScaffoldError):
    """Generated code is not valid Python: a fault of the generator."""


def format_python(files: Iterable[Rendered], package: str) -> tuple[Rendered, ...]:
    """The files, those of Python with sorted imports and in the formatter's layout.

    Raises:
        FormatFault: where a file is not valid Python.
    """
    files = tuple(files)
    with tempfile.TemporaryDirectory(prefix="mlax-scaffold-") as folder:
        root = Path(folder)
        chosen = [f for f in files if f.path.endswith(".py")]
        for file in chosen:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.text.encode())
        if chosen:
            first_party = f'lint.isort.known-first-party=["{package}", "mlax_scaffold"]'
            compact = "lint.isort.split-on-trailing-comma=false"
            target = ("--target-version", "py311")
            _ruff(
                root,
                "check",
                "--fix-only",
                "--select",
                _RULES,
                "--config",
                first_party,
                "--config",
                compact,
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
        return tuple(
            replace(f, text=(root / f.path).read_bytes().decode())
            if f.path.endswith(".py")
            else f
            for f in files
        )


def _ruff(root: Path, command: str, *arguments: str) -> None:
    run = subprocess.run(
        [find_ruff_bin(), command, *_COMMON, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0 or "error:" in run.stderr:
        raise FormatFault(
            f"generated code is not valid Python (ruff {command}):\n"
            f"{run.stderr.strip() or run.stdout.strip()}\n"
            "This is a fault of a template or a rewriting pass."
        )
