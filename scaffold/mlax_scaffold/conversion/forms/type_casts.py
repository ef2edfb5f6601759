"""What only tells types: `typing.cast(Array, self.bias)` is the value, and a local dtype is what it is.

`jax.lax.convert_element_type(x, jnp.float32)` is `x.astype(jnp.float32)`.

dtype = jnp.float32                     becomes        x = x.astype(jnp.float32) / 255
x = x.astype(dtype) / 255
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, with_names
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_CASTS = ("typing.cast", "typing_extensions.cast")
_CONVERTS = "jax.lax.convert_element_type"
_DTYPES = tuple(
    f"{module}.{title}"
    for module in ("jax.numpy", "numpy")
    for title in ("float16", "bfloat16", "float32", "float64", "int32", "uint8")
)


def without_type_casts(origin: Origin) -> None:
    """Write both so, in place."""
    modules = {full.partition(".")[0] for full in origin.imports.values()}
    if modules & {"typing", "typing_extensions", "jax"}:
        _Casts(origin).visit(origin.tree)
        located(origin.tree)
    if not origin.uses("jax"):
        return
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _without_locals(origin, method)


def _without_locals(origin: Origin, method: ast.FunctionDef) -> None:
    for part in list(method.body):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                if origin.qualified(value) not in _DTYPES:
                    continue
                stored = [
                    p
                    for p in walk(method)
                    if is_name(p, local) and isinstance(p.ctx, ast.Store)  # type: ignore[attr-defined]
                ]
                given = [a.arg for a in walk(method.args) if isinstance(a, ast.arg)]
                if len(stored) == 1 and local not in given:
                    rest = [s for s in method.body if s is not part]
                    made = [with_names(s, {local: value}) for s in rest]
                    method.body = made or [ast.copy_location(ast.Pass(), part)]


class _Casts(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        full = self.origin.qualified(node.func)
        match node.args:
            case [_, value] if full in _CASTS:
                return value
            case [array, dtype] if full == _CONVERTS and literal(array) is array:
                func = ast.Attribute(array, "astype", ast.Load())
                return ast.copy_location(ast.Call(func, [dtype], []), node)
        return node
