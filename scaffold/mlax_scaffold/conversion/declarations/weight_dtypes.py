"""Inputs that are indices: of how many axes, and the dtype of what is made of them alone."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.declarations.building import Attribute
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.arguments_of import defaults_of
from mlax_scaffold.conversion.source.interfaces import Interface
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    self_attribute,
    with_names,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_WEIGHTS = {
    "@layer:Embed": "embedding",
    "@layer:Linear": "kernel",
    "@layer:Conv": "kernel",
    "@layer:LSTMCell": "kernel",
    "@layer:GRUCell": "kernel",
    "@layer:SimpleCell": "kernel",
}
_ARRAYS = ("asarray", "array")
_DRAWN = ("uniform", "normal")
_FILLED = ("zeros", "ones", "full", "empty")


def weight_of(
    attributes: Mapping[str, Attribute], classes: Mapping[str, Interface]
) -> str | None:
    """A weight of a layer that is there: that of an embedding, otherwise of the first that has one.

    Args:
        attributes: what a class has.
        classes: the classes of the file that it may be made of.
    """
    there = [
        (name, known.layer)
        for name, known in attributes.items()
        if known.kind == "layer" and known.condition is None and known.layer in _WEIGHTS
    ]
    found = next((n for n, layer in there if layer == "@layer:Embed"), None)
    if found is not None:
        return f"self.{found}.embedding"
    if there:
        return f"self.{there[0][0]}.{_WEIGHTS[there[0][1]]}"
    own = next((n for n, known in attributes.items() if _is_weight(known)), None)
    if own is not None:
        return f"self.{own}"
    inside = (
        (name, classes[title].weight)
        for name, known in attributes.items()
        if known.kind == "layer" and known.condition is None
        if (title := known.layer.removeprefix("@own:")) in classes
    )
    paths = [(name, weight) for name, weight in inside if weight is not None]
    return paths[0][1].replace("self.", f"self.{paths[0][0]}.", 1) if paths else None


def _is_weight(known: Attribute) -> bool:
    return known.kind == "weight" and known.condition is None


def in_dtype_of(
    forward: ast.FunctionDef,
    first: str,
    dtype: ast.expr,
    *,
    arrays: bool,
    casts: bool = True,
) -> None:
    """Let a method give a dtype to what it makes of indices, `first`, in place.

    Where `dtype=` of arrays is one that the class is told, that is another one, too; what is cast keeps
    its dtype without `casts`.
    """
    made_so = (*_FILLED, *_ARRAYS) if arrays else _FILLED
    for part in walk(forward):
        if not isinstance(part, ast.Call):
            continue
        text = ast.unparse(part.func)
        last = text.rpartition(".")[2]
        cast = last in _ARRAYS and len(part.args) == 2
        cast |= last == "astype" and len(part.args) == 1
        filled = last in _FILLED and len(part.args) == 2 + (last == "full")
        drawn = last in _DRAWN and len(part.args) == 3
        if ((cast and casts) or filled or drawn) and ast.unparse(
            part.args[-1]
        ) == f"{first}.dtype":
            part.args[-1] = cloned(dtype)
        for keyword in part.keywords:
            made = last in made_so and keyword.arg == "dtype"
            if made and ast.unparse(keyword.value) == f"{first}.dtype":
                keyword.value = cloned(dtype)
        hot = last == "one_hot" and len(part.args) == 2 and not part.keywords
        if hot and is_name(part.args[0], first):
            part.keywords.append(ast.keyword("dtype", cloned(dtype)))


def with_masks_of_numbers(
    forward: ast.FunctionDef, env: Mapping[str, Value], dtype: ast.expr
) -> None:
    """Give masks that a method computes with that dtype, in place: beside indices they hold truths.

    Those that may be None alone, as the original cannot be compared with truths in their place.
    """
    made: list[ast.stmt] = []
    absent = (k for k, d in defaults_of(forward.args).items() if is_none(d))
    for mask in [k for k in absent if k.endswith("mask")]:
        value = env.get(mask)
        if not isinstance(value, Array) or value.kind != "Float":
            continue
        value.kind = "Bool"
        text = f"if {mask} is not None:\n    {mask} = {mask}.astype(_dtype_)"
        [part] = ast.parse(text).body
        made.append(with_names(part, {"_dtype_": dtype}))
    at = forward.body[0].lineno if forward.body else forward.lineno
    for part in (p for statement in made for p in walk(statement)):
        if isinstance(part, ast.stmt | ast.expr):
            part.lineno = part.end_lineno = at
    forward.body[:0] = made


def with_filled_truths(forward: ast.FunctionDef, env: Mapping[str, Value]) -> None:
    """Fill masks that are not given with truths, in place, where those that are given hold such."""
    for part in walk(forward):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=mask)],
                value=ast.Call(func=ast.Attribute(attr=attr)) as made,
            ) if attr in ("ones", "zeros"):
                value = env.get(mask)
                if isinstance(value, Array) and value.kind == "Bool":
                    made.args = made.args[:1]
                    made.keywords = [k for k in made.keywords if k.arg == "shape"]
                    kind = ast.copy_location(ast.Name("bool", ast.Load()), made)
                    made.keywords.append(ast.keyword("dtype", kind))


def with_first_dtype(method: ast.FunctionDef, first: str) -> None:
    """Keep the dtype of an input that a method widens before it asks for that, in place."""
    for place, part in enumerate(method.body):
        match part:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call() as value):
                if target != first or "float32" not in ast.unparse(value):
                    continue
            case _:
                continue
        kept = _Kept(first)
        rest = [kept.visit(s) for s in method.body[place + 1 :]]
        if kept.found:
            [asked] = ast.parse(f"{_KEPT} = {first}.dtype").body
            ast.copy_location(asked, part)
            method.body = [*method.body[:place], asked, part, *rest]
        return


_KEPT = "input_dtype"


class _Kept(NodeTransformer):
    def __init__(self, first: str):
        self.first, self.found = first, False

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr == "dtype" and is_name(node.value, self.first):
            self.found = True
            return ast.copy_location(ast.Name(_KEPT, ast.Load()), node)
        return node


def dtypes_kept(start: ast.FunctionDef) -> set[str]:
    """The attributes in which a constructor keeps the dtype that it is told to compute in."""
    given = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    told = {g for g in given if g == "dtype"}
    return {
        attribute
        for part in start.body
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Name)
        and part.value.id in told
        and (attribute := self_attribute(part.targets[0]))
    }


def without_casts(method: ast.FunctionDef, first: str) -> None:
    """Leave what a method computes in its dtype, where it would be cast to that of indices, in place."""
    method.body = [_Uncast(f"{first}.dtype").visit(s) for s in method.body]


class _Uncast(NodeTransformer):
    def __init__(self, dtype: str):
        self.dtype = dtype

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=inner, attr="astype"), args=[dtype]
            ) if ast.unparse(dtype) == self.dtype:
                return inner
            case (
                ast.Call(func=func, args=[inner, dtype], keywords=[])
                | ast.Call(
                    func=func,
                    args=[inner],
                    keywords=[ast.keyword(arg="dtype", value=dtype)],
                )
            ):
                if ast.unparse(func).rpartition(".")[2] in _ARRAYS:
                    return inner if ast.unparse(dtype) == self.dtype else node
        return node


def of_positions(
    forward: ast.FunctionDef, attributes: Mapping[str, Attribute]
) -> set[str]:
    """The inputs whose second axis a method reads, or that of what an embedding makes of them."""
    text = ast.unparse(forward)
    given = {a.arg for a in (*forward.args.args, *forward.args.kwonlyargs)}
    found = {g for g in given if f"{g}.shape[1]" in text}
    for part in walk(forward):
        match part:
            case ast.Assign(
                targets=[ast.Name(id=local)],
                value=ast.Call(func=func, args=[ast.Name(id=tokens)]),
            ) if tokens in given:
                known = attributes.get(self_attribute(func) or "")
                embeds = known is not None and known.layer == "@layer:Embed"
                if embeds and (f"{local}.shape[1]" in text or f"{local}[:, " in text):
                    found.add(tokens)
    return found
