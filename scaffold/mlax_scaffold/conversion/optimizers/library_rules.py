"""Optimizers of optax that the library has as they are: `return optax.contrib.muon(rate, weight_decay=0.1)`.

The spec is that of the library under the name of the person's, with the numbers that are given as defaults.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from mlax_scaffold.conversion.output.description import Trial
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_none,
    literal,
    without_docstring,
)


@dataclass(frozen=True)
class _Rule:
    """A spec of the library, and the fields that the parameters of optax are, in order."""

    file: str
    title: str
    fields: Mapping[str, tuple[str, ...]]


_ADAPTED = {
    "learning_rate": ("learning_rate",),
    "betas": ("b1", "b2"),
    "eps": ("epsilon",),
    "estim_lr0": ("first_estimate",),
    "weight_decay": ("weight_decay",),
}
_RULES = {
    "optax.contrib.muon": _Rule(
        "muon",
        "Muon",
        {
            "learning_rate": ("learning_rate",),
            "ns_coeffs": ("coefficients",),
            "ns_steps": ("ns_steps",),
            "beta": ("beta",),
            "eps": ("epsilon",),
            "weight_decay": ("weight_decay",),
            "nesterov": ("nesterov",),
            "adaptive": ("adaptive",),
            "preconditioning": ("preconditioning",),
            "adam_b1": ("adam_b1",),
            "adam_b2": ("adam_b2",),
            "adam_eps_root": ("adam_epsilon_root",),
            "adam_weight_decay": ("adam_weight_decay",),
            "adam_learning_rate": ("adam_learning_rate",),
            "consistent_rms": ("consistent_rms",),
        },
    ),
    "optax.contrib.prodigy": _Rule(
        "prodigy",
        "Prodigy",
        {
            "learning_rate": ("learning_rate",),
            "betas": ("b1", "b2"),
            "beta3": ("b3",),
            "eps": ("epsilon",),
            "estim_lr0": ("first_estimate",),
            "estim_lr_coef": ("growth",),
            "weight_decay": ("weight_decay",),
            "safeguard_warmup": ("safeguard_warmup",),
        },
    ),
    "optax.contrib.dadapt_adamw": _Rule("d_adapt_adam_w", "DAdaptAdamW", _ADAPTED),
    "optax.sm3": _Rule(
        "sm3",
        "SM3",
        {"learning_rate": ("learning_rate",), "momentum": ("momentum",)},
    ),
}
AROUND = {
    "optax.contrib.schedule_free": "ScheduleFree",
    "optax.contrib.schedule_free_adamw": "ScheduleFree",
    "optax.contrib.schedule_free_sgd": "ScheduleFree",
    "optax.contrib.mechanize": "Mechanic",
    "optax.contrib.sam": "Sam",
    "optax.lookahead": "Lookahead",
    "optax.apply_if_finite": "ApplyIfFinite",
    "optax.MultiSteps": "Accumulate",
    "optax.contrib.reduce_on_plateau": "ReduceOnPlateau",
}
"""What runs another optimizer, as the library calls it."""
_ALONE = {"optax.lbfgs": "Lbfgs", "optax.polyak_sgd": "PolyakSgd"}
"""What is whole, and stays as the library has it."""

_REQUIRED = 0.1
"""What a parameter without a default is compared with."""


def way_of_library(full: str) -> str:
    """What to write for something of optax that becomes no spec."""
    if full in AROUND:
        return f"convert the optimizer that it is given, and give that to `{AROUND[full]}` of the library"
    if full in _ALONE:
        return f"use `{_ALONE[full]}` of the library as it is"
    return "put it into a Chain with the optimizer of the library that does the same"


def library_rule(origin: Origin, node: ast.AST, name: str) -> tuple[str, Trial] | None:
    """The spec of a function that returns such an optimizer, and what both are run with; None for others.

    An argument is a parameter of the function, or a literal.
    """
    if not isinstance(node, ast.FunctionDef):
        return None
    match without_docstring(node.body):
        case [ast.Return(value=ast.Call() as call)]:
            pass
        case _:
            return None
    rule = _RULES.get(origin.qualified(call.func))
    if rule is None or len(call.args) > len(rule.fields):
        return None
    given = dict(zip(rule.fields, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in rule.fields and is_none(keyword.value):
            # As it is by default.
            continue
        if keyword.arg is None or keyword.arg not in rule.fields:
            return None
        given[keyword.arg] = keyword.value
    defaults = _defaults(node)
    text = (files("mlax_scaffold") / "specs/optim" / f"{rule.file}.py").read_text(
        "utf-8"
    )
    parameters: list[tuple[str, str]] = []
    values: list[tuple[str, object]] = []
    for parameter, value in given.items():
        fields = rule.fields[parameter]
        told: object = literal(value)
        if isinstance(value, ast.Name) and value.id in defaults and len(fields) == 1:
            default = defaults[value.id]
            told = literal(default) if default is not None else _REQUIRED
            parameters.append((value.id, fields[0]))
            values.append((fields[0], told))
            if default is None:
                continue
        if isinstance(told, ast.AST):
            return None
        each = told if len(fields) > 1 else (told,)
        if not isinstance(each, tuple) or len(each) != len(fields):
            return None
        for field, one in zip(fields, each, strict=True):
            text = _with_default(text, field, one)
    if {p for p, _ in parameters} != defaults.keys():
        return None
    text = re.sub(rf"\b{rule.title}\b(?=[(.:])", name, text)
    return text, Trial(tuple(parameters), tuple(values), ())


def _defaults(node: ast.FunctionDef) -> dict[str, ast.expr | None]:
    """The parameters of a function, and their defaults."""
    given = node.args
    none = [None] * (len(given.args) - len(given.defaults))
    places = zip(given.args, [*none, *given.defaults], strict=True)
    named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return {a.arg: d for a, d in (*places, *named)}


def _with_default(text: str, field: str, value: object) -> str:
    """The text of a spec in which a field has this default."""
    line = re.compile(
        rf"^(    {field}: [^=#\n]+?)( = [^#\n]+?)?(?=  #:|$)", re.MULTILINE
    )
    return line.sub(lambda found: f"{found[1]} = {value!r}", text, count=1)
