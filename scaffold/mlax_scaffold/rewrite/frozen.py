"""Values that `setup` derives by NumPy, and that its own functions read: they read what `hyperparams` holds.

A function of `setup` runs later, when what was derived is a number of Python in the spec that runs
eagerly. A number of NumPy has a dtype of its own, which widens the weights that it meets.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import local_names, self_attribute
from mlax_scaffold.rewrite.traversal import parts


def read_later(setup: cst.FunctionDef, context: Context) -> frozenset[str]:
    """The names of derived values that may be of NumPy, and that functions and lambdas of `setup` read."""
    derived = {d.name for d in context.definition.declared(Role.DERIVED)}
    functions = (
        part
        for part in parts(setup.body)
        if isinstance(part, cst.FunctionDef | cst.Lambda)
    )
    read = {name for f in functions for name in _attributes(f)} & derived
    return frozenset(read & _of_numpy(setup, context)) if read else frozenset()


def _of_numpy(setup: cst.FunctionDef, context: Context) -> set[str]:
    """Names of locals and attributes that NumPy, or a function of the module, may have a part in."""
    imports = context.definition.imports
    found = {i.name for i in imports if i.module.partition(".")[0] == "numpy"}
    found |= {h.name for h in context.definition.helpers}
    assigned = [*_assigned(setup)]
    while True:
        more = {
            target
            for target, value in assigned
            if found & {*local_names(value), *_attributes(value)}
        }
        if more <= found:
            return found
        found |= more


def _assigned(setup: cst.FunctionDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    for node in parts(setup.body):
        if not isinstance(node, cst.Assign | cst.AnnAssign | cst.AugAssign):
            continue
        if node.value is None:
            continue
        targets = (
            [t.target for t in node.targets]
            if isinstance(node, cst.Assign)
            else [node.target]
        )
        for target in targets:
            names = {*local_names(target), *_attributes(target)} - {"self"}
            yield from ((name, node.value) for name in names)


def _attributes(node: cst.CSTNode) -> set[str]:
    """The attributes of `self` in it."""
    return {name for p in parts(node) if (name := self_attribute(p)) is not None}
