"""Mapped lambdas that only hand keys and flags on to a layer, as the layer itself.

jax.vmap(lambda a, k: self.mlp(a, key=k))(x, keys)      becomes     jax.vmap(self.mlp)(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.forms.number_inputs import without
from mlax_scaffold.conversion.lists.key_loops import holds_keys
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_none,
    literal,
    names,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, flags, is_key
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_mapped_lambdas(origin: Origin) -> None:
    """Write them so in classes of equinox, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "equinox":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _Lambdas(origin, method).visit(method)
                _without_unread_modes(method)
    located(origin.tree)


class _Lambdas(NodeTransformer):
    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin = origin
        self.keys = {key for key in KEYS if is_key(method, key)}
        for part in walk(method):
            if isinstance(part, ast.Assign) and holds_keys(origin, part.value):
                self.keys |= {*targets(part)}

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Call(args=[ast.Lambda(body=ast.Call() as body) as function]),
                keywords=[],
            ) if self.origin.qualified(node.func.func) == "jax.vmap":  # type: ignore[attr-defined]
                pass
            case _:
                return node
        given = [a.arg for a in function.args.args]
        if len(given) != len(node.args) or self_attribute(body.func) is None:
            return node
        pairs = zip(given, node.args, strict=True)
        keys = {g for g, a in pairs if self._is_key(a)}
        kept = [g for g in given if g not in keys]
        arguments = [a for a in body.args if not _is_told(a, keys)]
        rest = [k for k in body.keywords if not _is_told(k.value, keys)]
        alike = [a.id for a in arguments if isinstance(a, ast.Name)] == kept
        if not keys or not kept or rest or not alike or len(arguments) != len(kept):
            return node
        mapped = node.func
        assert isinstance(mapped, ast.Call)
        axes = next((k for k in mapped.keywords if k.arg == "in_axes"), None)
        at = [given.index(g) for g in kept]
        if axes is not None and isinstance(axes.value, ast.Tuple):
            axes.value.elts = [axes.value.elts[i] for i in at]
            if all(literal(axis) == 0 for axis in axes.value.elts):
                mapped.keywords.remove(axes)
        mapped.args = [body.func]
        node.args = [node.args[i] for i in at]
        return node

    def _is_key(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.keys
        return holds_keys(self.origin, node)


def _is_told(node: ast.expr, keys: set[str]) -> bool:
    """Whether an argument is such a key, or a flag of the mode."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    if isinstance(node, ast.Name):
        return node.id in keys or bool(flags([node.id]))
    return is_none(node)


def _without_unread_modes(method: ast.FunctionDef) -> None:
    """Leave out locals that say whether a key is given, where nothing reads them.

    Where nothing reads the key then, it is no parameter: who gives none has the mode of inference.
    """
    for part in [*method.body]:
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.Compare(
                    left=ast.Name(id=key),
                    ops=[ast.Is() | ast.IsNot()],
                    comparators=[other],
                ),
            ) if is_key(method, key) and is_none(other):
                if not _is_read(method, local, part):
                    method.body.remove(part)
                    _without_key(method, key)


def _without_key(method: ast.FunctionDef, key: str) -> None:
    for part in [*method.body]:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                if key in names(value) and not _is_read(method, local, part):
                    method.body.remove(part)
    given = [a.arg for a in (*method.args.args, *method.args.kwonlyargs)]
    if key in given and not any(key in names(part) for part in method.body):
        without(method, key)


def _is_read(method: ast.FunctionDef, local: str, binding: ast.stmt) -> bool:
    return any(local in names(part) for part in method.body if part is not binding)
