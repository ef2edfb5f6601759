"""Values of hyperparameters in an example: derived from their words, and fit to the requirements."""

from __future__ import annotations

import ast
import itertools
from typing import Any

from mlax_scaffold.model.arithmetic import Unknown
from mlax_scaffold.model.definition import Definition, Hyperparameter, Kind
from mlax_scaffold.render.docs.setup import Setup

_PREFERRED = {
    "spatial_dims": "2",
    "kernel_size": "3",
    "window": "2",
    "factor": "2",
    "output_size": "2",
    "patch_size": "3",
    "groups": "2",
    "heads": "2",
}
"""Values of names that mean the same in every definition."""

_OF_SCHEDULES = {
    "decay_steps": "100",
    "end_value": "0.05",
    "init_value": "0.25",
    "peak_value": "1.0",
    "peak_values": "(1.0, 0.5)",
    "power": "2.0",
    "stable_steps": "50",
    "transition_steps": "100",
    "warmup_steps": "20",
}
"""The same in schedules: a curve that shows what it is within 200 steps."""

_SIZES = ("4", "2", "3", "1", "8", "6")


class NoExample(Exception):
    """No values can be derived that the definition takes."""


def defaults(definition: Definition) -> dict[str, Any]:
    """Defaults of hyperparameters that are literals."""
    return {
        h.name: h.default.literal
        for h in definition.hyperparameters
        if h.default is not None and h.default.is_literal
    }


def is_literal(text: str) -> bool:
    """Whether the value of an expression can be told without running anything."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def only_numbers(definition: Definition) -> bool:
    """Whether every required hyperparameter is a number."""
    required = (h for h in definition.hyperparameters if h.default is None)
    return all(h.type.canonical in ("int", "float") for h in required)


def required_values(definition: Definition, size: str = "4") -> dict[str, str]:
    """Expressions of the required hyperparameters, which satisfy the requirements.

    `size` is the value of a `Size`, where the requirements allow it.

    Raises:
        NoExample: where none are found.
    """
    required = [h for h in definition.hyperparameters if h.default is None]
    plain = [h for h in required if not h.type.word.structural]
    if definition.examples:
        given = definition.example_values
        rest = {h.name: _value(h, size) for h in plain if h.name not in given}
        return given | rest
    values = {h.name: _value(h, size) for h in plain}
    if definition.kind is Kind.SCHEDULE:
        for h in plain:
            shown = h.type.word.shown_in_schedule or _OF_SCHEDULES.get(h.name)
            values[h.name] = shown or values[h.name]
    setup = Setup(definition)
    if _satisfied(definition, setup, values):
        return values
    sizes = [h.name for h in plain if h.type.word.names == "axis"]
    for chosen in itertools.product(_SIZES, repeat=min(len(sizes), 4)):
        tried = values | dict(zip(sizes, chosen, strict=False))
        if _satisfied(definition, setup, tried):
            return tried
    sequences = [h for h in plain if h.type.sequence or h.type.word.increment]
    for lengths in itertools.product((2, 1, 3), repeat=min(len(sequences), 4)):
        longer = {
            h.name: _of_length(h, n) for h, n in zip(sequences, lengths, strict=False)
        }
        if _satisfied(definition, setup, values | longer):
            return values | longer
    raise NoExample


def _of_length(h: Hyperparameter, count: int) -> str:
    """A tuple of so many elements."""
    word = h.type.word
    if h.type.sequence:
        return f"({f'{word.example}, ' * count})"
    return f"({''.join(f'{word.increment * (i + 1)}, ' for i in range(count))})"


def _value(h: Hyperparameter, size: str) -> str:
    if h.type.choices or h.type.sequence:
        return h.type.example
    word = h.type.word
    if h.name in _PREFERRED and word.names == "axis":
        return _PREFERRED[h.name]
    value = size if word.measured else word.shown or word.example
    if not value:
        raise NoExample
    return value


def _satisfied(definition: Definition, setup: Setup, values: dict[str, str]) -> bool:
    known = defaults(definition) | {
        name: ast.literal_eval(text)
        for name, text in values.items()
        if is_literal(text)
    }
    for name, text in values.items():
        match ast.parse(text, mode="eval").body:
            case ast.Tuple(elts=items) if name not in known:  # its length is known
                known[name] = tuple(map(ast.unparse, items))
    for requirement in definition.requirements:
        if requirement.method != "setup":
            continue
        try:
            if not setup.value(requirement.condition, known):
                return False
        except Unknown:
            # Nothing is known against the values.
            continue
    return True
