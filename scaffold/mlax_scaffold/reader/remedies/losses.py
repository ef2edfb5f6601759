"""The loss that a method of an optimizer takes, as the input that its step has."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.reserved import OF_STEPS
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.names import placed, uses_of_self
from mlax_scaffold.reader.remedies.of_leaves import OF_TREES
from mlax_scaffold.reader.source import Source, class_of, is_none

_LOSSES = ("cost", "f", "fx", "loss", "loss_value", "objective", "value")


def names_loss(method: ast.FunctionDef, expected: tuple[str, ...]) -> bool:
    """Whether a method takes one parameter more than it is called with, which is called a loss."""
    args = method.args
    given = (*args.args, *args.kwonlyargs)
    others = args.posonlyargs or args.vararg or args.kwarg
    optimizer = expected[1:2] in (("grad",), ("grads",), ("updates",))
    if not optimizer or others or len(given) != len(expected) + 1:
        return False
    return given[-1].arg in _LOSSES


def handed_loss(
    source: Source, method: ast.FunctionDef, expected: tuple[str, ...]
) -> Fix | None:
    """`def step(self, grads, params, loss)` without its loss, which is `self.value` in it.

    None where the method takes anything else besides, sets it, or asks whether it is there.
    """
    if not names_loss(method, expected):
        return None
    loss = (*method.args.args, *method.args.kwonlyargs)[-1]
    names = [n for n in walk(method) if isinstance(n, ast.Name) and n.id == loss.arg]
    if not placed(source, names, [loss.arg]) or not all(
        isinstance(n.ctx, ast.Load) for n in names
    ):
        return None
    if any(isinstance(n, ast.Compare) and _asks(n, loss.arg) for n in walk(method)):
        return None
    last = method.args.defaults or method.args.kw_defaults
    end = source.end(last[-1] if last and last[-1] else loss.annotation or loss)
    without = source.replace(source.end(_before(method)), end, "")
    if method.name in OF_TREES:
        return Fix((without, *(source.edit(n, "self.value") for n in names)))
    # What a step reads as `self.value` is no name for what `prepare` makes of it.
    name = "loss" if loss.arg in OF_STEPS else loss.arg
    kept = in_prepare(source, method, name)
    if kept is None or method.name != "update":
        return None
    edits = (source.edit(n, f"self.{name}") for n in names)
    return Fix((without, *edits, *kept.edits))


def in_prepare(source: Source, method: ast.FunctionDef, name: str) -> Fix | None:
    """The loss as a coefficient that `prepare` sets; None where its name is taken."""
    owner = class_of(source.tree, method)
    if owner is None or any(True for _ in uses_of_self(owner, name)):
        return None
    fields = (s.target for s in owner.body if isinstance(s, ast.AnnAssign))
    if any(isinstance(f, ast.Name) and f.id == name for f in fields):
        return None
    for other in owner.body:
        if isinstance(other, ast.FunctionDef) and other.name == "prepare":
            text = f"self.{name} = self.value\n{' ' * other.body[0].col_offset}"
            return Fix((source.insert(other.body[0], text),))
    indent = " " * method.col_offset
    text = (
        f"def prepare(self, grads, params):\n{indent}    self.{name} = self.value\n\n"
    )
    return Fix((source.insert(method, f"{text}{indent}"),))


def _asks(test: ast.Compare, name: str) -> bool:
    """Whether a comparison is of this name with None."""
    sides = (test.left, *test.comparators)
    named = any(isinstance(s, ast.Name) and s.id == name for s in sides)
    return named and any(map(is_none, sides))


def _before(method: ast.FunctionDef) -> ast.AST:
    """What stands before the last parameter of a method."""
    if method.args.kwonlyargs:
        given, defaults = method.args.args, method.args.defaults
    else:
        given, defaults = method.args.args[:-1], method.args.defaults[:-1]
    return defaults[-1] if defaults else given[-1].annotation or given[-1]
