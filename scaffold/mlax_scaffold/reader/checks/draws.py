"""Where keys may be drawn, and of what."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import qualified
from mlax_scaffold.reader.source import (
    Source,
    self_attribute,
)


def check_mapped_keys(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report keys that alone are mapped over, in a block where each of them may be None."""
    applied = any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr == "apply"
        for n in walk(source.tree)
    )
    if "keys" not in attributes or not applied:
        return
    for node in walk(method):
        match node:
            case ast.Call(
                func=ast.Call(func=mapping),
                args=[
                    ast.Call(
                        func=ast.Attribute(attr="keys") as keys, args=[count]
                    ) as drawn
                ],
            ) if unparsed(mapping).rpartition(".")[2] == "vmap" and self_attribute(
                keys
            ):
                text = f"jax.random.split(self.key(), {source.text_of(count)})"
                source.report(
                    drawn,
                    "these keys are None where the caller gives none, which cannot be mapped over",
                    "Take them of `self.key()`, which asks for one.",
                    fix=Fix((source.edit(drawn, text),)),
                )


def draws_inside(attributes: Mapping[str, str]) -> bool:
    """Whether functions and comprehensions in a method have keys of their own, by what self has."""
    return "keys" in attributes or "key" in attributes


def several_keys(attributes: Mapping[str, str]) -> str:
    """What to write where a key is needed several times, by what self has."""
    taken = (
        "self.keys(n)" if "keys" in attributes else "jax.random.split(self.key(), n)"
    )
    return f"Take a key for each before: `draws = {taken}`, and loop, map or scan over them."


def check_fixed_keys(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report `jax.random.key(0)` in a body, of which every call draws the same numbers."""
    for node in walk(method):
        match node:
            case ast.Call(func=made, args=[ast.Constant(value=int())], keywords=[]) if (
                qualified(made, imports) in _KEYS
            ):
                drawn = "key" in attributes and not method.decorator_list
                source.report(
                    node,
                    "a key of a fixed number draws the same in every call",
                    "Write `self.key()`. What is meant to stay the same is a state, which an initializer "
                    "draws, or has a number of its own: `seed: int = 0`, and `self.seed` here."
                    if "key" in attributes
                    else "Take a key as an input: `key: Key`.",
                    fix=Fix((source.edit(node, "self.key()"),)) if drawn else None,
                )


_KEYS = ("jax.random.PRNGKey", "jax.random.key")
