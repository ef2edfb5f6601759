"""Keys and flags of the mode that a mapped layer is given: `jax.vmap(block, in_axes=(0, None))(x, key)`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.lists.key_loops import holds_keys
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_none, literal, targets
from mlax_scaffold.conversion.source.vocabulary import KEYS, flags, is_key
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_mapped_flags(origin: Origin) -> None:
    """Leave them out in place: a layer draws by the key that it has, and knows the mode."""
    for node in origin.classes.values():
        if framework_of(origin, node) != "equinox":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _Mapped(origin, method).visit(method)


class _Mapped(NodeTransformer):
    def __init__(self, origin: Origin, method: ast.FunctionDef):
        self.origin = origin
        self.keys = {key for key in KEYS if is_key(method, key)}
        self.functions = {*origin.functions}
        for part in walk(method):
            if isinstance(part, ast.Assign) and holds_keys(origin, part.value):
                self.keys |= {*targets(part)}
            elif isinstance(part, ast.FunctionDef) and part is not method:
                self.functions.add(part.name)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        func = node.func
        if not isinstance(func, ast.Call) or len(func.args) != 1 or node.keywords:
            return node
        [inner] = func.args
        function = isinstance(inner, ast.Lambda) or (
            isinstance(inner, ast.Name) and inner.id in self.functions
        )
        if self.origin.qualified(func.func) != "jax.vmap" or function:
            return node
        kept = [i for i, a in enumerate(node.args) if not self._told(a)]
        if not kept or len(kept) == len(node.args):
            return node
        for keyword in list(func.keywords):
            axes = literal(keyword.value)
            if keyword.arg == "in_axes" and isinstance(axes, tuple):
                left = tuple(axes[i] for i in kept if i < len(axes))
                if all(axis == 0 for axis in left):
                    func.keywords.remove(keyword)
                else:
                    made = ast.Tuple([ast.Constant(a) for a in left], ast.Load())
                    keyword.value = ast.copy_location(made, keyword.value)
                    located(keyword.value)
        node.args = [node.args[i] for i in kept]
        return node

    def _told(self, given: ast.expr) -> bool:
        """Whether an argument is a key, a flag of the mode, or neither of them."""
        if isinstance(given, ast.Name):
            return given.id in self.keys or bool(flags([given.id]))
        if isinstance(given, ast.UnaryOp) and isinstance(given.op, ast.Not):
            return self._told(given.operand)
        return is_none(given) or holds_keys(self.origin, given)
