"""Axes of inputs that a text tells: `x: (batch_size, 3, num_points)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_GROUP = re.compile(r"[(\[]\s*([\w*/+ ]+(?:,\s*[\w*/+ ]+)*,?)\s*[)\]]")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""What a citation has behind its authors."""
_FAR = 160
"""How far behind the name of an input its axes are looked for, in characters."""
_NO_AXES = frozenset(
    (
        *("optional", "tensor", "str", "int", "float", "bool", "list", "tuple", "none"),
        *("default", "array", "long", "mask", "logits", "required", "longtensor"),
    )
)


def documented(text: str, argument: str, others: Sequence[str]) -> tuple[str, ...]:
    """The first group of names behind that of an input, before those of other inputs, as they are written."""
    for match in re.finditer(rf"(?<![\w.]){re.escape(argument)}(?![\w.(])", text):
        part = text[match.end() : match.end() + _FAR]
        end = min(
            (
                m.start()
                for o in others
                if (
                    m := re.search(rf"(?m)(?:^|:param)\s*{re.escape(o)}\b\s*[:(]", part)
                )
            ),
            default=len(part),
        )
        for group in _GROUP.finditer(part[:end]):
            tokens = [t.strip() for t in group[1].split(",")]
            single = len(tokens) == 1
            tokens = [t for t in tokens if t]
            words = {w.lower() for t in tokens for w in re.findall(r"[A-Za-z]+", t)}
            if single or len(tokens) > 5 or words & _NO_AXES or _YEAR.search(group[1]):
                continue
            return tuple(tokens)
    return ()
