"""Finds names of a spec that would mean something else in the code generated for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.model.definition import Declaration, MethodRole, Role
from mlax_scaffold.model.reserved import OF_STEPS
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.imports import DECLARING
from mlax_scaffold.reader.remedies.helpers import helper_named, import_named
from mlax_scaffold.reader.remedies.returned_gradients import of_each_gradient
from mlax_scaffold.reader.source import Source, self_attribute

_SUFFIXES = {
    Role.TRAINABLE: ("_initializer",),
    Role.SUB_LAYER: ("_weights", "_state", "_hyperparams"),
    Role.OPTIMIZER: ("_state", "_hyperparams"),
}
_NO_LOCALS = ("method", "entry", "training", "stored", "coefficient", *OF_STEPS)
_WITH_LOCALS = (
    MethodRole.SETUP,
    MethodRole.SETUP_TREE,
    MethodRole.UPDATE,
    MethodRole.PREPARE,
    MethodRole.FINISH,
    MethodRole.STEP,
)
OF_HYPERPARAMS = frozenset(("apply", "keyword_inputs", "outline", "takes_integers"))
"""Names that the generated hyperparameters have, beside their fields."""

_CHANGED = {
    "prepare": "What scales the gradients is kept, `self.scale = ...`, and `update` multiplies by it.",
    "finish": "What changes all updates stands in `step`, in the place of the other methods.",
}
"""Where other libraries would return gradients or updates."""


def check_locals(
    source: Source,
    method: ast.FunctionDef,
    role: MethodRole,
    attributes: dict[str, str],
    declarations: Iterable[Declaration],
) -> None:
    """Report names that the locals which attributes of self become would hide.

    The methods of an optimizer, and `setup`, become functions with a local for each attribute that they use.
    Locals of the spec make way for them; what it imports cannot.
    """
    if role not in _WITH_LOCALS:
        return
    used = {self_attribute(n) for n in walk(method)} - {None}
    if role in (MethodRole.SETUP, MethodRole.SETUP_TREE):
        taken = {n for n, what in attributes.items() if what not in _NO_LOCALS}
        for declaration in declarations:
            suffixes = _SUFFIXES.get(declaration.role, ())
            taken |= {declaration.name + suffix for suffix in suffixes}
    else:
        made = ("coefficient", "scheduled", *OF_STEPS)
        taken = {n for n, what in attributes.items() if what in made and n in used}
    if role in (MethodRole.PREPARE, MethodRole.UPDATE, MethodRole.FINISH):
        taken |= {n for n, what in attributes.items() if what == "moment"}
    if role is MethodRole.UPDATE:
        taken |= {n for n, what in attributes.items() if what == "mask"}
    own = set(names_bound(method))
    declaring = [n.func for n in walk(method) if isinstance(n, ast.Call)]
    for name, node in _plain(method):
        if name in DECLARING and node in declaring:
            continue  # no local hides it in generated code
        if name in taken and name not in own:
            source.report(
                node,
                f"`{name}` is also an attribute of self, which becomes a local",
                "Choose another name for one of the two.",
                fix=import_named(source, name, f"strict_{name}")
                or (
                    None
                    if name in attributes
                    else helper_named(source, name, f"_{name}")
                ),
            )


def check_returns_nothing(source: Source, method: ast.FunctionDef) -> None:
    """Report what cannot stand in the middle of the generated `step`: returns, and other trees."""
    trees = {argument.arg for argument in method.args.args} - {"self"}
    for node in walk(method):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name in trees:
                source.report(
                    node,
                    f"`{name}` is a tree that the rest of the step takes",
                    "Choose another name.",
                )
    pending: list[ast.AST] = list(method.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return):
            source.report(
                node,
                f"{method.name} returns nothing: it assigns to attributes of self",
                _CHANGED.get(method.name, "") if node.value is not None else "",
                fix=of_each_gradient(source, method, node)
                if method.name == "prepare"
                else None,
            )
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


def names_bound(method: ast.FunctionDef) -> Iterable[str]:
    """The names that the body of a method binds, parameters of nested functions included."""
    for statement in method.body:
        for node in walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    yield name
                case ast.FunctionDef(name=name):
                    yield name


def _plain(method: ast.FunctionDef) -> Iterable[tuple[str, ast.AST]]:
    for statement in method.body:
        for node in walk(statement):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                    yield name, node
