"""Steps of optimizers that are written for one leaf of the weights, or for all of them."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.read_names import bound_in
from mlax_scaffold.reader.remedies.names import retitled
from mlax_scaffold.reader.source import Source, dotted

OF_TREES = ("prepare", "step", "finish")
"""The methods of a step that are called once for all weights."""
_TREE_FUNCTIONS = frozenset(("all", "flatten", "leaves", "map", "reduce", "structure"))
"""Functions of `jax.tree`."""
_OF_ARRAYS = frozenset(("T", "dtype", "ndim", "reshape", "shape", "size"))
"""What is read of an array, and of no container."""
_TO_TREES = frozenset(("add", "map", "merge", "select", "where"))
"""Those whose result is a tree, and words."""


def computed_with(step: ast.FunctionDef) -> str | None:
    """The gradients or the weights of a step that it takes as one array, which trees are none of.

    It does arithmetic with them, or reads their shape. None where it takes neither so.
    """
    given = {a.arg for a in step.args.args[1:3]} - _bound_inside(step)
    until = {name: _rebound(step, name) for name in given}
    for node in walk(step):
        match node:
            case ast.BinOp(left=left, right=right):
                operands = (left, right)
            case ast.UnaryOp(op=ast.USub(), operand=only):
                operands = (only,)
            case ast.AugAssign(target=only):
                operands = (only,)
            case ast.Attribute(value=only, attr=name) if name in _OF_ARRAYS:
                operands = (only,)
            case _:
                continue
        for operand in operands:
            if isinstance(operand, ast.Name) and operand.id in given:
                end = until[operand.id]
                if end is None or (operand.lineno, operand.col_offset) < end:
                    return operand.id
    return None


def _bound_inside(step: ast.FunctionDef) -> set[str]:
    """The names that functions and comprehensions in a method bind, which are others there."""
    scopes = (ast.Lambda, ast.FunctionDef, ast.comprehension)
    inner = [n for n in walk(step) if isinstance(n, scopes) and n is not step]
    return bound_in(n for scope in inner for n in walk(scope))


def _rebound(step: ast.FunctionDef, name: str) -> tuple[int, int] | None:
    """Where the first statement ends that sets a parameter, which it may still read."""
    ends = [
        (s.end_lineno or 0, s.end_col_offset or 0)
        for s in walk(step)
        if isinstance(s, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr)
        and name in bound_in(walk(s))
    ]
    return min(ends, default=None)


def mapped_over(update: ast.FunctionDef, module: ast.Module) -> str | None:
    """The gradients or the weights of an update that it takes as a tree, and not as an array.

    None where it takes neither so, or one of them as an array, too.
    """
    inputs = [a.arg for a in update.args.args[1:3]]
    found = [name for name in inputs if _as_tree(update, name, module)]
    if not found or computed_with(update) is not None:
        return None
    read = (n.value for n in walk(update) if isinstance(n, ast.Attribute))
    if any(isinstance(n, ast.Name) and n.id in inputs for n in read):
        return None
    return found[0]


def _as_tree(
    function: ast.FunctionDef, name: str, module: ast.Module, *, inner: bool = False
) -> bool:
    """Whether a function gives one of its parameters to what takes trees, itself or in what it calls."""
    functions = {f.name: f for f in module.body if isinstance(f, ast.FunctionDef)}
    for call in (n for n in walk(function) if isinstance(n, ast.Call)):
        at = [i for i, a in enumerate(call.args) if _is(a, name)]
        called = functions.get(dotted(call.func) or "")
        if at and _is_of_trees(call.func):
            return True
        parameters = [a.arg for a in called.args.args] if called and not inner else []
        if called and any(
            _as_tree(called, parameters[i], module, inner=True)
            for i in at
            if i < len(parameters)
        ):
            return True
    return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_of_trees(function: ast.expr) -> bool:
    """Whether it is `jax.tree.map`, `jax.tree_util.tree_leaves`, `tree_dot` or the like."""
    owner, _, name = (dotted(function) or "").rpartition(".")
    of_trees = owner.rpartition(".")[2] == "tree"
    return (of_trees and name in _TREE_FUNCTIONS) or name.startswith(
        ("all_finite", "tree_")
    )


def sets_once(method: ast.FunctionDef, module: ast.Module) -> bool:
    """Whether a method is called once for all weights."""
    once = method.name in OF_TREES
    return once or (method.name == "update" and bool(mapped_over(method, module)))


def is_tree(value: ast.expr, method: ast.FunctionDef) -> bool:
    """Whether a value of a method that is called once for all weights is a tree like these."""
    match value:
        case ast.Name(id=name) if name in {a.arg for a in method.args.args[1:3]}:
            return True
        case ast.Name(id=name):
            return any(is_tree(v, method) for v in only_value(name, method))
        case ast.IfExp(body=one, orelse=other):
            return is_tree(one, method) or is_tree(other, method)
        case ast.Call(func=function):
            name = (dotted(function) or "").rpartition(".")[2]
            return _is_of_trees(function) and name.removeprefix("tree_") in _TO_TREES
    return False


def as_step(source: Source, update: ast.FunctionDef) -> Fix | None:
    """The method by the name of the one that is called once for all weights."""
    edit = retitled(source, update, "step")
    return Fix((edit,)) if edit else None


def as_update(source: Source, step: ast.FunctionDef) -> Fix | None:
    """The method by the name of the one that is called for each leaf."""
    edit = retitled(source, step, "update")
    return Fix((edit,)) if edit else None
