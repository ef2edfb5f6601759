"""Values of hyperparameters that are small enough for tests, and are what their names ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlax_scaffold.conversion.declarations.words import NUMBERED
from mlax_scaffold.conversion.examples.computing import default_of
from mlax_scaffold.conversion.output.description import Field

_SMALL = re.compile(
    r"(heads?|groups?|depth|layers?|blocks?|factor|ratio|mult\w*|reduction|expansion|^n_|^num_|rank|stride|experts|top_?k|modes|^k$|^N$|bottleneck)"
)
COUNTS = re.compile(
    r"^(num_|n_)|(^|_)(blocks|blks|depths|nums|repeats|layers)$|stage_sizes$"
)
"""Sizes that count what is made, one after the other."""
_KERNEL = re.compile(r"(kernel|window|patch)")
_WIDTH = re.compile(
    r"(^|_)(embd?|embed|hid\w*|state|model|inner|dims?|channels?|features|ctx|mels?)$"
)
"""Sizes of arrays, and none of what is made."""
_PADS = re.compile(r"pad(ding)?_?(token|idx|index|id)")
"""The token that stands where there is none."""
_VOCABULARY = re.compile(
    r"(vocab|entries|embeddings|tokens|classes|max_len|length|positions|block_size)"
)
DEPTHS = re.compile(r"(^|_)n?(layers?|blocks?|depth)$")
"""How many layers there are, one after the other."""
_DEEPEST = 4
"""More of them make tests slow."""
_KEPT = 32
"""Defaults up to this are small enough for tests, and fit each other."""

_WIDEST = 64
"""What is wider makes tests slow."""


def small_value(field: Field, text: str) -> object:
    """A small value of a field, of which a text reads so many as it does."""
    word, name = field.word, field.name
    default = default_of(field.default)
    if word.startswith(("Size", "Count", "int")) and not word.startswith("Sizes"):
        if type(default) is int and default > _DEEPEST and DEPTHS.search(name):
            return 2
        if type(default) is int and default <= _KEPT:
            return default if default > 0 or word != "Size" else 8
        if default is None and "None" in word:
            return None
        if NUMBERED.search(name) or (word.startswith("Count") and _PADS.search(name)):
            return 0
        if _KERNEL.search(name):
            return 3 if "patch" not in name else 2
        if _VOCABULARY.search(name):
            return 16
        small = _SMALL.search(name) and not _WIDTH.search(name)
        if small or re.search(rf":\s*self\.{name}\s*[\],]", text):
            # Few, or what takes so many of the first elements of an axis.
            return 2
        if {*re.findall(rf"(\w*)\(?self\.{name}\b", text)} == {"range"}:
            # Passes of loops, and nothing else.
            return 2
        return 8
    if word.startswith(("Sizes", "Shape", "tuple[int")):
        if isinstance(default, tuple | list) and default and _are_small(default):
            return tuple(default)
        if "None" in word and default is None:
            return None
        if field.default is None and re.search(rf"self\.{name}\[(\w+ \+ 1|1:)\]", text):
            # Layers from each to the next one: what stands between them is there, too.
            return (8, 16, 8)
        read = re.findall(rf"self\.{name}\[(\d+)\]", text)
        count = max(2, *(int(place) + 1 for place in read)) if read else 2
        apart = re.search(
            rf"^\s*\(?(\w+(?:, \w+)+)\)? = (?:tuple\(|list\()?self\.{name}\)?$",
            text,
            re.M,
        )
        count = len(apart[1].split(",")) if apart else count
        count = len(default) if isinstance(default, tuple | list) and default else count
        if re.search(r"stride|dilation|pad", name):
            return (1,) * count
        if COUNTS.search(name) and not default:
            return (1,) * count
        if not _KERNEL.search(name) and isinstance(default, tuple | list):
            return _scaled(tuple(default)) or (8,) * count
        if _KERNEL.search(name):
            return ((3,) if "patch" not in name else (2,)) * count
        return (8,) * count
    if word.startswith(("str", "tuple[str")) and default:
        # Others may mean nothing.
        return default
    if field.default is not None:
        return None
    if word.startswith(("tuple[tuple[float", "tuple[tuple[int")):
        row = re.findall(r"\b(int|float)\b", word)
        return (tuple(8 if column == "int" else 8.0 for column in row),) * 2
    if word.startswith(("float", "Positive")):
        return 1.0
    if word.startswith(("Probability", "Decay", "NonNegative")):
        return 0.1
    if word.startswith("bool"):
        return True
    return None


def _scaled(sizes: tuple[object, ...]) -> tuple[int, ...]:
    """Sizes in the same proportions, of which the smallest is at most 8; none where that cannot be."""
    whole = [size for size in sizes if type(size) is int and size > 0]
    if not whole or len(whole) != len(sizes):
        return ()
    by = max(1, min(whole) // 8)
    fits = all(size % by == 0 for size in whole)
    made = tuple(size // by for size in whole) if fits else ()
    return made if made and max(made) <= _WIDEST else ()


def _are_small(numbers: Sequence[object]) -> bool:
    """Whether a default is numbers of which all are small, or anything else, which stays as it is."""
    counts = [n for n in numbers if type(n) is int]
    return len(counts) < len(numbers) or max(counts) <= 8
