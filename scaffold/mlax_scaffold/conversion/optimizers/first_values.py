"""What the parts of a state begin as: moments of each weight, numbers of all, keys."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Literal

from mlax_scaffold.conversion.forms.leaf_functions import as_lambda, called
from mlax_scaffold.conversion.rows.rows import MisfitError
from mlax_scaffold.conversion.rows.tables.optax import TREE_MAPS, of_leaf
from mlax_scaffold.conversion.rows.translation import Translator
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    is_none,
    literal,
    name,
    names,
    replaced,
    same,
    visited,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned

_COPIES = ("copy", "array", "asarray", "stop_gradient")
_ARRAYS = ("zeros", "ones", "full", "asarray", "array", "int32", "float32", "bool_")
KEYS = ("PRNGKey", "key", "canonicalize_key")


@dataclass(frozen=True)
class Begun:
    """What a part of a state is at first."""

    kind: Literal["none", "key", "integer", "boolean", "float", "moment"]
    value: ast.expr
    """The number that it begins as, or the declaration of a moment."""
    shape: ast.expr = field(default_factory=lambda: ast.Tuple([], ast.Load()))
    """Of what is no moment."""


def begin(translator: Translator, value: ast.expr) -> Begun | None:
    """What a part of a state begins as; None where that is not clear."""
    if is_none(value):
        return Begun("none", value)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Lambda):
        # A function that makes the same for several moments.
        written = called(cloned(value))
        return begin(translator, written) if not same(written, value) else None
    if isinstance(value, ast.Call):
        full = translator.origin.qualified(value.func) or ast.unparse(value.func)
        module, _, last = full.rpartition(".")
        if last in KEYS and (module.endswith("random") or last != "key"):
            return Begun("key", value)
    if isinstance(value, ast.IfExp) and (kept := _kept(translator, value)):
        return kept
    found = _number(translator, value) or _array(translator, value)
    if found is not None:
        return found
    made = _moment(translator, _of_leaf(translator, value))
    return Begun("moment", made) if made is not None else None


def _kept(translator: Translator, value: ast.IfExp) -> Begun | None:
    """A tree that an option alone keeps, which is None else; of an option that is known, what it chooses."""
    if isinstance(value.test, ast.Constant):
        return begin(translator, value.body if value.test.value else value.orelse)
    sides = [begin(translator, side) for side in (value.body, value.orelse)]
    if {side.kind if side else "" for side in sides} != {"moment", "none"}:
        return None
    test = translator.expression(value.test)
    return Begun("moment", ast.IfExp(test, *(s.value for s in sides if s)))


def _number(translator: Translator, value: ast.expr) -> Begun | None:
    """An array without axes, or a number of Python."""
    if isinstance(value, ast.Constant):
        return _of_kind(value, value.value)
    if not isinstance(value, ast.Call) or not value.args:
        return None
    full = translator.origin.qualified(value.func) or ast.unparse(value.func)
    last = full.rpartition(".")[2]
    if last not in _ARRAYS or is_name(value.args[0], "param"):
        return None
    first, *more = value.args
    given = {str(k.arg): k.value for k in value.keywords}
    if last in ("zeros", "ones", "full"):
        if not isinstance(first, ast.List | ast.Tuple) or first.elts:
            return None
        if last == "full":
            number: ast.expr = more.pop(0) if more else given.get("fill_value", first)
        else:
            number = ast.Constant(0.0 if last == "zeros" else 1.0)
    else:
        number = first
    dtype = given.get("dtype") or (more[0] if more else None)
    text = f"{ast.unparse(dtype)} " if dtype is not None else ""
    text += last if last in ("int32", "float32", "bool_") else ""
    there = literal(number)
    if "int" in text:
        whole = int(there) if isinstance(there, int | float) else None
        return Begun("integer", ast.Constant(whole) if whole is not None else number)
    if "bool" in text:
        return Begun("boolean", ast.Constant(bool(there)))
    if text.strip() or not isinstance(number, ast.Constant):
        if isinstance(there, int | float):
            number = ast.Constant(float(there))
        return Begun("float", translator.expression(number))
    return _of_kind(number, there)


def _array(translator: Translator, value: ast.expr) -> Begun | None:
    """An array of one number that has axes, and is no moment: nothing of weights makes it."""
    match value:
        case ast.Call(args=[ast.Tuple() | ast.List() | ast.Name() as shape, *_]):
            if any(n in ("params", "p") for n in names(value)):
                return None
            flat = cloned(value)
            flat.args[0] = ast.Tuple([], ast.Load())
            found = _number(translator, flat)
            shape = (
                ast.Tuple(shape.elts, ast.Load())
                if isinstance(shape, ast.List)
                else shape
            )
            if found is not None:
                return replace(found, shape=translator.expression(shape))
    return None


def _of_kind(node: ast.expr, value: object) -> Begun | None:
    if isinstance(value, bool):
        return Begun("boolean", node)
    if isinstance(value, int):
        return Begun("integer", node)
    return Begun("float", node) if isinstance(value, float) else None


def _of_leaf(translator: Translator, value: ast.expr) -> ast.expr:
    """What an expression over the tree of weights is for one weight, `param`."""

    class Leaf(NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return name("param") if node.id in ("params", "p") else node

        def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
            return node

        def visit_Call(self, node: ast.Call) -> ast.expr:
            full = translator.origin.qualified(node.func) or ast.unparse(node.func)
            if full in (*TREE_MAPS, "tree_map"):
                given = [visited(self, cloned(a)) for a in node.args[1:]]
                return _applied(translator, node.args[0], given)
            row = of_leaf(full) or of_leaf(f"optax.{full}")
            self.generic_visit(node)
            if row is None or full.startswith(("jax.numpy.", "jnp.")):
                return node
            try:
                return row.fill(row.bind_all(node), translator.calculations)
            except MisfitError:
                return node

    return visited(Leaf(), cloned(value))


def _applied(
    translator: Translator, function: ast.expr, given: list[ast.expr]
) -> ast.expr:
    """What a function makes of a leaf."""
    if isinstance(function, ast.Name):
        own = translator.origin.functions.get(function.id)
        function = (as_lambda(own) if own is not None else None) or function
    if isinstance(function, ast.Lambda):
        places = [a.arg for a in function.args.args]
        if len(places) == len(given):
            return replaced(function.body, dict(zip(places, given, strict=True)))
    return ast.Call(function, given, [])


def _moment(translator: Translator, body: ast.expr) -> ast.expr | None:
    """The declaration of what is made of a weight, which is called `param`."""
    moment = name("@word:moment")
    if is_name(body, "param"):
        return expression("m(param)", m=moment)
    if isinstance(body, ast.IfExp):
        return _chosen(translator, body)
    found = _filled(translator, body)
    if found is None:
        return None
    if isinstance(found, ast.Name):
        return expression("m(param)", m=moment)
    shape, number, dtype = found
    given = [filling(translator.expression(number)), translator.expression(shape)]
    if dtype is not None:
        given.append(translator.expression(dtype))
    return ast.Call(moment, given, [])


def filling(number: ast.expr) -> ast.expr:
    """The initializer of arrays of one number."""
    match literal(number):
        case 0:
            return name("@word:zeros")
        case 1:
            return name("@word:ones")
    return ast.Call(name("@word:constant"), [number], [])


_Filled = tuple[ast.expr, ast.expr, ast.expr | None]


def _filled(translator: Translator, body: ast.expr) -> _Filled | ast.Name | None:
    """The shape, the number and the dtype of an array of one number, or a copy of the weight."""
    match body:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for one, other in ((left, right), (right, left)):
                inner = _filled(translator, other)
                if isinstance(inner, tuple) and "param" not in ast.unparse(one):
                    shape, number, dtype = inner
                    if literal(number) == 1:
                        return shape, one, dtype
            return None
        case ast.Call(func=ast.Attribute(attr="copy", value=inner), args=[]):
            return _filled(translator, inner) or (
                name("param") if is_name(inner, "param") else None
            )
        case ast.Call(func=ast.Attribute(attr="astype", value=inner)):
            return _filled(translator, inner) or (
                name("param") if is_name(inner, "param") else None
            )
    if not isinstance(body, ast.Call) or not body.args:
        return None
    full = translator.origin.qualified(body.func) or ast.unparse(body.func)
    last, first = full.rpartition(".")[2], body.args[0]
    if last in _COPIES:
        if is_name(first, "param"):
            return name("param")
        inner = _filled(translator, first)
        if inner is not None:
            return inner
    alike = last.endswith("_like")
    if alike and not is_name(first, "param"):
        return None
    number = _number(translator, body)
    kind = last.removesuffix("_like")
    if number is not None:
        if number.kind not in ("boolean", "float", "integer"):
            return None
        dtype = expression("jnp.bool_", jnp=name("@module:jnp"))
        return (
            ast.Tuple([], ast.Load()),
            number.value,
            (dtype if number.kind == "boolean" else None),
        )
    if kind not in ("zeros", "ones", "full"):
        return None
    shape = expression("param.shape") if alike else first
    if kind != "full":
        return shape, ast.Constant(0.0 if kind == "zeros" else 1.0), None
    return (shape, body.args[1], None) if len(body.args) > 1 else None


def _chosen(translator: Translator, body: ast.IfExp) -> ast.expr | None:
    """A moment whose shape depends on the weight."""
    sides = [_moment(translator, side) for side in (body.body, body.orelse)]
    match sides:
        case [
            ast.Call(args=[first, shape]),
            ast.Call(args=[second, other]),
        ] if same(first, second):
            test = translator.expression(body.test)
            chosen = ast.IfExp(test, shape, other)
            return expression("m(z, s)", m=name("@word:moment"), z=first, s=chosen)
    return None
