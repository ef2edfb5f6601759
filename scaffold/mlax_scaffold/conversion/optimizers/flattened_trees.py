"""Loops over the leaves of trees that an update function flattens, as maps over the trees.

leaves, treedef = jax.tree.flatten(grads)
out = []
for g, m in zip(leaves, treedef.flatten_up_to(state.m)):
    m = b * m + g
    out.append(-rate * m)
updates = treedef.unflatten(out)

becomes

leaves = grads
m = jax.tree.map(lambda m, g: b * m + g, state.m, leaves)
out = jax.tree.map(lambda m: -rate * m, m)
updates = out
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.forms.straightened import straightened
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    name,
    names,
    targets,
)
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned, located

_FLATTEN = ("jax.tree.flatten", "jax.tree_util.tree_flatten", "jax.tree_flatten")
_LEAVES = ("jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves")
_UNFLATTEN = (
    *("jax.tree.unflatten", "jax.tree_util.tree_unflatten", "jax.tree_unflatten"),
)
_STRUCTURE = (
    *("jax.tree.structure", "jax.tree_util.tree_structure", "jax.tree_structure"),
)


class _OtherLoopError(Exception):
    """A loop that does more than to compute something for each leaf."""


def over_trees(
    function: ast.FunctionDef, full: Callable[[ast.expr], str]
) -> ast.FunctionDef:
    """The function without lists of leaves; itself where it has none, or where they are not followed."""
    made = cloned(function)
    try:
        found = _Flattened(full)
        made.body = [s for part in made.body for s in found.statement(part)]
    except _OtherLoopError:
        return function
    if not found.flat:
        return function
    return located(made)


class _Flattened(NodeTransformer):
    def __init__(self, full: Callable[[ast.expr], str]):
        self.full = full
        self.flat: set[str] = set()
        """Locals that are lists of leaves, and are the trees here."""
        self.structures: set[str] = set()
        self.empty: set[str] = set()

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=local), ast.Name(id=structure)])],
                value=ast.Call(func=func, args=[tree]),
            ) if self.full(func) in _FLATTEN:
                self.flat.add(local)
                self.structures.add(structure)
                return [_assigned(local, tree, node)]
            case ast.Assign(
                targets=[ast.Name(id=local)], value=ast.Call(func=func)
            ) if self.full(func) in _STRUCTURE:
                self.structures.add(local)
                return []
            case ast.Assign(
                targets=[ast.Tuple() as places], value=ast.Tuple(elts=values)
            ):
                pairs = [*zip(places.elts, values, strict=False)]
                if all(isinstance(p, ast.Name) and _nothing(v) for p, v in pairs):
                    self.empty |= {*targets(places)}
                    return []
            case ast.Assign(
                targets=[ast.Tuple() as places],
                value=ast.Call(
                    func=ast.Name(id="zip"), args=[ast.Starred(value=value)]
                ),
            ) if (tree := self.tree(value)) is not None:
                made: list[ast.stmt] = []
                pairs_ = f"{'_'.join(targets(places))}_parts"
                made.append(_assigned(pairs_, tree, node))
                for at, local in enumerate(targets(places)):
                    self.flat.add(local)
                    part = expression(
                        "jax.tree.map(lambda p: p[i], t)",
                        i=ast.Constant(at),
                        t=name(pairs_),
                    )
                    made.append(_assigned(local, part, node))
                return made
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                if _nothing(value):
                    self.empty.add(local)
                    return []
                tree = self.tree(value)
                if tree is not None:
                    self.flat.add(local)
                    return [_assigned(local, tree, node)]
                self.flat.discard(local)
            case ast.For():
                return self._loop(node)
        return [self.visit(node)]

    def tree(self, node: ast.expr) -> ast.expr | None:
        """The tree whose leaves a list holds; None where it is no such list."""
        match node:
            case ast.Name(id=local):
                return name(local) if local in self.flat else None
            case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
                return self.tree(inner)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=local), attr="flatten_up_to"),
                args=[tree],
            ) if local in self.structures:
                return tree
            case ast.Call(func=func, args=[tree]) if self.full(func) in _LEAVES:
                return tree
            case ast.ListComp(
                elt=value,
                generators=[ast.comprehension(target=target, iter=of, ifs=[])],
            ):
                given = self._given(target, of)
                return _mapped(value, given) if given is not None else None
        return None

    def _given(self, target: ast.expr, of: ast.expr) -> dict[str, ast.expr] | None:
        """The tree that each name of a loop goes over the leaves of."""
        match target, of:
            case ast.Name(id=local), _ if (tree := self.tree(of)) is not None:
                return {local: tree}
            case ast.Tuple(elts=[ast.Name(), inner]), ast.Call(
                func=ast.Name(id="enumerate"), args=[over]
            ):
                return self._given(inner, over)
            case ast.Tuple(elts=places), ast.Call(
                func=ast.Name(id="zip"), args=lists
            ) if len(places) == len(lists):
                made: dict[str, ast.expr] = {}
                for place, one in zip(places, lists, strict=True):
                    tree = self.tree(one)
                    if not isinstance(place, ast.Name) or tree is None:
                        return None
                    made[place.id] = tree
                return made
        return None

    def _loop(self, node: ast.For) -> list[ast.stmt]:
        given = self._given(node.target, node.iter)
        if given is None or node.orelse:
            raise _OtherLoopError
        count = {*targets(node.target)} - {*given}
        if any(count & names(part) for part in node.body):
            raise _OtherLoopError
        body = straightened(cloned(node.body), {*given})
        later = {t for part in body for t in targets(part)} - {*given}
        made: list[ast.stmt] = []
        for part in body:
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    if names(value) & later - {*given}:
                        # It adds up over the leaves, or is what it was for the one before.
                        raise _OtherLoopError
                    made.append(_assigned(local, _mapped(value, given), part))
                    given[local] = name(local)
                case ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=local), attr="append"),
                        args=[value],
                    )
                ) if local in self.empty:
                    self.empty.discard(local)
                    self.flat.add(local)
                    made.append(_assigned(local, _mapped(value, given), part))
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    continue
                case _:
                    raise _OtherLoopError
        return made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=func, args=[_, leaves]) if self.full(func) in _UNFLATTEN:
                tree = self.tree(leaves)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=local), attr="unflatten"),
                args=[leaves],
            ) if local in self.structures:
                tree = self.tree(leaves)
            case _:
                tree = None
        if tree is not None:
            return ast.copy_location(tree, node)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.flat:
            # What reads the list goes over the leaves of the tree.
            return ast.copy_location(
                expression("jax.tree.leaves(t)", t=name(node.id)), node
            )
        return node


def _mapped(value: ast.expr, given: dict[str, ast.expr]) -> ast.expr:
    """What is computed of each leaf, over all of them."""
    if isinstance(value, ast.Name) and value.id in given:
        return cloned(given[value.id])
    read = [local for local in given if local in names(value)] or [*given][:1]
    arguments = ast.arguments([], [ast.arg(r) for r in read], None, [], [], None, [])
    trees = [cloned(given[r]) for r in read]
    return ast.Call(
        expression("jax.tree.map"), [ast.Lambda(arguments, value), *trees], []
    )


def _nothing(node: ast.expr) -> bool:
    return is_name(getattr(node, "func", None), "list") or (
        isinstance(node, ast.List) and not node.elts
    )


def _assigned(local: str, value: ast.expr, like: ast.stmt) -> ast.stmt:
    return ast.copy_location(
        ast.Assign([ast.Name(local, ast.Store())], value, lineno=0), like
    )
