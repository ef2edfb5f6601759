"""Arrays that a constructor of equinox computes: weights, as all that hold floating numbers are there."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names, self_attribute, targets
from mlax_scaffold.conversion.source.walking import walk

_FLOATING = frozenset(
    (
        *("zeros", "ones", "eye", "linspace", "logspace", "geomspace", "identity"),
        *(
            "sin",
            "cos",
            "tan",
            "exp",
            "log",
            "sqrt",
            "tanh",
            "power",
            "hanning",
            "hamming",
        ),
        *("log2", "log10", "exp2", "expm1", "log1p", "reciprocal", "cosh", "sinh"),
    )
)
_OTHERS = ("int", "uint", "bool", "complex")
_WHOLE = frozenset(
    ("argsort", "argmax", "argmin", "floor_divide", "nonzero", "digitize", "iscomplex")
)


def is_floating(value: ast.expr, setup: Iterable[ast.stmt]) -> bool:
    """Whether an array is certainly one of floating numbers, also where it is computed of locals."""
    trees: list[ast.AST] = [value]
    wanted = names(value)
    for part in reversed([*setup]):
        if isinstance(part, ast.Assign) and {*targets(part)} & wanted:
            wanted |= names(part.value)
            trees.append(part.value)
    parts = [p for tree in trees for p in walk(tree)]
    if any(isinstance(p, ast.Compare) or _is_other(p) for p in parts):
        return False
    return any(
        (isinstance(p, ast.Call) and _last(p.func) in _FLOATING)
        or (isinstance(p, ast.Constant) and isinstance(p.value, float))
        or (isinstance(p, ast.BinOp) and isinstance(p.op, ast.Div))
        for p in parts
    )


def is_detached(origin: Origin, node: ast.AST, attribute: str) -> bool:
    """Whether a class reads an array without its gradient alone: `lax.stop_gradient(self.grid)`.

    What is mapped over examples by `jax.vmap` has no states, of which each would have one: it is a weight
    there, whose gradient is stopped.
    """
    reads = [
        p
        for p in walk(node)
        if self_attribute(p) == attribute and isinstance(p.ctx, ast.Load)  # type: ignore[attr-defined]
    ]
    detached = {
        id(a)
        for p in walk(node)
        if isinstance(p, ast.Call)
        and origin.qualified(p.func) == "jax.lax.stop_gradient"
        for a in p.args
    }
    if not reads or not all(id(p) in detached for p in reads):
        return False
    return not any(_maps(origin, other, node) for other in origin.classes.values())


def _maps(origin: Origin, node: ast.ClassDef, part: ast.AST) -> bool:
    """Whether a class maps a layer of another one that it holds: `jax.vmap(self.encoding)`."""
    title = getattr(part, "name", "")
    holding = {
        self_attribute(target)
        for p in walk(node)
        if isinstance(p, ast.Assign) and title in names(p.value)
        for target in p.targets
    } - {None}
    return any(
        isinstance(p, ast.Call)
        and origin.qualified(p.func) == "jax.vmap"
        and any(self_attribute(inner) in holding for a in p.args for inner in walk(a))
        for p in (walk(node) if holding else ())
    )


def is_static(node: ast.ClassDef | ast.FunctionDef, attribute: str) -> bool:
    """Whether a field is declared to be none of the arrays: `eqx.field(static=True)`."""
    return any(
        isinstance(part, ast.AnnAssign)
        and getattr(part.target, "id", "") == attribute
        and part.value is not None
        and "static=True" in ast.unparse(part.value)
        for part in node.body
    )


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_other(node: ast.AST) -> bool:
    """Whether something is a dtype of no floating numbers, or makes such."""
    if isinstance(node, ast.Attribute | ast.Name):
        title = _last(node)
        return title.startswith(_OTHERS) or title in _WHOLE
    return False


def counts(value: ast.expr) -> bool:
    """Whether an array is made of numbers that stand there, or follow one another."""
    return any(
        isinstance(p, ast.Call)
        and getattr(p.func, "attr", "") in ("arange", "array", "asarray")
        for p in walk(value)
    )


def makes_array(origin: Origin, node: ast.AST) -> bool:
    called = isinstance(node, ast.Call) and origin.qualified(node.func)
    return isinstance(called, str) and called.startswith("jax.numpy.")
