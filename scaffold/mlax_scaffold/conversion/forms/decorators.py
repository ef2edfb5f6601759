"""Decorators: those that change nothing of what is computed are left out, and the others are told."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.own_derivatives import is_rule
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin

_SILENT = frozenset(
    (
        *("compact", "nowrap", "transparent", "remat", "checkpoint", "named_scope"),
        *("jit", "filter_jit", "named_call", "compile", "script", "script_method"),
        *("export", "ignore", "unused", "disable", "disallow_in_graph"),
        *("autocast", "custom_fwd", "auto_fp16", "force_fp32"),
        *("staticmethod", "classmethod", "property", "cached_property", "setter"),
        *("abstractmethod", "override", "final", "overload", "wraps", "cache"),
        *(
            "lru_cache",
            "typechecked",
            "jaxtyped",
            "beartype",
            "deprecated",
            "typecheck",
        ),
        *("add_start_docstrings", "add_start_docstrings_to_model_forward"),
        *("replace_return_docstrings", "add_code_sample_docstrings"),
    )
)
_KEPT = ("vmap",)
_TODO = "write what it does in the body, or call the function that it makes of this one"


def kept_decorators(
    origin: Origin, notes: Notes, node: ast.FunctionDef
) -> list[ast.expr]:
    """The decorators of a function that stay with it; what has no counterpart is noted."""
    found: list[ast.expr] = []
    for decorator in node.decorator_list:
        inner = _inner(origin, decorator)
        last = ast.unparse(inner).rpartition(".")[2]
        full = origin.qualified(inner)
        kept = last in _KEPT and full.startswith("jax.")
        if kept or is_rule(origin, decorator):
            found.append(decorator)
        elif last not in _SILENT:
            told_decorator(notes, decorator)
    return found


def refuse_decorators(origin: Origin, notes: Notes, node: ast.FunctionDef) -> None:
    """Note the decorators of a method that change what it computes."""
    for decorator in kept_decorators(origin, notes, node):
        told_decorator(notes, decorator)


def told_decorator(notes: Notes, decorator: ast.expr) -> None:
    """Note one decorator."""
    notes.refuse(
        decorator,
        f"`@{ast.unparse(decorator)}` changes what a function computes",
        _TODO,
    )


def _inner(origin: Origin, node: ast.expr) -> ast.expr:
    """What a decorator is, of a call or of `partial`."""
    while isinstance(node, ast.Call):
        partial = origin.qualified(node.func) == "functools.partial"
        node = node.args[0] if partial and node.args else node.func
    return node
