"""Weights of flax that a function of a key alone makes, as an initializer and a shape.

Arguments that are named have their places.

self.param("scale", lambda key: jnp.full((dim,), 0.1))
becomes
self.param("scale", nn.initializers.constant(0.1), (dim,))

So are states that are drawn,
`self.variable("stats", "u", lambda: jax.random.normal(self.make_rng("params"), (dim,)))`.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import located, walk

_PLACES = (("name",), ("init_fn",), ("shape",), ("dtype", "param_dtype"))
"""What `param` calls its own arguments, and initializers theirs."""

_FILLED = {"jax.numpy.zeros": "zeros", "jax.numpy.ones": "ones"}


def without_keyed_weights(origin: Origin) -> None:
    """Write them so, in place; what makes something else stays as it is."""
    linen = origin.name_of("flax.linen")
    for part in walk(origin.tree) if linen else ():
        if isinstance(part, ast.Call) and self_attribute(part.func) == "param":
            _in_places(part)
        match part:
            case ast.Call(func=func, args=[_, ast.Lambda(args=given, body=made)]):
                if self_attribute(func) != "param" or len(given.args) != 1:
                    continue
                found = _rule(origin, made, given.args[0].arg)
                if found is not None:
                    text, value, shape = found
                    rule = expression(f"{linen}.initializers.{text}", v=value)
                    part.args[1:] = [ast.copy_location(rule, made), shape]
            case ast.Call(func=func, args=[_, _, ast.Lambda() as given]):
                drawn = _drawn(origin, given) if _is_variable(func) else None
                if drawn is not None:
                    text, key, shape = drawn
                    rule = expression(f"{linen}.initializers.{text}")
                    part.args[2:] = [ast.copy_location(rule, given), key, shape]
    located(origin.tree)


def _is_variable(node: ast.expr) -> bool:
    return self_attribute(node) == "variable"


def _drawn(origin: Origin, node: ast.Lambda) -> tuple[str, ast.expr, ast.expr] | None:
    """The initializer, the key and the shape of what a function without parameters draws."""
    match node.body:
        case ast.Call(func=func, args=[key, shape, *rest]) if (
            origin.qualified(func) in _DRAWN and not node.args.args
        ):
            dtypes = all("float" in ast.unparse(r) for r in rest)
            return (_DRAWN[origin.qualified(func)], key, shape) if dtypes else None
    return None


_DRAWN = {
    "jax.random.normal": "normal(1.0)",
    "jax.random.uniform": "uniform(1.0)",
}


def _in_places(node: ast.Call) -> None:
    """`self.param(name="scale", init_fn=ones, shape=(4,))` with its arguments in their places."""
    if any(isinstance(a, ast.Starred) for a in node.args):
        return
    named = {k.arg: k.value for k in node.keywords}
    for place, titles in enumerate(_PLACES):
        title = next((t for t in titles if t in named), None)
        if len(node.args) == place and title is not None:
            node.args.append(named.pop(title))
    node.keywords = [k for k in node.keywords if k.arg in named]


def _rule(
    origin: Origin, node: ast.expr, key: str
) -> tuple[str, ast.expr, ast.expr] | None:
    """An initializer, a number in it, and the shape of what it fills."""
    one: ast.expr = ast.Constant(1.0)
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for side, factor in ((left, right), (right, left)):
                found = _rule(origin, side, key)
                if found is not None and _is_one(found):
                    if any(is_name(p, key) for p in walk(factor)):
                        return None
                    text = "constant(v)" if found[0] == "ones" else found[0]
                    return text, factor, found[2]
        case ast.Call(func=func, args=[shape, *rest]):
            full = origin.qualified(func)
            if full in _FILLED and len(rest) < 2:
                return _FILLED[full], one, shape
            if full == "jax.numpy.full" and rest:
                return "constant(v)", rest[0], shape
            if full == "jax.random.normal" and is_name(shape, key) and rest:
                return "normal(v)", one, rest[0]
    return None


def _is_one(found: tuple[str, ast.expr, ast.expr]) -> bool:
    return found[0] in ("ones", "normal(v)") and ast.unparse(found[1]) == "1.0"
