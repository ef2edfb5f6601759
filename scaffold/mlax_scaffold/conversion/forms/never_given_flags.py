"""Truths that parts of PyTorch's modules may be called with, and that no call gives: they are their defaults.

def forward(self, x, reverse=False):
    return x / self.scale if reverse else x * self.scale     becomes     return x * self.scale
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    method_of,
    stored_names,
    without_arguments,
)
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import located, walk

_OF_MODULES = ("register_buffer", "register_parameter", "add_module", "apply")


def without_never_given_flags(origin: Origin, thing: str) -> None:
    """Write the classes so, in place; not the one that is asked for, which others may call."""
    calls = [part for part in walk(origin.tree) if isinstance(part, ast.Call)]
    titles = {keyword.arg for call in calls for keyword in call.keywords}
    most = _most_arguments(origin)
    bases = {ast.unparse(b) for c in origin.classes.values() for b in c.bases}
    for node in origin.classes.values():
        forward = method_of(node, "forward")
        built_on = node.name in bases or any(
            ast.unparse(b) in origin.classes for b in node.bases
        )
        if forward is None or node.name == thing or built_on:
            continue
        if framework_of(origin, node) != "torch":
            continue
        stored = {n for part in forward.body for n in stored_names(part)}
        places = [a.arg for a in forward.args.args]
        for title, default in defaults_of(forward.args).items():
            place = places.index(title) if title in places else most + 1
            given = title in titles or title in stored or most >= place
            if given or type(literal(default)) is not bool:
                continue
            decided = Decided(Known({title: default}, {}))
            forward.body = decided.statements(forward.body)
            without_arguments(forward.args, {title})
    located(origin.tree)


def _most_arguments(origin: Origin) -> int:
    """How many arguments by place layers are called with at most, as far as calls may be those of layers."""
    found = [0]
    for node in origin.classes.values():
        passed = {
            name.id
            for part in walk(node)
            if isinstance(part, ast.For | ast.comprehension)
            for name in walk(part.target)
            if isinstance(name, ast.Name)
        }
        for part in walk(node):
            if not isinstance(part, ast.Call):
                continue
            func = part.func
            while isinstance(func, ast.Subscript):
                func = func.value
            title = self_attribute(func)
            method = method_of(node, title) if title is not None else None
            layer = title is not None and method is None and title not in _OF_MODULES
            if layer or title == "forward" or getattr(func, "id", "") in passed:
                found.append(len(part.args))
    return max(found)
