"""What two versions of a generated package compute: runs in a process of its own.

Each definition's example is traced in both, on the same inputs. One numbering of values serves both
sides, so that equal numbers are equal values whatever the inputs are. Nothing is computed.
"""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import jax

from mlax_scaffold.spec.trees import path_name
from mlax_scaffold.testing._same import Numbering
from mlax_scaffold.testing.programs import Program

_STATES = ("trainables", "non_trainables", "state")
"""What `init` makes, as examples call it: what checkpoints hold."""
_SEPARATE = ("nn", "block", "functional", "loss")
"""Sections whose results have derivatives."""


@dataclass(frozen=True)
class Traced:
    """What a definition does on one side."""

    leaves: Mapping[str, str]
    """Shape and dtype of each weight and state, by its path."""
    created: Mapping[str, int]
    """The number of each of them, as `init` makes it of a key."""
    results: Mapping[str, int]
    """The number of each result of a step, and of the derivatives, by name."""
    draws: tuple[int, ...]
    """Numbers of what is drawn and split in a step."""


@dataclass(frozen=True)
class _Code:
    """An example in two parts: what makes the inputs of a step, and the step."""

    before: CodeType
    step: CodeType
    makes: bool
    """Whether the first part calls `init`."""


def main() -> None:
    """Compare what a file names, and write what was found to another one.

    The argument is the paths of both, as JSON. The first holds the folders to import the two sides
    from, the name of the package, and for each side the examples by reference.
    """
    task, place = json.loads(sys.argv[1])
    with open(task, encoding="utf-8") as file:
        sides, package, examples = json.load(file)
    numbering = Numbering()
    found = [
        _side(folder, package, codes, numbering)
        for folder, codes in zip(sides, examples, strict=True)
    ]
    with open(place, "w", encoding="utf-8") as file:
        json.dump(dict(_differences(*found)), file)


def _side(
    folder: str, package: str, examples: Mapping[str, str], numbering: Numbering
) -> dict[str, Traced | str]:
    """What each item does on one side, or why that cannot be told."""
    for name in list(sys.modules):
        if f"{name}.".startswith(f"{package}."):
            del sys.modules[name]
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    found: dict[str, Traced | str] = {}
    try:
        given = vars(importlib.import_module(package))
        for reference, code in examples.items():
            try:
                found[reference] = trace(reference, code, given, numbering)
            except Exception as error:
                found[reference] = f"{type(error).__name__}: {error}".split("\n")[0]
    finally:
        sys.path.remove(folder)
    return found


def _differences(
    before: Mapping[str, Traced | str], after: Mapping[str, Traced | str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for reference, new in after.items():
        old = before[reference]
        if isinstance(old, str) or isinstance(new, str):
            sides = {"before": old, "after": new}
            faults = {n: v for n, v in sides.items() if isinstance(v, str)}
            yield reference, {"fault": faults}
        elif different := difference(old, new):
            yield reference, different


def difference(old: Traced, new: Traced) -> dict[str, Any]:
    """What of a definition is not as it was, empty where all is."""
    found: dict[str, Any] = {}
    leaves = {
        name: [old.leaves.get(name), new.leaves.get(name)]
        for name in {**old.leaves, **new.leaves}
        if old.leaves.get(name) != new.leaves.get(name)
    }
    if leaves:
        found["leaves"] = leaves
    # What has another shape, or another structure, is told already.
    created = [n for n in _changed(old.created, new.created) if n not in leaves]
    if created:
        found["created"] = created
    if results := _changed(old.results, new.results):
        found["results"] = results
    if old.draws != new.draws:
        found["draws"] = [len(old.draws), len(new.draws)]
    return found


def _changed(old: Mapping[str, int], new: Mapping[str, int]) -> list[str]:
    return [n for n in {**old, **new} if old.get(n) != new.get(n)]


def trace(
    reference: str, code: str, given: Mapping[str, Any], numbering: Numbering
) -> Traced:
    """What a definition's example does: what `init` makes, and a step of it.

    Args:
        reference: the definition, as the example calls it: `nn.Linear`.
        code: the example.
        given: what the package has, by name.
        numbering: numbers the values, on both sides.
    """
    parts = _split(reference, code)
    made = Program.of(lambda: _arrays(_run(parts.before, given)))
    leaves: dict[str, str] = {}
    created: dict[str, int] = {}
    numbers, eqns = numbering.program(made.jaxpr, ())
    # The first part is traced with the step, too, where nothing depends on it.
    earlier = _draws(eqns)
    if parts.makes:
        paths = jax.tree_util.tree_leaves_with_path(made.out)
        for (path, leaf), number in zip(paths, numbers, strict=True):
            name = path_name(path)
            if name.partition("/")[0] in _STATES:
                leaves[name] = f"{leaf.dtype}{list(leaf.shape)}"
                created[name] = number

    def step(inputs: dict[str, Any]) -> dict[str, Any]:
        names = _run(parts.before, given) | inputs
        before = dict(names)
        _execute(parts.step, names)
        return _arrays({n: v for n, v in names.items() if before.get(n) is not v})

    program = Program.of(step, made.out)
    inputs = [_input(numbering, i, v) for i, v in enumerate(program.jaxpr.in_avals)]
    numbers, eqns = numbering.program(program.jaxpr, inputs)
    paths = [path_name(p) for p, _ in jax.tree_util.tree_leaves_with_path(program.out)]
    results = dict(zip(paths, numbers, strict=True))
    if reference.partition(".")[0] in _SEPARATE:
        results |= _derivatives(program, inputs, numbering)
    draws = _draws(eqns) - earlier
    return Traced(leaves, created, results, tuple(sorted(draws.elements())))


def _draws(eqns: Iterable[tuple[int, Any]]) -> Counter[int]:
    """The numbers of what draws and splits keys."""
    return Counter(n for n, e in eqns if e.primitive.name.startswith("random_"))


def _derivatives(
    program: Program, inputs: list[int], numbering: Numbering
) -> dict[str, int]:
    floats = [
        position
        for position, aval in enumerate(program.jaxpr.in_avals)
        if jax.numpy.issubdtype(aval.dtype, jax.numpy.floating)
    ]
    if not floats:
        return {}
    count = len(program.jaxpr.out_avals)
    try:
        whole = program.gradient(floats, count)
    except (TypeError, ValueError, NotImplementedError):
        return {}  # It has no derivative, on this side.
    cotangents = whole.jaxpr.in_avals[len(inputs) :]
    given = [*inputs, *(_input(numbering, -1 - i, v) for i, v in enumerate(cotangents))]
    numbers, _ = numbering.program(whole.jaxpr, given)
    return {f"derivative {i}": n for i, n in enumerate(numbers[count:])}


def _input(numbering: Numbering, position: int, aval: Any) -> int:
    return numbering.number(("input", position, str(aval)))


def _run(code: CodeType, given: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a part, and all that it is given."""
    names = dict(given)
    _execute(code, names)
    return names


def _execute(code: CodeType, names: dict[str, Any]) -> None:
    exec(code, names)
    # Python adds it, and no program is about it: what it holds may hold itself.
    del names["__builtins__"]


def _arrays(names: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the variables that hold arrays alone, in the order of their names."""
    found = {}
    for name, value in sorted(names.items()):
        leaves = jax.tree.leaves(value)
        if leaves and all(isinstance(leaf, jax.Array) for leaf in leaves):
            found[name] = value
    return found


def _split(reference: str, code: str) -> _Code:
    """The parts of an example, which is given what it imports of the package.

    Assertions compare what is traced here, and are left out.
    """
    left_out = (ast.Assert, ast.ImportFrom)
    body = [s for s in ast.parse(code).body if not isinstance(s, left_out)]
    calls = [
        index
        for index, statement in enumerate(body)
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and _is_of(node.func, reference)
    ]
    if not calls:
        raise ValueError(f"the example does not call {reference}")
    first = body[calls[0]]
    makes = f"{reference}.init(" in ast.unparse(first)
    later = [index for index in calls if index > calls[0]]
    start = (later[0] if later else len(body)) if makes else calls[0]
    compiled = [
        compile(ast.Module(part, []), reference, "exec")
        for part in (body[:start], body[start:])
    ]
    return _Code(compiled[0], compiled[1], makes)


def _is_of(node: ast.expr, reference: str) -> bool:
    return f"{ast.unparse(node)}.".startswith(f"{reference}.")
