"""Text of generated code: docstrings, wrapped paragraphs, argument lists."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

WIDTH = 88

_SPACES = "\n\t"


def docstring(text: str, indent: int = 0) -> str:
    """A docstring literal whose value is the text; nothing in the text can end it."""
    lines = text.strip().split("\n")
    body = "\n".join(
        line if i == 0 or not line.strip() else " " * indent + line
        for i, line in enumerate(map(str.rstrip, lines))
    )
    if len(lines) > 1:
        body += "\n" + " " * indent
    if not all(c.isprintable() or c in _SPACES for c in body):
        return _escaped(body)
    plain = "\\" not in body and '"""' not in body and not body.endswith('"')
    if plain:
        return f'"""{body}"""'
    raw = '"""' not in body and not body.endswith(('"', "\\"))
    if raw:
        return f'r"""{body}"""'
    return _escaped(body)


def _escaped(body: str) -> str:
    """A literal in which quotes, backslashes and whatever cannot be seen are escapes."""
    text = "".join(
        c if c.isprintable() or c in _SPACES else repr(c)[1:-1]
        for c in body.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"""{text}"""'


def wrapped(text: str, indent: int = 0, hanging: int = 0) -> str:
    """A paragraph in lines that fit, where it stands `indent` deep."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH - indent,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def opening(text: str, indent: int = 0) -> str:
    """The first paragraph of a docstring in lines that fit, with the quotes before it."""
    quotes = '"""'
    return wrapped(f"{quotes}{text}", indent)[len(quotes) :]


def section(title: str, entries: Iterable[tuple[str, str]], indent: int = 4) -> str:
    """A section of a docstring, such as Args; empty where there are no entries."""
    lines = [
        textwrap.indent(wrapped(f"{name}: {doc}", indent + 4, 4), "    ")
        for name, doc in entries
    ]
    return "\n".join([f"{title}:", *lines]) if lines else ""


def paragraphs(*parts: str) -> str:
    """The parts that are not empty, with a blank line between them."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def indented(text: str, depth: int = 4) -> str:
    """Every line of code moved to the right; blank lines stay empty."""
    # Not `splitlines`: to Python, a line ends in a line feed only, also in a comment.
    lines = text.split("\n")
    return "\n".join(" " * depth + line if line.strip() else "" for line in lines)


def exported(names: Iterable[str]) -> str:
    """What a registry exports, as source."""
    # Git takes changes for one where no more than three lines are between them: the
    # comment keeps those of the imports and of the names apart.
    return (
        "# A line for each name, here and above: branches that each add one merge by\n"
        "# themselves.\n"
        f"{offered(names)}"
    )


def offered(names: Iterable[str]) -> str:
    """What a module offers, as source: to star imports, and to who asks for its names."""

    def place(name: str) -> tuple[int, str]:
        constant = len(name) > 1 and name.isupper()
        return (0 if constant else 1 if name[:1].isupper() else 2), name

    return (
        f"__all__ = [{''.join(f'{name!r}, ' for name in sorted(names, key=place))}]\n"
        "\n\ndef __dir__() -> list[str]:\n    return __all__"
    )


def listed(texts: Iterable[str]) -> str:
    """Texts as a person lists them: `a, b and c`."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def lower_first(text: str) -> str:
    """The text as it goes on after a colon; an acronym keeps its capitals."""
    if len(text) > 1 and text[1].isupper():
        return text
    return text[:1].lower() + text[1:]


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
