"""Makes the fixes of specs, as long as each leaves a spec that is valid in the end."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mlax_scaffold.errors import Diagnostic, SpecError
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.remedies.applying import applied

ROUNDS = 20
"""Times that a spec is read again: what one edit brings to light, the next round mends."""


@dataclass(frozen=True)
class Mended:
    """What becomes of specs once the fixes of their findings are made."""

    texts: dict[str, str]
    """Those that are valid then, by path."""
    left: tuple[Diagnostic, ...]
    """What is to be mended by hand in the others, at the lines of their texts as they are now.

    What the edits bring to light is among it.
    """


def mend(
    files: Iterable[SpecFile],
    error: SpecError,
    read: Callable[[Iterable[SpecFile]], object],
) -> Mended:
    """The specs once the fixes of their findings are made, round after round.

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
    return Mended(
        {
            path: text
            for path, text in changed.items()
            if path not in left and text != texts[path]
        },
        tuple(_moved(d, texts, changed) for d in found),
    )


def _moved(
    diagnostic: Diagnostic, before: dict[str, str], after: dict[str, str]
) -> Diagnostic:
    """A finding in an edited text, at the line that this is in the text before."""
    place = diagnostic.location
    old, new = (texts.get(place.path, "").splitlines() for texts in (before, after))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for _, start, end, first, last in matcher.get_opcodes():
        if first < place.line <= last:
            line = max(1, min(start + place.line - first, end))
            return replace(diagnostic, location=replace(place, line=line))
    return diagnostic


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
