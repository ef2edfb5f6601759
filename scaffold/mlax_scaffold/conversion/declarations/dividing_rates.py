"""Rates that what is kept is divided by one less of: below one, where others may be one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mlax_scaffold.conversion.output.description import Field
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk


def with_dividing_rates(
    fields: Iterable[Field],
    setup: Iterable[ast.stmt],
    methods: Iterable[ast.FunctionDef],
    own: Mapping[str, Interface],
) -> list[Field]:
    """The fields, where such a rate, `x / (1 - self.rate)`, and what a layer is given as one is a `Decay`."""
    found = {rate for method in methods for rate in _divided(method)}
    for part in setup:
        for call in walk(part):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                found |= set(_given(call, own.get(call.func.id.partition("@own:")[2])))
    return [
        replace(f, word="Decay") if f.name in found and f.word == "Probability" else f
        for f in fields
    ]


def _divided(method: ast.FunctionDef) -> Iterator[str]:
    """The fields that a method divides by one less of."""
    kept = {
        part.targets[0].id: rate
        for part in walk(method)
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        if (rate := _rest(part.value))
    }
    for part in walk(method):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
            rate = _rest(part.right) or kept.get(getattr(part.right, "id", ""))
            if rate:
                yield rate


def _rest(node: ast.expr) -> str | None:
    """The field of `1 - self.rate`."""
    match node:
        case ast.BinOp(left=one, op=ast.Sub(), right=rate) if literal(one) == 1:
            return self_attribute(rate)
    return None


def _given(call: ast.Call, interface: Interface | None) -> Iterator[str]:
    """The fields that a layer is given as such rates, or in what is computed of them."""
    if interface is None:
        return
    given = dict(zip(interface.order, call.args, strict=False))
    given |= {str(k.arg): k.value for k in call.keywords}
    for rate in interface.decays & given.keys():
        for part in walk(given[rate]):
            if (field := self_attribute(part)) is not None:
                yield field
