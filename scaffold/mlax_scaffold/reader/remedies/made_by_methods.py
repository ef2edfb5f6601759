"""What base classes of other libraries make by methods: `param`, `make_rng`, `register_buffer` ..."""

from __future__ import annotations

import ast
from collections.abc import Container

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import (
    Source,
    class_of,
    dotted,
    is_none,
    self_attribute,
)


def flax_param(
    source: Source, method: ast.FunctionDef, node: ast.Attribute
) -> Fix | None:
    """`self.param("w", initializer, shape)`, as flax has it, as `trainable(initializer, shape)`.

    The name may be missing: what it is assigned to says it.
    """
    if node.attr != "param":
        return None
    for call in walk(method):
        match call:
            case ast.Call(
                func=func,
                args=[ast.Constant(value=str()), initializer, _] | [initializer, _],
                keywords=[],
            ) if func is node:
                declared = word(source, "trainable")
                start, end = source.start(call), source.start(initializer)
                edit = source.replace(start, end, f"{declared.bound}(")
                return Fix((edit,), (declared,))
    return None


def flax_key(
    source: Source, method: ast.FunctionDef, node: ast.Attribute, known: Container[str]
) -> Fix | None:
    """`self.make_rng("noise")`, as flax has it, as `self.key()`, where a method has keys."""
    if node.attr != "make_rng" or method.name == "setup" or "key" not in known:
        return None
    for call in walk(method):
        match call:
            case ast.Call(func=func, args=[] | [ast.Constant()], keywords=[]) if (
                func is node
            ):
                return Fix((source.edit(call, "self.key()"),))
    return None


def torch_registered(
    source: Source, method: ast.FunctionDef, node: ast.Attribute
) -> Fix | None:
    """`self.register_buffer("mean", array)`, as PyTorch has it, as a state, or as a constant.

    It is a state where a method sets it, or where it is drawn. `self.register_parameter("bias", None)` says
    that there is none, and of any other value what is written in the place of None.
    """
    owner = class_of(source.tree, method)
    registers = ("register_buffer", "register_parameter")
    if node.attr not in registers or method.name != "setup" or owner is None:
        return None
    for statement in walk(method):
        match statement:
            case ast.Expr(
                value=ast.Call(
                    func=func, args=[ast.Constant(value=str(name)), value, *_]
                ) as call
            ) if func is node and name.isidentifier():
                text = source.text_of(value)
                sets = (n for n in walk(owner) if self_attribute(n) == name)
                changes = any(isinstance(n.ctx, ast.Store) for n in sets)  # type: ignore[attr-defined]
                is_buffer = node.attr == "register_buffer" and not is_none(value)
                if not (is_buffer and (changes or _draws(value))):
                    return Fix((source.edit(call, f"self.{name} = {text}"),))
                state = word(source, "state")
                text = f"self.{name} = {state.bound}({text})"
                return Fix((source.edit(call, text),), (state,))
    return None


def _draws(node: ast.expr) -> bool:
    calls = (n for n in walk(node) if isinstance(n, ast.Call))
    return any("random." in f"{dotted(call.func)}" for call in calls)
