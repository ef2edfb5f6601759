"""Products of sizes, which people compute by functions of arrays: `int(jnp.prod(jnp.array(shape)))`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_PRODUCTS = ("numpy.prod", "jax.numpy.prod")
_ARRAYS = ("numpy.array", "numpy.asarray", "jax.numpy.array", "jax.numpy.asarray")


def with_static_products(origin: Origin) -> None:
    """Write them as `math.prod`, in place, in classes of libraries of jax."""
    made = _Products(origin)
    for node in origin.classes.values():
        if framework_of(origin, node) in ("flax", "nnx", "equinox", "haiku"):
            made.visit(node)
    if made.found:
        if "math" not in origin.imports:
            origin.tree.body[:0] = ast.parse("import math").body
            origin.forget("imports")
        located(origin.tree)


class _Products(NodeTransformer):
    def __init__(self, origin: Origin):
        self.origin = origin
        self.found = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if is_name(node.func, "int") and len(node.args) == 1:
            inner = self._product(node.args[0], whole=True)
        else:
            inner = self._product(node, whole=False)
        if inner is None:
            return node
        self.found = True
        func = ast.Attribute(ast.Name("math", ast.Load()), "prod", ast.Load())
        return ast.copy_location(ast.Call(func, [inner], []), node)

    def _product(self, node: ast.expr, *, whole: bool) -> ast.expr | None:
        """The sizes that a call multiplies; None of anything else."""
        match node:
            case ast.Call(func=func, args=[given], keywords=[]):
                full = self.origin.qualified(func) or ast.unparse(func)
            case _:
                return None
        if full == "math.prod" and whole:
            return given
        if full not in _PRODUCTS:
            return None
        held = False
        match given:
            case ast.Call(func=func, args=[inner], keywords=[]) if (
                self.origin.qualified(func) in _ARRAYS
            ):
                given, held = inner, True
        sizes = isinstance(given, ast.Tuple | ast.List) or "shape" in ast.unparse(given)
        known = sizes or held or self_attribute(given) is not None
        return given if known and (whole or full == "numpy.prod") else None
