"""What weights begin as that are made of several parts: `jnp.concatenate([jnp.zeros(n), jnp.ones(n)])`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    constant,
    expression,
    folded,
    literal,
    marked,
    same,
)

_JOINS = tuple(
    f"{m}.{n}"
    for m in ("jax.numpy", "numpy", "torch")
    for n in ("concatenate", "concat", "cat", "hstack")
)
_PLAIN = {
    "@word:zeros": "jnp.zeros(s, dtype)",
    "@word:ones": "jnp.ones(s, dtype)",
}

Begun = tuple[ast.expr, ast.expr]
"""An initializer and a shape."""


def joined(
    translator: Translator,
    node: ast.expr,
    begun: Callable[[ast.expr], Begun | None],
) -> Begun | None:
    """An initializer that joins the parts, and the shape of all; None of another expression.

    Args:
        translator: what writes expressions in the terms of specs.
        node: what a weight begins as.
        begun: what one part begins as.
    """
    match node:
        case ast.Call(
            func=func, args=[ast.List(elts=[*elts]) | ast.Tuple(elts=[*elts])]
        ):
            pass
        case ast.Call(
            func=func,
            args=[ast.List(elts=[*elts]) | ast.Tuple(elts=[*elts]), ast.Constant()],
        ):
            pass
        case _:
            return None
    if translator.origin.qualified(func) not in _JOINS or len(elts) < 2:
        return None
    given = {k.arg: k.value for k in node.keywords}
    axis = literal(
        given.get("axis") or given.get("dim") or (node.args[1:] or [constant(0)])[0]
    )
    parts = [begun(e) for e in elts]
    found = [p for p in parts if p is not None]
    shapes = [s.elts for _, s in found if isinstance(s, ast.Tuple)]
    if type(axis) is not int or len(shapes) < len(elts):
        return None
    first = shapes[0]
    if not all(_fits(s, first, axis) for s in shapes):
        return None
    at = axis % len(first)
    made = [_part(i, *p) for i, p in enumerate(found)]
    body = marked(
        "jnp.concatenate(p, axis=a)", p=ast.List(made, ast.Load()), a=constant(axis)
    )
    if axis == 0:
        body = marked("jnp.concatenate(p)", p=ast.List(made, ast.Load()))
    places = [ast.arg(a) for a in ("key", "shape", "dtype")]
    whole = ast.Lambda(ast.arguments([], places, None, [], [], None, []), body)
    shape = [*first[:at], _sum([s[at] for s in shapes]), *first[at + 1 :]]
    return whole, ast.Tuple(shape, ast.Load())


def _fits(shape: list[ast.expr], first: list[ast.expr], axis: int) -> bool:
    if len(shape) != len(first) or not -len(first) <= axis < len(first):
        return False
    pairs = enumerate(zip(shape, first, strict=True))
    return all(same(a, b) for i, (a, b) in pairs if i != axis % len(first))


def _part(at: int, initializer: ast.expr, shape: ast.expr) -> ast.expr:
    plain = _PLAIN.get(ast.unparse(initializer))
    if plain is not None:
        return marked(plain, s=shape)
    match initializer:
        case ast.Call(func=ast.Name(id="@word:constant"), args=[value]):
            return marked("jnp.full(s, v, dtype)", s=shape, v=value)
    # Each part is drawn by a key of its own.
    return marked(
        "f(jax.random.fold_in(key, i), s, dtype)",
        f=initializer,
        i=constant(at),
        s=shape,
    )


def _sum(sizes: list[ast.expr]) -> ast.expr:
    """The sum of sizes, of which those that are multiples of one are one multiple."""
    counted: list[tuple[ast.expr, int]] = []
    for size in sizes:
        one, count = _multiple(size)
        known = next((i for i, (o, _) in enumerate(counted) if same(o, one)), None)
        if known is None:
            counted.append((one, count))
        else:
            counted[known] = (one, counted[known][1] + count)
    made: ast.expr | None = None
    for one, count in counted:
        part = one if count == 1 else expression("n * a", n=constant(count), a=one)
        made = part if made is None else expression("a + b", a=made, b=part)
    assert made is not None
    return folded(made)


def _multiple(size: ast.expr) -> tuple[ast.expr, int]:
    match size:
        case ast.Constant(value=int(count)):
            return constant(1), count
        case ast.BinOp(left=ast.Constant(value=int(count)), op=ast.Mult(), right=one):
            return one, count
        case ast.BinOp(left=one, op=ast.Mult(), right=ast.Constant(value=int(count))):
            return one, count
    return size, 1
