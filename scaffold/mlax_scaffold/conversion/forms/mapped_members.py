"""Layers with stacked weights of equinox and nnx that are all given the same, as several that are called.

q = eqx.filter_vmap(lambda c, x: c(x), in_axes=(eqx.if_array(0), None))(self.critics, x)
becomes
q = jnp.stack([c(x) for c in self.critics], axis=0)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    name,
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_MAPS = ("equinox.filter_vmap", "jax.vmap", "flax.nnx.vmap")


def with_called_members(
    origin: Origin, method: ast.FunctionDef, stacked: set[str]
) -> None:
    """Write a method so, in place."""
    calls = _Calls(origin, method, stacked)
    method.body = [calls.visit(part) for part in method.body]
    method.body = [part for part in method.body if part not in calls.used]


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin, method: ast.FunctionDef, stacked: set[str]):
        self.origin, self.stacked = origin, stacked
        self.local = {p.name: p for p in method.body if isinstance(p, ast.FunctionDef)}
        self.used: list[ast.FunctionDef] = []

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        layers = node.args[0] if node.args else None
        if layers is None or self_attribute(layers) not in self.stacked:
            return node
        if node.keywords or not self._alike(node.func, len(node.args)):
            return node
        given, body = self._function(node.func)
        if body is None or len(given) != len(node.args) or isinstance(body, ast.Tuple):
            return node
        made = replaced(body, dict(zip(given[1:], node.args[1:], strict=True)))
        loop = ast.comprehension(ast.Name(given[0], ast.Store()), layers, [], 0)
        several = self._returns_several(layers, body)
        stack = expression(
            "jax.tree.map(lambda *parts: jnp.stack(parts, axis=0), *a)"
            if several
            else "jnp.stack(a, axis=0)",
            jax=name(self.origin.name_of("jax") or "@module:jax"),
            jnp=name(self.origin.name_of("jax.numpy") or "@module:jnp"),
            a=ast.ListComp(made, [loop]),
        )
        for part in walk(stack):
            if isinstance(part, ast.expr):
                ast.copy_location(part, node)
        return stack

    def _returns_several(self, layers: ast.expr, body: ast.expr) -> bool:
        """Whether what is called of such a layer of the file returns several arrays."""
        if not isinstance(body, ast.Call):
            return False
        title = body.func.attr if isinstance(body.func, ast.Attribute) else "__call__"
        makers = {
            p.func.id
            for node in self.origin.classes.values()
            for part in walk(node)
            if isinstance(part, ast.Assign)
            and self_attribute(part.targets[0]) == self_attribute(layers)
            for p in walk(part.value)
            if isinstance(p, ast.Call) and isinstance(p.func, ast.Name)
        }
        called = [
            method
            for maker in makers & self.origin.classes.keys()
            if (method := method_of(self.origin.classes[maker], title)) is not None
        ]
        returned = [
            isinstance(part.value, ast.Tuple)
            for method in called
            for part in walk(method)
            if isinstance(part, ast.Return)
        ]
        return bool(returned) and all(returned)

    def _alike(self, func: ast.expr, count: int) -> bool:
        """Whether a function goes through its first argument, and is given the others whole."""
        maker = self._maker(func)
        if maker is None:
            return False
        told = {k.arg: k.value for k in maker.keywords}
        axes = told.pop("in_axes", None)
        out = told.pop("out_axes", None)
        if told or (out is not None and ast.unparse(out) != "0"):
            return False
        if axes is None:
            return count == 1
        if not isinstance(axes, ast.Tuple) or len(axes.elts) != count:
            return False
        first, *others = axes.elts
        return "0" in ast.unparse(first) and all(map(is_none, others))

    def _maker(self, func: ast.expr) -> ast.Call | None:
        """The call that makes a function go through an axis: by a decorator, or there."""
        function = self.local.get(getattr(func, "id", ""))
        if function is not None:
            if len(function.decorator_list) != 1:
                return None
            func = function.decorator_list[0]
            if not isinstance(func, ast.Call):
                func = ast.Call(func, [], [])
        match func:
            case ast.Call(func=partial, args=[inner], keywords=keywords) if (
                self.origin.qualified(partial) == "functools.partial"
            ):
                func = ast.Call(inner, [], keywords)
        if isinstance(func, ast.Call) and self.origin.qualified(func.func) in _MAPS:
            return func
        return None

    def _function(self, func: ast.expr) -> tuple[list[str], ast.expr | None]:
        local = self.local.get(getattr(func, "id", ""))
        if local is None and isinstance(func, ast.Call) and func.args:
            inner = func.args[0]
            if isinstance(inner, ast.Lambda):
                return [a.arg for a in inner.args.args], inner.body
            local = self.local.get(getattr(inner, "id", ""))
        if local is None:
            return [], None
        match without_docstring(local.body):
            case [ast.Return(value=ast.expr() as value)]:
                self.used.append(local)
                return [a.arg for a in local.args.args], cloned(value)
        return [], None
