"""The states that cells of flax begin with: `cell.initialize_carry(key, shape)`, which are zeros."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    name,
    replaced,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, walk

_CELLS = ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell")


class _Begun(NodeTransformer):
    """The states that cells begin with, `cell.initialize_carry(key, shape)`: zeros."""

    def __init__(self, origin: Origin, held: Mapping[str, ast.Call]):
        self.origin, self.held = origin, dict(held)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        if isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            self.held[node.targets[0].id] = node.value
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Call):
            _sized(self.origin, func, node.args)
        if not isinstance(func, ast.Attribute) or func.attr != "initialize_carry":
            return node
        cell = self.origin.qualified(func.value)
        if cell.startswith("flax.linen") and len(node.args) == 3:
            # nn.GRUCell.initialize_carry(key, batch_dims, size), as it was once called.
            return self._carry(node, cell, node.args[1], node.args[2], ends=False)
        made = self.held.get(ast.unparse(func.value), func.value)
        full = self.origin.qualified(made.func) if isinstance(made, ast.Call) else ""
        if not isinstance(made, ast.Call) or full.rpartition(".")[2] not in _CELLS:
            return node
        of_nnx = full.startswith("flax.nnx")
        title, place = ("hidden_features", 1) if of_nnx else ("features", 0)
        shapes = [
            *node.args,
            *(k.value for k in node.keywords if k.arg == "input_shape"),
        ]
        sizes = [
            *made.args[place:],
            *(k.value for k in made.keywords if k.arg == title),
        ]
        if len(node.args) > 1 and not of_nnx:
            shapes.pop(0)
        if not shapes or not sizes:
            return node
        return self._carry(node, full, shapes[0], sizes[0])

    def _carry(
        self,
        node: ast.Call,
        cell: str,
        shape: ast.expr,
        size: ast.expr,
        *,
        ends: bool = True,
    ) -> ast.expr:
        """What a cell begins with; of two arrays, where it keeps two."""
        zeros = _zeros(self.origin, shape, size, ends=ends)
        pair = ast.Tuple([zeros, cloned(zeros)], ast.Load())
        return ast.copy_location(pair if "LSTM" in cell else zeros, node)


def _sized(origin: Origin, made: ast.Call, given: list[ast.expr]) -> None:
    """Give a cell that is made without its size, `nn.GRUCell()(carry, x)`, that of what it carries."""
    full = origin.qualified(made.func)
    named = {k.arg for k in made.keywords}
    if not full.startswith("flax.linen") or full.rpartition(".")[2] not in _CELLS:
        return
    if made.args or named & {"features", None} or len(given) != 2:
        return
    text = "c[0].shape[-1]" if "LSTM" in full else "c.shape[-1]"
    size = expression(text, c=cloned(given[0]))
    made.keywords.insert(0, ast.keyword("features", size))


def _zeros(
    origin: Origin, shape: ast.expr, size: ast.expr, *, ends: bool = True
) -> ast.expr:
    """Zeros whose last axis is the state's, and whose others are those of an input.

    Args:
        origin: the file.
        shape: the shape of the input, or what stands before its last axis.
        size: the size of the state.
        ends: whether the shape has the last axis of the input.
    """
    match shape:
        case ast.Tuple(elts=sizes) if not ends:
            pass
        case _ if not ends:
            sizes = [ast.Starred(shape, ast.Load())]
        case ast.Tuple(elts=[*sizes, _]):
            pass
        case ast.BinOp(left=first, op=ast.Add(), right=ast.Tuple(elts=[*more, _])):
            sizes = [ast.Starred(first, ast.Load()), *more]
        case ast.Attribute(
            value=ast.Subscript(value=x, slice=ast.Tuple(elts=[ast.Slice(), _])),
            attr="shape",
        ):
            sizes = [expression("x.shape[0]", x=x)]
        case _:
            sizes = [ast.Starred(expression("s[:-1]", s=shape), ast.Load())]
    made = ast.Tuple([*sizes, size], ast.Load())
    jnp = name(origin.name_of("jax.numpy") or "@module:jnp")
    return expression("jnp.zeros(s)", jnp=jnp, s=cloned(made))


def with_begun_cells(origin: Origin, node: ast.ClassDef) -> None:
    """Write out what cells of a class begin with, and its methods that return that alone, in place."""
    made = _made(node)
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        text = ast.unparse(method)
        if not any(part in text for part in ("initialize_carry", *_CELLS)):
            continue
        _Begun(origin, made).visit(method)
        result = method.body[-1]
        kept = [p for p in without_docstring(method.body) if not _makes_cell(origin, p)]
        if isinstance(result, ast.Return) and kept == [result] and result.value:
            for owner in origin.classes.values():
                _Written(node, owner, method, result.value).visit(owner)


def _made(node: ast.AST) -> dict[str, ast.Call]:
    """What attributes and locals are made by calls, by their text."""
    return {
        ast.unparse(part.targets[0]): part.value
        for part in walk(node)
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call)
    }


def _makes_cell(origin: Origin, node: ast.stmt) -> bool:
    made = node.value if isinstance(node, ast.Assign) else None
    full = origin.qualified(made.func) if isinstance(made, ast.Call) else ""
    return full.rpartition(".")[2] in _CELLS


class _Written(NodeTransformer):
    """Calls of a method as what it returns, in one class."""

    def __init__(
        self,
        of: ast.ClassDef,
        owner: ast.ClassDef,
        method: ast.FunctionDef,
        result: ast.expr,
    ):
        self.of, self.method, self.result = of, method, result
        self.within, self.made = of is owner, _made(owner)
        self.fields = [
            ast.arg(p.target.id)
            for p in of.body
            if isinstance(p, ast.AnnAssign) and isinstance(p.target, ast.Name)
        ]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        func = node.func
        if not isinstance(func, ast.Attribute) or func.attr != self.method.name:
            return node
        known = self.made.get(ast.unparse(func.value))
        own = is_name(func.value, self.of.name) or (
            self.within and is_name(func.value, "self")
        )
        layer = known is not None and is_name(known.func, self.of.name)
        if not own and not layer:
            return node
        static = any(is_name(d, "staticmethod") for d in self.method.decorator_list)
        places = cloned(self.method.args)
        places.args = places.args[0 if static else 1 :]
        try:
            given = bind(places, node)
            fields = bind(_arguments(self.fields), known) if known and layer else {}
        except MisfitError:
            return node
        parts = {k: v for k, v in given.items() if isinstance(v, ast.expr)}
        made = replaced(self.result, parts)
        if layer:
            made = _Filled(fields).visit(made)
        return ast.copy_location(made, node)


def _arguments(places: list[ast.arg]) -> ast.arguments:
    return ast.arguments([], places, None, [], [], None, [])


class _Filled(NodeTransformer):
    """Writes what fields are given in their place."""

    def __init__(self, given: Mapping[str, object]):
        self.given = given

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value = self.given.get(self_attribute(node) or "")
        self.generic_visit(node)
        return cloned(value) if isinstance(value, ast.expr) else node
