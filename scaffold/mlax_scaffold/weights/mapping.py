"""A mapping: what each weight of a model is made of, as a value and as a small file."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.errors import UsageError
from mlax_scaffold.weights.arrays import Expression, parse
from mlax_scaffold.weights.model import GROUPS, Leaf

INITIAL = "initial"
"""What a file says of a weight that keeps its initial value."""

_VERSION = 1
_SHAPED = re.compile(r"(?P<dtype>[^\[\]]+)\[(?P<shape>[\d, ]*)\]")

_MOST = 8
"""How many candidates are listed of a weight, or of one layer of it."""


@dataclass(frozen=True)
class Weight:
    """A weight of the model. Without an expression it has candidates, or nothing fits it."""

    leaf: Leaf
    expression: Expression | None = None
    reason: str = ""
    candidates: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    """What each candidate takes the checkpoint for, where that is what is open; else none."""
    initial: bool = False
    """Whether it keeps its initial value."""

    @property
    def decided(self) -> bool:
        """Whether it is known what the weight is."""
        return self.initial or self.expression is not None


@dataclass(frozen=True)
class Mapping:
    """All weights of a model in its order, and the arrays of the checkpoint that none is made of."""

    source: str
    weights: tuple[Weight, ...]
    unused: tuple[str, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    """Arrays of the checkpoint that no model needs, each with the reason."""
    notes: tuple[str, ...] = ()

    @property
    def ambiguous(self) -> tuple[Weight, ...]:
        """Weights that several arrays fit."""
        return tuple(w for w in self.weights if not w.decided and w.candidates)

    @property
    def missing(self) -> tuple[Weight, ...]:
        """Weights that nothing fits."""
        return tuple(w for w in self.weights if not w.decided and not w.candidates)

    @property
    def complete(self) -> bool:
        """Whether every weight is decided and every array has its place."""
        return not (self.ambiguous or self.missing or self.unused)

    def __str__(self) -> str:
        return "\n".join(_lines(self)) + "\n"


def _lines(mapping: Mapping) -> Iterator[str]:
    yield f"# Weights of a model from a checkpoint of {mapping.source or 'unknown origin'}: on the left"
    yield "# a weight of the model and what it is, on the right what it is made of there."
    yield from (f"# {note}" for note in mapping.notes)
    yield ""
    yield f"version = {_VERSION}"
    yield f"source = {_text(mapping.source)}"
    yield ""
    yield "# Arrays of the checkpoint that nothing is made of."
    rows = [
        *((name, "left over: no weight is like it") for name in mapping.unused),
        *mapping.ignored,
    ]
    yield "unused = [" if rows else "unused = []"
    yield from (f"  {_text(name)},  # {why}" for name, why in rows)
    if rows:
        yield "]"
    for group in GROUPS:
        own = [w for w in mapping.weights if w.leaf.group == group]
        if own:
            yield ""
            yield f"[{group}]"
            for weight in own:
                yield from _weight_lines(weight)


def _weight_lines(weight: Weight) -> Iterator[str]:
    if weight.decided:
        made_of = INITIAL if weight.initial else str(weight.expression)
        reason = f"  # {weight.reason}" if weight.reason else ""
        yield _row(weight.leaf, made_of) + reason
        return
    if weight.candidates:
        yield f"# Ambiguous: which of these is {weight.leaf.path or 'the root'}? Take the # from one."
        # Those of one layer of a stack are no expression of the whole.
        said = weight.readings or ("",) * len(weight.candidates)
        listed: Counter[str] = Counter()
        for text, reading in zip(weight.candidates, said, strict=True):
            layer = text.startswith("layer ")
            place = text.partition(":")[0] if layer else ""
            listed[place] += 1
            if listed[place] > _MOST:
                continue
            row = f"# {text}" if layer else "# " + _row(weight.leaf, text)
            yield f"{row}  # {reading}" if reading else row
    else:
        yield f'# Nothing fits {weight.leaf.path or "the root"}: name it, or write "{INITIAL}".'
        yield "# " + _row(weight.leaf, INITIAL)


def described(leaf: Leaf) -> str:
    """Dtype and shape."""
    return f"{leaf.dtype}{list(leaf.shape)}"


def _row(leaf: Leaf, text: str) -> str:
    return f"{_text(leaf.path)} = [{_text(described(leaf))}, {_text(text)}]"


def _text(text: str) -> str:
    """A string of TOML: as it stands in single quotes where it can."""
    if '"' in text and not re.search(r"['\x00-\x1f\x7f]", text):
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse_mapping(text: str, place: str = "the mapping") -> Mapping:
    """A mapping from the text that `str` makes of one.

    Args:
        text: TOML.
        place: what errors call it.

    Raises:
        UsageError: where it is no mapping; it names every line that is wrong.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{place} is no TOML: {error}") from error
    if data.get("version") != _VERSION:
        raise UsageError(
            f"{place}: expected version = {_VERSION}, got {data.get('version')!r}; "
            "write it with `mlax-scaffold weights map`"
        )
    problems = [
        f"there is no table {name!r}; there are {', '.join(GROUPS)}"
        for name in data
        if name not in ("version", "source", "unused", *GROUPS)
    ]
    unused = data.get("unused", [])
    if not (isinstance(unused, list) and all(isinstance(n, str) for n in unused)):
        problems.append(f"unused must be a list of names, got {unused!r}")
    weights: list[Weight] = []
    for group in GROUPS:
        table = data.get(group, {})
        if not isinstance(table, dict):
            problems.append(f"{group} must be a table, got {table!r}")
            continue
        for path, value in table.items():
            try:
                weights.append(_weight(group, path, value))
            except ValueError as error:
                problems.append(f"{group}, {path}: {error}")
    if problems:
        raise UsageError(f"{place} is no mapping:\n" + _listed(problems))
    ignored = tuple((name, "") for name in unused)
    return Mapping(str(data.get("source", "")), tuple(weights), ignored=ignored)


def _weight(group: str, path: str, value: Any) -> Weight:
    if not (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, str) for part in value)
    ):
        raise ValueError(
            f'expected ["float32[2, 3]", \'"name"\'], what it is and what it is made of; '
            f"got {value!r}"
        )
    shaped = _SHAPED.fullmatch(value[0].strip())
    if shaped is None:
        raise ValueError(
            f"expected a dtype and a shape, float32[2, 3], got {value[0]!r}"
        )
    shape = tuple(int(n) for n in shaped["shape"].split(",") if n.strip())
    leaf = Leaf(group, path, shape, shaped["dtype"])
    if value[1].strip() == INITIAL:
        return Weight(leaf, initial=True)
    return Weight(leaf, parse(value[1]))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
