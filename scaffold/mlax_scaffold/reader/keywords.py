"""Reads the keywords of a spec's class: what its module class is called, and its hyperparameters there."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Sequence
from typing import Any

from mlax_scaffold.model.definition import Hyperparameter, Kind, MethodRole
from mlax_scaffold.model.invariances import FORM, Invariance
from mlax_scaffold.model.reserved import RESERVED
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.roles import role_of
from mlax_scaffold.reader.smooth import read_smooth_at
from mlax_scaffold.reader.source import Source
from mlax_scaffold.spelling import did_you_mean

KEYWORDS = (
    *("module", "aliases", "invariances", "per_example", "keeps_weights", "smooth_at"),
    "surrogate_gradient",
)
"""What a class may be given beside its base."""

RESERVED_IN_MODULES = frozenset(
    [
        "aliases",
        "axes_beside",
        "axis_size",
        "axis_sizes",
        "call",
        "declarations",
        "draws_keys",
        "functions",
        "get_param",
        "graph",
        "hands_on",
        "inferred",
        "inferred_sizes",
        "known_size",
        "sizes_for",
        "initial_state",
        "is_static",
        "is_training",
        "metadata",
        "modules",
        "outline",
        "param_path",
        "params",
        "path",
        "prev_state",
        "pure",
        "rng",
        "set_param",
        "sow",
        "structural",
        "x",
    ]
)
"""Names that a module class has, or its call takes."""

MODULES = frozenset(
    [
        "Graph",
        "LockedError",
        "Metadata",
        "Module",
        "Param",
        "Params",
        "Rng",
        "Sequential",
    ]
)
"""Names of `graph` that no spec makes."""


def read_keywords(
    source: Source,
    node: ast.ClassDef,
    kind: Kind,
    hyperparameters: Sequence[Hyperparameter],
) -> dict[str, Any]:
    """`module="LSTM"` and `aliases={"features": "hidden_size"}` of a layer or a block.

    `surrogate_gradient=True` of one whose gradient is not the derivative of its values,
    `smooth_at={"x": (0.1, 1.0)}` of one that is smooth there,
    `invariances=["causal time"]` of one that says something of its axes.

    `per_example=True` and `keeps_weights=True` of an optimizer.
    """
    found: dict[str, Any] = {}
    for given in node.keywords:
        match given.arg, given.value:
            case "per_example" | "keeps_weights" as name, ast.Constant(
                value=bool(chosen)
            ) if kind is Kind.OPTIMIZER:
                found[name] = chosen
            case "per_example" | "keeps_weights" as name, _:
                source.report(
                    given.value,
                    f"{name} is for optimizers, and True or False",
                    f"Remove it, or write `{name}=True`.",
                )
            case "surrogate_gradient", ast.Constant(value=bool(chosen)) if (
                kind.is_layer
            ):
                found["surrogate_gradient"] = chosen
            case "surrogate_gradient", _:
                source.report(
                    given.value,
                    "surrogate_gradient is for layers and blocks, and True or False",
                    "Remove it, or write `surrogate_gradient=True`.",
                )
            case "smooth_at", _ if kind.is_layer:
                found["smooth_at"] = read_smooth_at(source, given.value)
            case "invariances", ast.List(elts=lines) | ast.Tuple(elts=lines) if (
                kind.is_layer
            ):
                found["invariances"] = tuple(_invariances(source, lines))
            case _ if not kind.is_layer:
                source.report(
                    given.value,
                    f"{given.arg} is for layers and blocks, which have module classes",
                    "Remove it.",
                )
            case "module", ast.Constant(value=str(name)):
                found["module_class"] = _class_name(source, given.value, name)
            case "aliases", ast.Dict():
                found["aliases"] = _aliases(source, given.value, hyperparameters)
            case _:
                source.report(
                    given.value,
                    f"{given.arg} of {node.name} is {unparsed(given.value)}",
                    'Write `module="Name"` or `aliases={"field": "its_name"}`.',
                )
    if kind.is_layer:
        found["aliases"] = _with_own(found.get("aliases", ()), hyperparameters)
        places: dict[str, int] = {}
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and (
                role_of(method, {}) is MethodRole.ENTRY
            ):
                places[method.name] = method.lineno
        for name in sorted(places.keys() & RESERVED_IN_MODULES):
            source.report(
                places[name],
                f"`{name}` is a name of the module class",
                "Choose another name.",
            )
    return found


def _with_own(
    aliases: tuple[tuple[str, str], ...], hyperparameters: Sequence[Hyperparameter]
) -> tuple[tuple[str, str], ...]:
    """Fields that have the name of something of the module class are `name_` there."""
    names = {h.name for h in hyperparameters}
    known = dict(aliases)
    taken = RESERVED_IN_MODULES | {"init"}
    for name in (h.name for h in hyperparameters if h.name in taken):
        free = f"{name}_"
        while free in names | {*known.values()}:
            free += "_"
        known.setdefault(name, free)
    return tuple(known.items())


def _invariances(source: Source, lines: Sequence[ast.expr]) -> Iterator[Invariance]:
    for line in lines:
        match line:
            case ast.Constant(value=str(text)):
                try:
                    yield Invariance.parse(text)
                except ValueError as error:
                    source.report(line, str(error), f"Write {FORM}.")
            case _:
                source.report(line, f"{unparsed(line)} is no line", f"Write {FORM}.")


def _class_name(source: Source, node: ast.expr, name: str) -> str:
    if not name.isidentifier() or not name[0].isupper() or keyword.iskeyword(name):
        source.report(
            node,
            f'"{name}" is no name of a class',
            "Write a name that begins with a capital.",
        )
    if name in MODULES:
        source.report(
            node, f"{name} is a name of graph already", "Choose another name."
        )
    return name


def _aliases(
    source: Source, node: ast.Dict, hyperparameters: Sequence[Hyperparameter]
) -> tuple[tuple[str, str], ...]:
    names = [h.name for h in hyperparameters]
    found: dict[str, str] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        match key, value:
            case ast.Constant(value=str(name)), ast.Constant(value=str(alias)):
                pass
            case _:
                source.report(
                    key or node,
                    "aliases map names of fields to names",
                    'Write `aliases={"field": "its_name"}`.',
                )
                continue
        if name not in names:
            source.report(key, f"there is no field `{name}`", did_you_mean(name, names))
        elif not alias.isidentifier() or keyword.iskeyword(alias) or alias[0] == "_":
            source.report(
                value, f'"{alias}" is no name of a parameter', "Choose another name."
            )
        elif alias in {*names, *found.values(), *RESERVED, *RESERVED_IN_MODULES}:
            source.report(
                value, f"`{alias}` is something else already", "Choose another name."
            )
        else:
            found[name] = alias
    return tuple(found.items())
