"""Finds layers and weights that are made where they are used, as `nn.compact` of flax has it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.definition import SECTIONS, Import, Kind
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import target_name
from mlax_scaffold.reader.remedies.hoisted import hoisted, is_called_again
from mlax_scaffold.reader.source import Source, class_of

_ARRAYS = ("trainable", "state", "moment")


def check_declared(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report the first call that declares, with the edit for all of the method."""
    own = {n.id for n in walk(method) if isinstance(n, ast.Name) and _is_stored(n)}
    own |= {a.arg for a in walk(method) if isinstance(a, ast.arg)}
    calls = [
        node
        for node in walk(method)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id not in own
        and _declares(node.func.id, imports)
    ]
    if not calls or _is_of_setup(source, method):
        return
    first = min(calls, key=lambda call: (call.lineno, call.col_offset))
    assert isinstance(first.func, ast.Name)
    if _is_of_setup(source, method, of_self=False):
        source.report(
            first.func,
            f"`{method.name}` declares, and cannot be read where `setup` calls it",
            "Let it return at the end of each branch, and call it in a statement, not in a condition "
            "or for each item; one that is a single expression can be called anywhere.",
        )
        return
    if first.func.id == "moment":
        source.report(
            first.func,
            "`moment` declares, which `setup` does",
            "Write `self.name = moment(zeros, param.shape)` in `setup(self, param)`. Here `self.name` "
            "is what was kept, and what is assigned to it is kept.",
        )
        return
    owner = class_of(source.tree, method)
    hint = f"Write `self.name = {first.func.id}(...)` in `setup(self)`, and use `self.name` here."
    if owner is not None and is_called_again(owner, method):
        hint = (
            f"Each call of `{method.name}` would make its own: write a class for it, "
            "or declare a list of them in `setup(self)`, and hand each call one."
        )
    source.report(
        first.func,
        f"`{first.func.id}` declares, which `setup` does",
        hint,
        fix=hoisted(source, method, calls, attributes),
    )


def _declares(name: str, imports: Mapping[str, Import]) -> bool:
    imported = imports.get(name)
    if imported is None:
        return name in _ARRAYS
    if imported.reference is None:
        return False
    return SECTIONS[imported.reference.section] in (Kind.LAYER, Kind.BLOCK)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_of_setup(
    source: Source, method: ast.FunctionDef, *, of_self: bool = True
) -> bool:
    """Whether `setup` means to call a method, which is a finding of its own, or a function."""
    name = f"self.{method.name}" if of_self else method.name
    return any(
        target_name(node) == name
        for function in walk(source.tree)
        if isinstance(function, ast.FunctionDef) and function.name == "setup"
        for node in walk(function)
    )
