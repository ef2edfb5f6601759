"""What a call only shows: lines that it prints, and attributes of PyTorch that it leaves to be looked at."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import Removing, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, walk

_SHOWS = frozenset(("print", "pprint.pprint", "breakpoint", "pdb.set_trace"))
_LOGS = frozenset(("debug", "info", "warning", "error", "warn", "log"))
"""Methods of loggers, and functions of `logging` and `warnings`."""
_LOGGERS = ("logger", "log", "logging", "warnings")


def without_shown_values(origin: Origin, notes: Notes) -> None:
    """Leave them out of methods in place, with a remark."""
    parts = [*walk(origin.tree)]
    called = {
        id(p.func)
        for p in parts
        if isinstance(p, ast.Call) and self_attribute(p.func) is None
    }
    read = {
        p.attr
        for p in parts
        if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Load)
        if id(p) not in called
    }
    torch = origin.uses("torch")
    for node in origin.classes.values():
        kept = read | _registered(node)
        for method in node.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            if method.name == "__init__":
                _Told(_Shown(origin, notes, None)).run(method)
            else:
                _Shown(origin, notes, kept if torch else None).visit(method)
    for function in origin.functions.values():
        _Shown(origin, notes, None).visit(function)


def _registered(node: ast.ClassDef) -> set[str]:
    """Attributes that have a place in the state, whether or not the file reads them."""
    return {
        str(part.args[0].value)
        for part in walk(node)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("register_buffer", "register_parameter")
        and part.args
        and isinstance(part.args[0], ast.Constant)
    }


class _Shown(Removing):
    def __init__(self, origin: Origin, notes: Notes, read: set[str] | None):
        self.origin, self.notes = origin, notes
        self.read = read
        """The attributes that something reads; None: they are not looked at."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        if not self.shows(node.value) or _computes(node.value):
            return node
        self.notes.remark(
            node,
            f"`{ast.unparse(node)}` is left out: it shows values while jax traces",
            "`jax.debug.print` shows them in each call",
        )
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        if self.read is None:
            return node
        attributes = map(self_attribute, node.targets)
        unread = [a for a in attributes if a is not None and a not in self.read]
        if not unread:
            return node
        self.notes.remark(
            node,
            f"self.{unread[0]} is left out: nothing in the file reads it",
            "return it, if it is to be looked at",
        )
        kept = [t for t in node.targets if self_attribute(t) not in unread]
        if kept:
            node.targets = kept
            return node
        if not _computes(node.value):
            return None
        return ast.copy_location(ast.Expr(node.value), node)

    def visit_If(self, node: ast.If) -> ast.stmt | None:
        before = len(self.notes.found)
        self.generic_visit(node)
        empty = all(isinstance(part, ast.Pass) for part in (*node.body, *node.orelse))
        shown = len(self.notes.found) > before
        return None if empty and shown and not _computes(node.test) else node

    def shows(self, node: ast.expr) -> bool:
        """Whether an expression is a call that prints, logs or stops."""
        if not isinstance(node, ast.Call):
            return False
        if (self.origin.qualified(node.func) or ast.unparse(node.func)) in _SHOWS:
            return True
        return (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _LOGS
            and ast.unparse(node.func.value).rpartition(".")[2].lower() in _LOGGERS
        )


class _Told(NodeTransformer):
    """Leaves out what a constructor prints of the layer that it has made, and sums that it makes for it."""

    def __init__(self, shown: _Shown):
        self.shown = shown

    def run(self, start: ast.FunctionDef) -> None:
        """Change it in place."""
        self.visit(start)
        read = {
            p.id
            for p in walk(start)
            if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
        }
        kept = [s for s in start.body if not _counts(s, read)]
        start.body = kept or [ast.copy_location(ast.Pass(), start)]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if self.shown.shows(node.value):
            return ast.copy_location(ast.Pass(), node)
        return node


def _counts(node: ast.stmt, read: set[str]) -> bool:
    """Whether a statement does nothing but to count weights for a local that nothing reads."""
    match node:
        case ast.Assign(targets=[ast.Name(id=local)], value=value):
            text = ast.unparse(value)
            return local not in read and "parameters()" in text
    return False


def _computes(node: ast.expr) -> bool:
    """Whether what is not shown would not be computed: a layer may have a state, or draw."""
    return any(
        isinstance(part, ast.NamedExpr)
        or (isinstance(part, ast.Call) and self_attribute(part.func) is not None)
        for part in walk(node)
    )
