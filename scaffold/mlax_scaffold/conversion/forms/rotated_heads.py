"""`eqx.nn.RotaryPositionalEmbedding`, which holds no weights, as the function that it is.

self.rope = eqx.nn.RotaryPositionalEmbedding(size)
q = jax.vmap(self.rope, in_axes=1, out_axes=1)(q)        becomes        q = rotary_embedding(q)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    literal,
    marked,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, located

_ROTARY = "equinox.nn.RotaryPositionalEmbedding"


def without_rotated_heads(origin: Origin) -> None:
    """Write its calls so, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) == "equinox":
            known = _made(origin, node)
            if known:
                _Calls(origin, known).visit(node)
    located(origin.tree)


def _made(origin: Origin, node: ast.ClassDef) -> dict[str, ast.expr]:
    """The attributes that are such layers, which are declared no longer, and their bases."""
    found: dict[str, ast.expr] = {}
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
            continue
        for at, part in enumerate(method.body):
            match part:
                case ast.Assign(targets=[target], value=ast.Call() as call) if (
                    origin.qualified(call.func) == _ROTARY
                    and (attribute := self_attribute(target))
                ):
                    given = {k.arg: k.value for k in call.keywords}
                    base = given.get("theta") or constant(10000.0)
                    base = call.args[1] if len(call.args) > 1 else base
                    if isinstance(literal(base), int | float):
                        found[attribute] = base
                        method.body[at] = ast.copy_location(ast.Pass(), part)
                        continue
                    # A hyperparameter, which keeps the name of the layer.
                    found[attribute] = expression(f"self.{attribute}_base")
                    kept = ast.Attribute(target.value, f"{attribute}_base", ast.Store())  # type: ignore[attr-defined]
                    method.body[at] = ast.copy_location(ast.Assign([kept], base), part)
    node.body = [
        part
        for part in node.body
        if not (
            isinstance(part, ast.AnnAssign) and getattr(part.target, "id", "") in found
        )
    ]
    return found


class _Calls(NodeTransformer):
    """Writes the calls of such layers, and of what maps them over heads."""

    def __init__(self, origin: Origin, known: dict[str, ast.expr]):
        self.origin, self.known = origin, known
        self.mapped: dict[str, ast.expr] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        for part in list(node.body):
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value) if (
                    self._base(value) is not None
                ):
                    # `rotate = jax.vmap(self.rope, in_axes=1, out_axes=1)`
                    self.mapped[local] = value
                    node.body.remove(part)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = self.mapped.get(getattr(node.func, "id", ""), node.func)
        base = self._base(func)
        if base is None or len(node.args) != 1:
            return node
        heads = isinstance(func, ast.Call) and self._axes(func) == (1, 1)
        text = "word_rotary_embedding(a, base=b)"
        if not heads:
            # Positions stand before features, and there are no heads between.
            text = "word_rotary_embedding(a[..., None, :], base=b)[..., 0, :]"
        made = marked(text, a=node.args[0], b=base)
        return ast.copy_location(made, node)

    def _base(self, func: ast.expr) -> ast.expr | None:
        """What wavelengths grow up to, of a call of such a layer, or of one that is mapped."""
        if self_attribute(func) in self.known:
            return self.known[str(self_attribute(func))]
        if (
            isinstance(func, ast.Call)
            and self.origin.qualified(func.func) in ("jax.vmap", "equinox.filter_vmap")
            and func.args
            and self._axes(func) in ((0, 0), (1, 1))
        ):
            return self._base(func.args[0])
        return None

    def _axes(self, call: ast.Call) -> tuple[object, object]:
        given = {k.arg: literal(k.value) for k in call.keywords}
        return given.get("in_axes", 0), given.get("out_axes", 0)
