"""Makes the fixes of specs, as long as each leaves a spec that is valid in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mlax_scaffold.errors import Diagnostic, SpecError
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.remedies.applying import applied

ROUNDS = 20
"""Times that a spec is read again: what one edit brings to light, the next round mends."""


def mend(
    files: Iterable[SpecFile],
    error: SpecError,
    read: Callable[[Iterable[SpecFile]], object],
) -> dict[str, str]:
    """The texts of the specs that are valid once the fixes of their findings are made, by path.

    A spec of which anything is left to mend by hand is not among them.

    Args:
        files: the specs.
        error: what is wrong with them.
        read: reads specs, and raises a SpecError.
    """
    texts = {file.path: file.text for file in files}
    changed = dict(texts)
    found = error.diagnostics
    for _ in range(ROUNDS):
        mended = _round(changed, found)
        if not mended:
            break
        changed |= mended
        try:
            read([replace(file, text=changed[file.path]) for file in files])
        except SpecError as again:
            found = again.diagnostics
        else:
            found = ()
            break
    left = {diagnostic.location.path for diagnostic in found}
    return {
        path: text
        for path, text in changed.items()
        if path not in left and text != texts[path]
    }


def _round(texts: dict[str, str], found: Iterable[Diagnostic]) -> dict[str, str]:
    """The texts that change when every fix is made that can be made together."""
    mended: dict[str, str] = {}
    by_path: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        by_path.setdefault(diagnostic.location.path, []).append(diagnostic)
    for path, diagnostics in by_path.items():
        fixes = [d.fix for d in diagnostics if d.fix is not None]
        if path in texts and fixes:
            text, made = applied(texts[path], fixes)
            if made and text != texts[path]:
                mended[path] = text
    return mended
