"""Shapes of inputs whose types were guessed: which of them the code takes, and what ties their axes.

More than one often fits, where arrays are stretched over axes that they do not have, or a size happens to be
that of a weight. The plainest is the one that needs the fewest such accidents.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import re
import warnings
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from typing import Any

import jax

from mlax_scaffold.reader.axes.known import EDGES
from mlax_scaffold.reader.axes.trying import OWN
from mlax_scaffold.testing.contract import Contract
from mlax_scaffold.testing.picks import with_values
from mlax_scaffold.testing.ranks import with_sizes
from mlax_scaffold.testing.solving import are_free
from mlax_scaffold.testing.untaken import GIVEN

Solve = Callable[[Contract[Any]], Mapping[str, str] | None]
"""What ties the axes of a contract's cases; None where none is taken."""

SECONDS = 2.0
"""So long it is looked for what ties the axes of some shapes, of processor time."""
SECONDS_OF_ALL = 20.0
"""So long all shapes of one definition are tried."""
_MOST = 24
"""So many shapes of all inputs are tried at most."""
_FURTHER = 0.5
"""How much a shape costs for each likelier one before it."""
_ALONE = 2.0
"""What it costs that floating numbers have one axis alone: few inputs are one vector."""
_BY_CHANCE = 2.0
"""What it costs that an axis is as large as a weight, or as another kind of axis: that may be by chance."""
_OF_ROWS = 1.0
"""What it costs that an input has two axes of one size, or a last one that goes with the rows of another."""
_OPEN = "*batch"
"""What open axes are called that are guessed."""
_SHAPE = re.compile(r"""(["'])\w+\1: ["']([^"']*)["']""")
"""An input with its shape, in the text of tests."""
_NUMBERS = (1, 2)
"""So many axes stand for `*name`, and are taken, where any number is."""


def plainest(
    guesses: Mapping[str, Sequence[str]],
    contract_of: Callable[[Mapping[str, str]], Contract[Any] | None],
    solve: Solve,
) -> dict[str, str]:
    """The shapes that the code takes with the fewest accidents; nothing where it takes none.

    Args:
        guesses: the shapes of each input, the likeliest first. No axis has a name that is in two inputs.
        contract_of: the contract of cases in which inputs have these shapes.
        solve: what ties the axes of its cases.
    """
    found: tuple[float, dict[str, str]] | None = None
    for distance, shapes in _together(guesses):
        if found is not None and distance >= found[0]:
            break
        contract = contract_of(shapes)
        sizes = None if contract is None else solve(contract)
        if sizes is None:
            continue
        made = with_sizes(shapes, sizes)
        solved = contract_of(made)
        if solved is None or not _takes_any_number(made, solved):
            continue
        cost = distance + _accidents(shapes, sizes) + _stretched(made, solved)
        if found is None or cost < found[0]:
            found = cost, made
    return _named(found[1]) if found else {}


def loosest(
    guesses: Mapping[str, Sequence[str]],
    text: str,
    fields: Container[str],
    contract_of: Callable[[Mapping[str, str]], Contract[Any] | None],
    solve: Solve,
) -> dict[str, str]:
    """The shapes with fewer ties than the tests' where the code takes them; nothing where it does not.

    Args:
        guesses: the shapes of each input, the likeliest first.
        text: that of the tests, which say the shapes that were guessed.
        fields: the names of hyperparameters.
        contract_of: the contract of cases in which inputs have other shapes.
        solve: what ties the axes of its cases.
    """
    written = shapes_in(text, guesses)
    if found := _unshared(written, text, contract_of):
        return found
    guessed = {n: s for n, s in written.items() if not _is_open(s)}
    apart = {name: guesses[name][0] for name in guessed}
    if _freedom(apart, fields) <= _freedom(guessed, fields):
        return {}
    contract = contract_of(apart)
    sizes = None if contract is None else solve(contract)
    made = None if sizes is None else with_sizes(apart, sizes)
    if made is None or _freedom(made, fields) <= _freedom(guessed, fields):
        return {}
    return _named(made)


def _unshared(
    shapes: Mapping[str, str],
    text: str,
    contract_of: Callable[[Mapping[str, str]], Contract[Any] | None],
) -> dict[str, str]:
    """The shapes in which inputs have open axes of their own, where the code ties them to no other one's."""
    found: dict[str, str] = {}
    given = {n: s for n, s in shapes.items() if s.split()[:1] == [_OPEN]}
    left = sum(_OPEN in shape for _, shape in _SHAPE.findall(text))
    # The first keeps the name where others may go.
    for name, shape in [*given.items()][1:] + [*given.items()][:1]:
        own = f"{name}_{_OPEN[1:]}"
        made = {**found, name: shape.replace(_OPEN, f"*{own}", 1)}
        contract = contract_of(made) if left > 1 else None
        apart = ({_OPEN[1:]: n, own: 3 - n} for n in _NUMBERS)
        if contract and all(are_free(contract.make, numbers) for numbers in apart):
            found, left = made, left - 1
    return found


def _is_open(shape: str) -> bool:
    return "*" in shape or "..." in shape or "#" in shape


def _freedom(shapes: Mapping[str, str], fields: Container[str]) -> int:
    """How many sizes of axes are free."""
    words = {word for shape in shapes.values() for word in shape.split()}
    return sum(word.isidentifier() and word not in fields for word in words)


def fit(shapes: Mapping[str, str], text: str, contract: Contract[Any]) -> bool:
    """Whether the code takes the shapes of a contract's cases, as far as an example of them does not tell.

    Args:
        shapes: those that were guessed.
        text: that of the tests.
        contract: of cases in which inputs may be left out.
    """
    optional = [name for name in shapes if f"{name}{GIVEN}" in text]
    whole = with_all(contract, optional)
    given = not optional or are_free(whole.make)
    return given and _takes_any_number(shapes, whole)


def shapes_in(text: str, names: Iterable[str]) -> dict[str, str]:
    """The shapes of inputs that generated tests say."""
    found = {name: re.search(_written(name), text) for name in names}
    return {n: (f[2] or f[3] or "") for n, f in found.items() if f is not None}


def _written(name: str) -> str:
    return rf"""(["']{name}["']): (?:'([^']*)'|"([^"]*)")"""


def replaced(text: str, shapes: Mapping[str, str]) -> str:
    """The text of generated tests in which inputs have other shapes."""
    for name, shape in shapes.items():
        new = rf'\1: "{shape}"'
        text = re.sub(_written(name), new, text, count=1)
    return text


def with_all(contract: Contract[Any], names: Container[str]) -> Contract[Any]:
    """The contract of cases in which the inputs of these names are given, where they may be left out."""

    def make(pick: Any) -> Any:
        def told(name: str, domain: Any) -> Any:
            picked = pick(name, domain)
            given = name.endswith(GIVEN) and name.removesuffix(GIVEN) in names
            return True if given else picked

        return contract.make(told)

    return replace(contract, make=make)


@contextlib.contextmanager
def unchecked(package: str, owner: str, names: Sequence[str]) -> Iterator[None]:
    """Where the generated code of a definition takes these inputs in any shape."""
    checks: Any = importlib.import_module(f"{package}._core.checks")
    shapes = checks.shapes

    def others(given: str, sizes: Any, /, **inputs: Any) -> None:
        if given == owner:
            inputs = {n: i for n, i in inputs.items() if n not in names}
        shapes(given, sizes, **inputs)

    checks.shapes = others
    try:
        yield
    finally:
        checks.shapes = shapes


def _together(
    guesses: Mapping[str, Sequence[str]],
) -> list[tuple[float, dict[str, str]]]:
    """A shape for each input, and how far from the likeliest they are, those first."""
    places = itertools.product(*(range(len(shapes)) for shapes in guesses.values()))
    nearest = sorted(places, key=lambda place: (sum(place), max(place)))[:_MOST]
    return [
        (
            _FURTHER * sum(place),
            {n: guesses[n][i] for n, i in zip(guesses, place, strict=True)},
        )
        for place in nearest
    ]


def _accidents(shapes: Mapping[str, str], sizes: Mapping[str, str]) -> float:
    """What the ties of axes cost, and inputs that are one vector."""
    places: dict[str, list[tuple[str, int, int]]] = {}
    for name, shape in shapes.items():
        words = shape.split()
        for i, word in enumerate(words):
            places.setdefault(word, []).append((name, i, i - len(words)))
    cost = _ALONE * sum(s == f"{name}{OWN}features" for name, s in shapes.items())
    for axis, size in sizes.items():
        own, other = places.get(axis, []), places.get(size, [])
        if not own or not other:
            cost += _BY_CHANCE
        elif own[0][0] == other[0][0] or {own[0][2], other[0][2]} == {-1, -2}:
            cost += _OF_ROWS
        elif own[0][1] != other[0][1] and own[0][2] != other[0][2]:
            cost += _BY_CHANCE
    return cost


def _takes_any_number(shapes: Mapping[str, str], contract: Contract[Any]) -> bool:
    """Whether as many axes are taken as `*name` says, which is any number."""
    names = _variadic(shapes)
    numbers = _NUMBERS if names else ()
    return all(are_free(contract.make, dict.fromkeys(names, n)) for n in numbers)


def _variadic(shapes: Mapping[str, str]) -> set[str]:
    return {w[1:] for s in shapes.values() for w in s.split() if w.startswith("*")}


def _stretched(shapes: Mapping[str, str], contract: Contract[Any]) -> float:
    """How often arrays get axes that they do not have, so that they fit others.

    Where no input is one vector, those of one axis are weights and constants, which go with each row.
    """
    jax.clear_caches()  # What is traced already tells nothing.
    # Where an input has any number of axes, it has one of them.
    numbers = {f"number of {n}": 1 for n in _variadic(shapes)}
    with warnings.catch_warnings(record=True) as told, jax.numpy_rank_promotion("warn"):
        warnings.simplefilter("always")
        try:
            _ = with_values(contract.make, numbers).forward
        except Exception:
            return 0.0
    vectors = any(len(s.split()) == 1 and "*" not in s for s in shapes.values())
    found = [str(w.message) for w in told if "rank promotion" in str(w.message)]
    return float(sum(vectors or not _of_a_vector(text) for text in found))


def _of_a_vector(text: str) -> bool:
    """Whether what is promoted has one axis: `for add on shapes (1, 3) (3,)`."""
    return re.search(r"\(\d+,\)", text) is not None


def _named(shapes: Mapping[str, str]) -> dict[str, str]:
    """The shapes with the usual names of axes, behind that of the input where another one has it."""
    words = {word for shape in shapes.values() for word in shape.split()}
    names: dict[str, str] = {}
    for name, shape in shapes.items():
        own = shape.split()
        if not own:
            continue
        inner = [w for w in own[1:] if w.startswith(f"{name}{OWN}")]
        usual = _usual(len(inner), own[-1] in inner and len(inner) == len(own) - 1)
        for word, plain in zip(inner, usual, strict=False):
            kept = (n for n in (EDGES, "length") if word.endswith(f"{OWN}{n}"))
            names[word] = next(kept, plain) if plain == usual[-1] else plain
        if own[0].startswith(f"{name}{OWN}"):
            names[own[0]] = EDGES if own[0].endswith(f"{OWN}{EDGES}") else "batch"
        for word in (w for w in own if w in names and w.startswith(f"{name}{OWN}")):
            taken = words | {v for k, v in names.items() if k != word}
            if names[word] in taken:
                names[word] = f"{name}_{names[word].replace('batch', 'length')}"
    named = with_sizes(shapes, names)
    if "batch" in names.values():
        named = {n: s.replace("*batch", "*axes") for n, s in named.items()}
    return named


def _usual(count: int, ends: bool) -> tuple[str, ...]:
    """What so many axes behind the first one are called; `ends` says that the last one is no other's."""
    spatial = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
    if ends:
        return (*spatial.get(count - 1, ()), "features")
    return spatial.get(count, ())
