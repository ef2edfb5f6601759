"""Names that are almost spelt like others: what hints ask about, and what edits may write."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence


def closest(word: str, allowed: Iterable[str], cutoff: float = 0.6) -> str:
    """The one of the allowed words that is most like a word; "" where none is like it.

    Letters in another order are the likeliest slip: `tahn` is `tanh`, not `tan`.
    """
    allowed = list(allowed)
    turned = [other for other in allowed if sorted(other) == sorted(word)]
    close = turned or difflib.get_close_matches(word, allowed, n=1, cutoff=cutoff)
    return close[0] if close else ""


def did_you_mean(word: str, allowed: Sequence[str], cutoff: float = 0.6) -> str:
    """'did you mean "x"?' for the closest of the allowed words, or an empty string."""
    close = closest(word, allowed, cutoff)
    return f'did you mean "{close}"?' if close else ""


_FILLERS = frozenset(("is", "n", "num", "number", "size", "use", "with"))
"""Parts of names that say nothing which the others do not."""


def misspelt(word: str, allowed: Iterable[str]) -> str:
    """The one of the allowed names that a name is a slip for; "" where there is none, or several.

    A slip turns letters, leaves one out, or has another one; or it says a part at another length: `heads`
    and `num_heads`, `eps` and `epsilon`. What is only like it means something else, as `use_scale` and
    `use_bias` do, `beta1` and `beta2`, `non_trainable` and `trainable`: for hints, `closest` finds that.
    """
    allowed = [*allowed]
    turned = [other for other in allowed if sorted(other) == sorted(word)]
    found = turned or [other for other in allowed if _is_slip(word, other)]
    distances = [_distance(word, other) for other in found]
    least = [o for o, d in zip(found, distances, strict=True) if d == min(distances)]
    return least[0] if len(least) == 1 else ""


def _is_slip(word: str, other: str) -> bool:
    if re.sub(r"\D", "", word) != re.sub(r"\D", "", other):
        return False
    ours, theirs = (name.strip("_").split("_") for name in (word, other))
    if len(ours) == len(theirs):
        return all(map(_is_slip_of_part, ours, theirs))
    shorter, longer = sorted((ours, theirs), key=len)
    rest = [part for part in longer if part not in shorter]
    return len(rest) == len(longer) - len(shorter) and _FILLERS.issuperset(rest)


def _is_slip_of_part(part: str, other: str) -> bool:
    shorter, longer = sorted((part, other), key=len)
    if shorter == longer or {part, other} <= _FILLERS:
        return True
    if longer.startswith(shorter) and len(shorter) > 2:
        return True
    # Of few letters, most others are a word, too; types have few names.
    sure = len(shorter) > 3 or (part[:1].isupper() and len(shorter) > 2)
    return sure and _distance(part, other) <= 1 + (len(shorter) > 8)


def _distance(one: str, two: str) -> int:
    """How many letters are left out, added, other ones, or turned."""
    rows = [[*range(len(two) + 1)]]
    for i, a in enumerate(one):
        row = [i + 1]
        for j, b in enumerate(two):
            row.append(min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a != b)))
            if i and j and (a, b) == (two[j - 1], one[i - 1]):
                row[-1] = min(row[-1], rows[i - 1][j - 1] + 1)
        rows.append(row)
    return rows[-1][-1]
