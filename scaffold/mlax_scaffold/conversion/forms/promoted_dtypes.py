"""Arrays of flax that are made of one dtype, which those of a layer are by themselves, and calls for shapes.

x, kernel, bias = promote_dtype(x, kernel, bias, dtype=self.dtype)     is left out
size = jnp.shape(x)[-1]                                                size = x.shape[-1]
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_MODULES = ("flax.linen", "flax.nnx", "flax.linen.dtypes", "flax.nnx.nn.dtypes")
_ATTRIBUTES = {"jax.numpy.shape": "shape", "jax.numpy.ndim": "ndim"}


def without_promoted_dtypes(origin: Origin) -> None:
    """Write both so, in place."""
    if not origin.uses("jax"):
        return
    for node in (*origin.classes.values(), *origin.functions.values()):
        _Promoted(origin).visit(node)
    located(origin.tree)


class _Promoted(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        self.generic_visit(node)
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=kept)], value=ast.Tuple(elts=arrays)
            ) if hasattr(node.value, "promoted") and len(kept) == len(arrays):
                pairs = [
                    (t, a)
                    for t, a in zip(kept, arrays, strict=True)
                    if ast.unparse(t) != ast.unparse(a)
                ]
                if not pairs:
                    return ast.copy_location(ast.Pass(), node)
                node.targets = [_together([t for t, _ in pairs], ast.Store())]
                node.value = _together([a for _, a in pairs], ast.Load())
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        if full in _ATTRIBUTES and len(node.args) == 1 and not node.keywords:
            made = ast.Attribute(node.args[0], _ATTRIBUTES[full], ast.Load())
            return ast.copy_location(made, node)
        module, _, title = full.rpartition(".")
        if title == "promote_dtype" and module in _MODULES:
            arrays = node.args
            if len(arrays) == 1 and isinstance(arrays[0], ast.Tuple):
                # Those of nnx are given together.
                arrays = arrays[0].elts
            together = ast.copy_location(ast.Tuple(arrays, ast.Load()), node)
            together.promoted = True  # type: ignore[attr-defined]
            return together
        return node


def _together(parts: list[ast.expr], context: ast.expr_context) -> ast.expr:
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, context)
