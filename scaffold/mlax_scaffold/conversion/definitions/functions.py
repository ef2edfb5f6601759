"""A plain function over arrays as a function of the library."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from dataclasses import replace

from mlax_scaffold.conversion.bodies.bodies import Bodies
from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.words import is_exponent, word_of
from mlax_scaffold.conversion.definitions.assumed_axes import (
    NOTHING,
    Assumed,
    with_assumed_axes,
)
from mlax_scaffold.conversion.definitions.programs import carried
from mlax_scaffold.conversion.examples.trials import trial
from mlax_scaffold.conversion.forms.own_derivatives import with_rule_apart
from mlax_scaffold.conversion.output.description import Field, Function, SpecText, Trial
from mlax_scaffold.conversion.output.open_axes import open_axes
from mlax_scaffold.conversion.shapes.annotations import annotated, symbols_named
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Number, Value
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.requirements import asserted, asserts
from mlax_scaffold.conversion.source.trees import (
    docstring,
    is_none,
    literal,
    names,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import is_key
from mlax_scaffold.conversion.source.walking import cloned, walk

_NUMBERS = (
    "int",
    "float",
    "bool",
    "str",
    "Callable",
    "Sequence",
    "Tuple",
    "tuple",
    "Literal",
)


def function_definition(
    origin: Origin,
    node: ast.FunctionDef,
    notes: Notes,
    name: str,
    assumed: Assumed = NOTHING,
) -> SpecText:
    """The spec of a function: arrays are inputs, what has a number as its default a hyperparameter.

    Args:
        origin: the file.
        node: the function.
        notes: where to tell what is no part of it.
        name: what it is called.
        assumed: axes of inputs that nothing in the code tells.
    """
    node = with_rule_apart(origin, node)
    framework = "torch" if library_of(origin, node) == "torch" else "plain"
    builder = Builder(origin, node, framework, notes, {}, name)
    builder.calculations.keyed = False
    inputs, fields = _split(builder, node)
    if inputs:
        builder.calculations.first_input = inputs[0][0].arg
    translator = builder.translator
    translator.numbers = frozenset(f.name for f in fields)
    body = translator.statements(without_docstring(node.body))
    symbols = Symbols()
    bodies = Bodies(builder, symbols, {})
    bodies.arrays.divides = True
    given = [a.arg for a, _ in inputs if not is_key(node, a.arg)]
    env: dict[str, Value] = {a: Array([], True, "Float") for a in given}
    with_assumed_axes(symbols, assumed, name, env)
    for argument, hints in _ranks(builder, body, given).items():
        # What is read of a shape above the line that tells the rank is known, too.
        symbols.ranked(env[argument], hints)  # type: ignore[arg-type]
    made = ast.FunctionDef(
        name, ast.arguments([], [], None, [], [], None, []), body, [], None
    )
    numbers = {f.name: Number(ast.Name(f.name)) for f in fields if f.word in _REAL}
    bodies.run(made, {**env, **numbers})
    texts = symbols_named(symbols, env, set())
    arguments, defaults = [], []
    for argument, default in inputs:
        annotation = annotated(
            symbols,
            argument,
            env.get(argument.arg),
            texts,
            set(),
            is_none(default),
            env,
        )
        if is_key(node, argument.arg):
            annotation = ast.Name("@word:Key", ast.Load())
        arguments.append(ast.arg(argument.arg, annotation))
        if default is not None:
            defaults.append(default)
        elif defaults:
            notes.refuse(
                argument, f"`{argument.arg}` follows an input with a default", "reorder"
            )
    made.args = ast.arguments([], arguments, None, [], [], None, defaults)
    made.returns = None
    used = {n for s in body for n in names(s)} | {
        n for f in fields if f.default is not None for n in names(f.default)
    }
    beside = carried(
        origin, notes, used - {node.name}, framework, builder.helpers.told()
    )
    doc = docstring(node) or f"From {node.name} of {os.path.basename(origin.path)}."
    drawn = any(is_key(node, a.arg) for a, _ in inputs)
    tried = None
    if not drawn:
        same = {f.name: f.name for f in fields}
        tried = trial(symbols, fields, env, (), [made], same, (), single=False)
        tried = _with_room(tried, fields, made) if tried is not None else None
    open_axes(made)
    described = Function(name, doc, made, tuple(fields), tried)
    return SpecText((described,), tuple(beside))


def _with_room(tried: Trial, fields: Iterable[Field], made: ast.FunctionDef) -> Trial:
    """What both are run with, whose axes have room for windows: hyperparameters that slices go by."""
    cut = {n for part in walk(made) if isinstance(part, ast.Slice) for n in names(part)}
    numbers = [literal(f.default) for f in fields if f.name in cut]
    windows = [n for n in numbers if type(n) is int]
    typed = " ".join(ast.unparse(a) for a in walk(made.args) if isinstance(a, ast.arg))
    if not windows or re.search(r"[' ]\d", typed):
        return tried
    more = max(windows)
    inputs: list[tuple[str, tuple[object, ...]]] = []
    for title, shape in tried.inputs:
        sizes = [size for size in shape if isinstance(size, int)]
        if len(sizes) < len(shape):
            return tried
        inputs.append((title, tuple(size + more for size in sizes)))
    return replace(tried, inputs=tuple(inputs))


_REAL = ("float", "Decay", "Positive", "NonNegative", "Probability")
"""Words of numbers that are no sizes."""


def _ranks(
    builder: Builder, body: list[ast.stmt], inputs: list[str]
) -> dict[str, list[str]]:
    """The names of the axes of those inputs whose number of axes the whole body tells."""
    symbols = Symbols()
    bodies = Bodies(builder, symbols, {})
    bodies.arrays.divides = True
    env: dict[str, Value] = {a: Array([], True, "Float") for a in inputs}
    none = ast.arguments([], [], None, [], [], None, [])
    bodies.run(ast.FunctionDef("ranks", none, cloned(body), []), env)
    found: dict[str, list[str]] = {}
    for given, value in env.items():
        if isinstance(value, Array) and not value.lead and value.axes:
            axes = [symbols.find(axis) for axis in value.axes]
            named = [a.id if isinstance(a, ast.Name) else "" for a in axes]
            found[given] = [symbols.hints.get(n, "_") for n in named]
        elif isinstance(value, Array) and value.prefix.bare > 2 and not value.axes:
            # What is reduced along several axes has no others behind them, mostly.
            found[given] = ["batch", *["_"] * (value.prefix.bare - 1)]
    return found


def library_of(origin: Origin, node: ast.FunctionDef) -> str:
    """What a function calculates with: "torch", "numpy" or "jax"."""
    used = {origin.imports.get(n, "").partition(".")[0] for n in names(node)}
    return next((n for n in ("torch", "jax", "numpy") if n in used), "jax")


def _split(
    builder: Builder, node: ast.FunctionDef
) -> tuple[list[tuple[ast.arg, ast.expr | None]], list[Field]]:
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    pairs = list(zip(positional, [*defaults, *args.defaults], strict=True))
    pairs += list(zip(args.kwonlyargs, args.kw_defaults, strict=True))
    keyword_only = {a.arg for a in args.kwonlyargs}
    inputs: list[tuple[ast.arg, ast.expr | None]] = []
    fields: list[Field] = []
    for argument, default in pairs:
        text = (
            ast.unparse(argument.annotation) if argument.annotation is not None else ""
        )
        plain = (
            text.strip("'\"")
            .removeprefix("Optional[")
            .partition("[")[0]
            .partition(" ")[0]
        )
        number = plain.rstrip("]") in _NUMBERS
        if not text and default is not None and not is_none(default):
            number = True
        if not text and argument.arg in keyword_only and not is_key(node, argument.arg):
            number = number or not is_none(default)
        if number:
            value = (
                builder.translator.expression(default) if default is not None else None
            )
            word = word_of(argument.arg, argument.annotation, value)
            if word == "float" and is_exponent(node, argument.arg, value):
                word = "NonNegative"
            choices = asserted(node, argument.arg)
            if word == "str" and value is not None and literal(value) in choices:
                word = f"Literal[{', '.join(map(repr, choices))}]"
                node.body = [s for s in node.body if not asserts(s, argument.arg)]
            if argument.arg in ("axis", "axes") and "float" not in word:
                word = "Axis | None" if "None" in word else "Axis"
            fields.append(Field(argument.arg, word, value))
        else:
            inputs.append((argument, default))
    fields.sort(key=lambda f: f.default is not None)
    return inputs, fields
