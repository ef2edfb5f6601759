"""Decorators of functions beside a definition, and their derivatives: what runs nothing of them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.model.import_time import Refused, check_value, meaning

RULES = ("jax.custom_jvp", "jax.custom_vjp")
WRAPPERS = (*RULES, "jax.checkpoint", "jax.remat")
"""Decorators of functions that run nothing of them where the module is imported."""


def check_wrapper(node: ast.expr, meanings: Mapping[str, str]) -> str:
    """Which of `WRAPPERS` a decorator is; with options by `functools.partial`.

    Raises:
        Refused: it is none of them, or an option is no value.
    """
    found = meaning(node, meanings)
    match node:
        case ast.Call(func=called, args=[function], keywords=keywords) if (
            meaning(called, meanings) == "functools.partial"
        ):
            found = meaning(function, meanings)
            for option in keywords:
                check_value(option.value, meanings)
    if found not in WRAPPERS:
        raise Refused(node, "no decorator that may run at import")
    return found or ""


def rule_of(statement: ast.AST) -> tuple[str, list[str]] | None:
    """The function that `f.defvjp(forward, backward)` gives rules, and their names; None for another one."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="defvjp"),
                args=[ast.Name(id=forward), ast.Name(id=backward)],
                keywords=[],
            )
        ):
            return owner, [forward, backward]
    return None


def is_rule(
    statement: ast.stmt, wrapped: Mapping[str, str], meanings: Mapping[str, str]
) -> bool:
    """Whether a statement of a module gives one of its functions rules that are functions of it, too."""
    found = rule_of(statement)
    return found is not None and (
        wrapped.get(found[0]) == "jax.custom_vjp"
        and all(meanings.get(name) == f".here.{name}" for name in found[1])
    )
