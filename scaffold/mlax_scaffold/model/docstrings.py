"""The parts of a docstring, whatever its form: the sentence that sums it up, and the rest."""

from __future__ import annotations

import re

_SHORT = 81
"""Characters of a paragraph that is a summary whole: it fits on a line of a module."""

_BLANK = re.compile(r"\n[ \t]*\n")
_END = re.compile(r"[.!?][\"')\]]*(?=\s)")
_ABBREVIATIONS = {
    "al",
    "cf",
    "e.g",
    "eq",
    "eqs",
    "etc",
    "fig",
    "i.e",
    "no",
    "resp",
    "sec",
    "vs",
}


def split_docstring(doc: str) -> tuple[str, str]:
    """The summary on one line, and what follows it.

    The summary is the first paragraph where that is short, else its first line where
    that ends a sentence, else its first sentence.
    """
    paragraph, _, rest = _parted(doc.strip())
    whole = " ".join(paragraph.split())
    if len(whole) <= _SHORT:
        return whole, rest
    end = _first_sentence(paragraph)
    summary, more = paragraph[:end], paragraph[end:].strip()
    return " ".join(summary.split()), "\n\n".join(part for part in (more, rest) if part)


def _parted(doc: str) -> tuple[str, str, str]:
    found = _BLANK.search(doc)
    if found is None:
        return doc, "", ""
    return doc[: found.start()], found.group(), doc[found.end() :].strip("\n")


def _first_sentence(paragraph: str) -> int:
    """Where the first sentence ends; the paragraph's end where it is one sentence."""
    for found in _END.finditer(paragraph):
        word = paragraph[: found.start()].split()[-1:]
        last = word[0].lstrip("([\"'") if word else ""
        initial = len(last) == 1 and last.isupper()
        if not initial and last.lower() not in _ABBREVIATIONS:
            return found.end()
    return len(paragraph)
