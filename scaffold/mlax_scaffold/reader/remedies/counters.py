"""Counts of the steps that an optimizer keeps itself, as `self.step`."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import removed, without_brackets
from mlax_scaffold.reader.remedies.names import uses_of_self
from mlax_scaffold.reader.source import Source, class_of, dotted, self_attribute

_ORDER = ("prepare", "update", "step", "finish")
"""The methods of a step, in the order in which they are called."""
_ARRAYS = ("array", "asarray", "zeros", "int32", "uint32", "float32")
_ZEROS = ("zeros", "jnp.zeros", "jax.numpy.zeros", "jax.nn.initializers.zeros")


def counted(source: Source, setup: ast.FunctionDef, name: str) -> Fix | None:
    """`self.count`, which begins with 0 and is raised by 1 in each step, as `self.step`.

    What is read before it is raised is `self.step - 1`. None where it is anything
    else: raised under a condition, set to another value, read in another method.
    """
    owner = class_of(source.tree, setup)
    body = owner.body if owner else ()
    methods = {m.name: m for m in body if isinstance(m, ast.FunctionDef)}
    # It may still be called otherwise in the text, as `init`.
    at = (m for m in methods.values() if m.lineno == setup.lineno)
    begun = methods.get(setup.name) or next(at, setup)
    declared = next((s for s in begun.body if _assigned(s) == name), None)
    if owner is None or not isinstance(declared, ast.Assign | ast.AnnAssign):
        return None
    if declared.value is None or not _is_zero(declared.value):
        return None
    steps = [methods[n] for n in _ORDER if n in methods]
    raised = [(m, s) for m in steps for s in m.body if _assigned(s) == name]
    uses = [u for u in uses_of_self(owner, name) if u not in [*walk(declared)]]
    if len(raised) != 1 or sum(isinstance(u.ctx, ast.Store) for u in uses) != 1:
        return None
    method, statement = raised[0]
    sums = [
        n
        for m in steps
        for n in walk(m)
        if isinstance(n, ast.BinOp) and _is_next(n, name)
    ]
    if not _raises(statement, method, sums):
        return None
    gone = [removed(source, s) for s in (declared, statement)]
    read = [u for u in uses if u not in [*walk(statement)]]
    edits: dict[Edit, None] = {}
    for use in read:
        within = next((m for m in steps if use in [*walk(m)]), None)
        if within is None:
            return None
        after = _is_after(use, statement, _ORDER.index(within.name), method)
        whole = next((s for s in sums if use in (s.left, s.right)), None)
        if after is None:
            return None
        if after:
            edits[source.edit(use, "self.step")] = None
        elif whole is not None:
            edits[without_brackets(source, whole, "self.step")] = None
        else:
            edits[source.edit(use, "(self.step - 1)")] = None
    return Fix((*gone, *edits))


def takes_trees(source: Source, setup: ast.FunctionDef) -> bool:
    """Whether a class has a `step`, which is given the trees of gradients and weights."""
    owner = class_of(source.tree, setup)
    body = owner.body if owner else ()
    return any(isinstance(m, ast.FunctionDef) and m.name == "step" for m in body)


def _assigned(statement: ast.stmt) -> str | None:
    """The attribute of self that a statement sets."""
    match statement:
        case ast.Assign(targets=[target]):
            return self_attribute(target)
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return self_attribute(target)
    return None


def _is_zero(node: ast.expr) -> bool:
    """Whether an expression is 0, an array of it, or a declaration that begins with it."""
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float) and value == 0
        case ast.Call(func=function, args=[first, *rest]):
            called = (dotted(function) or "").rpartition(".")[2]
            if called in ("state", "moment"):
                if dotted(first) in _ZEROS:
                    return bool(rest) and _is_scalar_shape(rest[0])
                return _is_zero(first)
            if called == "zeros":
                return _is_scalar_shape(first)
            return called in _ARRAYS and _is_zero(first)
    return False


def _is_scalar_shape(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple | ast.List) and not node.elts


def one_more(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The number and the 1 of `n + 1`, and of `1 + n`; None for anything else."""
    match node:
        case ast.BinOp(left=number, op=ast.Add(), right=one) if _is_one(one):
            return number, one
        case ast.BinOp(left=one, op=ast.Add(), right=number) if _is_one(one):
            return number, one
    return None


def _is_next(node: ast.BinOp, name: str) -> bool:
    """Whether an expression is `self.name + 1`."""
    found = one_more(node)
    return found is not None and self_attribute(found[0]) == name


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, 1.0)


def _raises(
    statement: ast.stmt, method: ast.FunctionDef, sums: list[ast.BinOp]
) -> bool:
    """Whether a statement raises the count by 1, by way of a local, too."""
    match statement:
        case ast.AugAssign(op=ast.Add(), value=value):
            return _is_one(value)
        case ast.Assign(value=ast.Name(id=local)):
            bound = [n for n in walk(method) if isinstance(n, ast.Assign)]
            values = [
                n.value
                for n in bound
                for t in n.targets
                if isinstance(t, ast.Name) and t.id == local
            ]
            return len(values) == 1 and values[0] in sums
        case ast.Assign(value=value):
            return value in sums
    return False


def _is_after(
    use: ast.expr, statement: ast.stmt, order: int, method: ast.FunctionDef
) -> bool | None:
    """Whether a place is reached after the count is raised; None where that is not certain."""
    raised = _ORDER.index(method.name)
    if order != raised:
        return order > raised
    place = next(i for i, s in enumerate(method.body) if s is statement)
    at = next(i for i, s in enumerate(method.body) if use in [*walk(s)])
    inside = isinstance(method.body[at], ast.FunctionDef) or any(
        use in [*walk(n)]
        for n in walk(method.body[at])
        if isinstance(n, ast.Lambda | ast.FunctionDef)
    )
    return None if inside and at < place else at > place
