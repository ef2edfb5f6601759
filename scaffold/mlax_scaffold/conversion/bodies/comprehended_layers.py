"""Comprehensions that call each layer of a list.

`[block(x, key=keys[i]) for i, block in enumerate(self.blocks)]` is `[block(x) for i, block in ...]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from mlax_scaffold.conversion.declarations.building import Attribute
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.vocabulary import KEYS
from mlax_scaffold.conversion.source.walking import walk


def listed_layers(
    loop: ast.comprehension, attributes: Mapping[str, Attribute]
) -> tuple[str, str, str]:
    """The list of layers that a comprehension goes over, its name for each, and its number; "" for none."""
    source, target, counter = loop.iter, loop.target, ""
    match loop:
        case ast.comprehension(
            target=ast.Tuple(elts=[ast.Name(id=counter), target]),
            iter=ast.Call(func=func, args=[source]),
        ) if is_name(func, "enumerate"):
            pass
    attribute = self_attribute(source) or ""
    known = attributes.get(attribute)
    if known is None or known.kind != "layers" or not isinstance(target, ast.Name):
        return "", "", ""
    return attribute, target.id, counter


def without_keys(node: ast.expr, attributes: Mapping[str, Attribute]) -> None:
    """Leave out, in place, the keys that layers of a list are given: they draw by those that they have."""
    layers = {*_layers(node, attributes)}
    for call in walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        if call.func.id in layers:
            call.keywords = [
                k for k in call.keywords if k.arg not in KEYS or not _is_key(k.value)
            ]


def _layers(node: ast.expr, attributes: Mapping[str, Attribute]) -> Iterator[str]:
    for part in walk(node):
        if isinstance(part, ast.comprehension):
            yield listed_layers(part, attributes)[1]


def _is_key(node: ast.expr) -> bool:
    return "self.key()" in ast.unparse(node)
