"""Carries an edit of a generated text over to the text that it follows from.

Both say the same in other words. What was edited is found by its surroundings, which both have; whether
the result is right is for the caller to see, by generating from it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_LAYOUT = {
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


_FARTHEST = 30
"""Tokens around an edit that may be the generator's own."""


class Untraceable(Exception):
    """The surroundings of an edit are in no part of the other text. Its text is the edited code."""


@dataclass(frozen=True)
class Token:
    """A token and its place in a text, in characters."""

    text: str
    """A bracket with the name before the one that opens it, so that `)` of two calls differ."""
    start: int
    end: int
    line: int


@dataclass(frozen=True)
class _Edit:
    first: int
    last: int
    text: str


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, without layout; the ends of statements are tokens."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Token] = []
    opened: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _LAYOUT:
            continue
        (line, column), (end_line, end_column) = token.start, token.end
        start, end = starts[line - 1] + column, starts[end_line - 1] + end_column
        word = "\n" if token.type == tokenize.NEWLINE else token.string
        if word in ("(", "[", "{"):
            opened.append(found[-1].text if found else "")
            word += opened[-1]
        elif word in (")", "]", "}") and opened:
            word += opened.pop()
        found.append(Token(word, start, end, line))
    return found


def transfer(
    before: str,
    after: str,
    other: str,
    lines: tuple[int, int],
    told: Callable[[str], str],
) -> str:
    """The other text with the edit that makes `after` of `before`.

    Args:
        before: the generated function.
        after: that function as it was edited.
        other: the text that it follows from.
        lines: the lines of `other` that the function follows from.
        told: what text of an edit is called in `other`.

    Raises:
        Untraceable: an edit has no place in those lines.
    """
    sides = _Sides(before, after, other, lines)
    edits = {sides.carried(first, last, told) for first, last in sides.changed()}
    for edit in sorted(edits, key=lambda e: e.first, reverse=True):
        other = other[: edit.first] + edit.text + other[edit.last :]
    return other


class _Sides:
    """Three texts, and which of their tokens are the same."""

    def __init__(self, before: str, after: str, other: str, lines: tuple[int, int]):
        self.before, self.after, self.other = before, after, other
        self.old, self.new = tokens_of(before), tokens_of(after)
        self.wanted = [t for t in tokens_of(other) if lines[0] <= t.line <= lines[1]]
        self.places = _aligned(self.old, self.wanted)
        self.same = _aligned(self.old, self.new)

    def changed(self) -> list[tuple[int, int]]:
        """The first token of each edit, and the one after it."""
        codes = _opcodes(self.old, self.new)
        return [(first, last) for code, first, last, *_ in codes if code != "equal"]

    def carried(self, first: int, last: int, told: Callable[[str], str]) -> _Edit:
        """An edit, at its place in the other text.

        Raises:
            Untraceable: it has none.
        """
        # What surrounds it has to be in both; what is not belongs to the edit.
        right = last
        while right < len(self.old) and not self._anchors(right):
            right += 1
        if right == len(self.old) or self.places[right] == 0:
            # What would stand before the whole of the lines is in none of them.
            raise Untraceable(self._shown(first, last))
        if right == last and self._starts_a_line(first) and self._begins(right):
            # Statements before one that is there: what is above may be the generator's.
            end = self.wanted[self.places[right]]
            start = self.other.rfind("\n", 0, end.start) + 1
            text = told(self._text(first - 1, right))
            return _Edit(start, end.start, self._moved(text, right, whole=True))
        left = first - 1
        while left >= 0 and not self._anchors(left):
            left -= 1
        if left < 0 or self.places[left] >= self.places[right]:
            raise Untraceable(self._shown(first, last))
        if right - left - (last - first) > _FARTHEST:
            raise Untraceable(self._shown(first, last))
        whole = self.old[left].text == "\n"
        text = told(self._text(left, right))
        if not whole and self.old[right].text != "\n":
            if self._has_comment(left, right):
                raise Untraceable(self._shown(first, last))
            text = _on_one_line(text)
            text = text.rstrip() if self.old[right].text[0] in ")]}" else text
            text = text.lstrip() if self.old[left].text[0] in "([{" else text
        start = self.wanted[self.places[left]].end
        end = self.wanted[self.places[right]]
        return _Edit(start, end.start, self._moved(text, right, whole=whole))

    def _anchors(self, number: int) -> bool:
        return number in self.places and number in self.same

    def _starts_a_line(self, number: int) -> bool:
        left = number - 1
        return left in self.same and self.old[left].text == "\n"

    def _begins(self, number: int) -> bool:
        """Whether a statement of the other text begins with what is a token there."""
        place = self.places[number]
        return place == 0 or self.wanted[place - 1].text == "\n"

    def _text(self, left: int, right: int) -> str:
        """What stands between two tokens now."""
        return self.after[
            self.new[self.same[left]].end : self.new[self.same[right]].start
        ]

    def _has_comment(self, left: int, right: int) -> bool:
        between = self.new[self.same[left] + 1 : self.same[right]]
        return any(token.text.startswith("#") for token in between)

    def _moved(self, text: str, right: int, *, whole: bool) -> str:
        """A text with the indentation of where it is to stand; `whole`: from its first line on."""
        here = _indent(self.other, self.wanted[self.places[right]])
        return _shifted(
            text, here - _indent(self.after, self.new[self.same[right]]), whole=whole
        )

    def _shown(self, first: int, last: int) -> str:
        """The lines of an edit, as they are now; as they were, where nothing is there."""
        for code, *span, start, end in _opcodes(self.old, self.new):
            if code != "equal" and span == [first, last] and start < end:
                return _lines(self.after, self.new[start].line, self.new[end - 1].line)
        return _lines(self.before, self.old[first].line, self.old[last - 1].line)


def _aligned(one: Sequence[Token], two: Sequence[Token]) -> dict[int, int]:
    """The places of tokens that both have, in their order."""
    matcher = SequenceMatcher(None, _texts(one), _texts(two), autojunk=False)
    return {
        block.a + n: block.b + n
        for block in matcher.get_matching_blocks()
        for n in range(block.size)
    }


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]


def _opcodes(
    old: Sequence[Token], new: Sequence[Token]
) -> Sequence[tuple[str, int, int, int, int]]:
    matcher = SequenceMatcher(None, _texts(old), _texts(new), autojunk=False)
    return matcher.get_opcodes()


def _lines(text: str, first: int, last: int) -> str:
    return "\n".join(text.splitlines()[first - 1 : last])


def _on_one_line(text: str) -> str:
    """A part of an expression, without the line ends that its brackets allow."""
    text = re.sub(r"([(\[{])\s*\n\s*", r"\1", text)
    text = re.sub(r",?\s*\n\s*([)\]}])", r"\1", text)
    return re.sub(r"\s*\n\s*", " ", text)


def _shifted(text: str, shift: int, *, whole: bool) -> str:
    """A text whose lines begin so many columns further to the right."""

    def moved(found: re.Match[str]) -> str:
        spaces = found.group(1)
        return " " * max(len(spaces) + shift, 0)

    lines = text.split("\n")
    begin = 0 if whole else 1
    shifted = [
        re.sub(r"^( *)", moved, line) if line else line for line in lines[begin:]
    ]
    return "\n".join([*lines[:begin], *shifted])


def _indent(text: str, token: Token) -> int:
    line = text.splitlines()[token.line - 1]
    return len(line) - len(line.lstrip())
