"""Distributions of distrax and TensorFlow Probability that are returned, as the arrays that they are made of.

return distrax.Categorical(logits=x), value      becomes    return x, value

What is asked of them, `log_prob` and `sample`, is asked where the layer is called.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_LIBRARIES = ("distrax", "tensorflow_probability")
_CHOICE = ("logits", "probs")
_PARTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Categorical", "OneHotCategorical", "Bernoulli"), _CHOICE),
    **dict.fromkeys(("Normal", "LogNormal", "Laplace", "Logistic"), ("loc", "scale")),
    "MultivariateNormalDiag": ("loc", "scale_diag"),
    "MultivariateNormalTri": ("loc", "scale_tri"),
    "MultivariateNormalTriL": ("loc", "scale_tril"),
    "Deterministic": ("loc",),
    "Independent": ("distribution",),
    **dict.fromkeys(("Transformed", "TransformedDistribution"), ("distribution",)),
    "MixtureSameFamily": ("mixture_distribution", "components_distribution"),
}
"""What a distribution is made of, in the order of its arguments."""


def without_returned_distributions(origin: Origin, notes: Notes) -> None:
    """Write them so, in place, with a remark for each; others stay."""
    if not any(library in origin.text for library in _LIBRARIES):
        return
    for node in origin.classes.values():
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _Written(origin, notes, _kept(origin, method)).visit(method)
    located(origin.tree)


def _kind(origin: Origin, node: ast.AST | None) -> str:
    """Which distribution a call makes; "" where it makes none that is known."""
    if not isinstance(node, ast.Call):
        return ""
    func = node.func
    full = origin.qualified(func)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        # tfd = tfp.distributions
        full = full or f"{_alias(origin, func.value.id)}.{func.attr}"
    last = full.rpartition(".")[2]
    return last if full.startswith(_LIBRARIES) and last in _PARTS else ""


def _alias(origin: Origin, title: str) -> str:
    """The full name of what a file binds to a name; "" where that is no part of a module."""
    for part in origin.tree.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                if local == title:
                    return origin.qualified(value)
    return ""


def _kept(origin: Origin, method: ast.FunctionDef) -> set[int]:
    """The calls whose distributions something else is done with than that they are returned."""
    made: dict[str, list[ast.expr]] = {}
    for part in walk(method):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value) if _kind(
                origin, value
            ):
                made.setdefault(local, []).append(value)
    handed = set[int]()
    for part in walk(method):
        if isinstance(part, ast.Return):
            handed |= {id(p) for p in _handed(part.value)}
        elif isinstance(part, ast.Assign):
            handed.add(id(part.value))
        elif isinstance(part, ast.Call) and _kind(origin, part):
            handed |= {id(a) for a in (*part.args, *(k.value for k in part.keywords))}
    other = {
        n.id
        for n in walk(method)
        if isinstance(n, ast.Name)
        and n.id in made
        and isinstance(n.ctx, ast.Load)
        and id(n) not in handed
    }
    bound = {id(v) for values in made.values() for v in values}
    return {
        id(call)
        for call in walk(method)
        if _kind(origin, call)
        and (
            any(id(call) == id(v) for local in other for v in made[local])
            or not {id(call)} & (bound | handed)
        )
    }


def _handed(node: ast.expr | None) -> list[ast.expr]:
    """What is returned, one by one."""
    match node:
        case None:
            return []
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return [p for e in elts for p in _handed(e)]
        case ast.Dict(values=values):
            return [p for v in values for p in _handed(v)]
        case ast.IfExp(body=body, orelse=orelse):
            return [*_handed(body), *_handed(orelse)]
        case ast.Call(keywords=keywords, args=args) if not is_name(node.func, "self"):
            return [node, *args, *(k.value for k in keywords)]
    return [node]


class _Written(NodeTransformer):
    """Writes calls that make distributions as the arrays."""

    def __init__(self, origin: Origin, notes: Notes, kept: set[int]):
        self.origin, self.notes, self.kept = origin, notes, kept

    def visit_Call(self, node: ast.Call) -> ast.expr:
        kind = _kind(self.origin, node) if id(node) not in self.kept else ""
        text = ast.unparse(node)
        self.generic_visit(node)
        places = _PARTS.get(kind, ())
        given = dict(zip(places, node.args, strict=False))
        given |= {str(k.arg): k.value for k in node.keywords}
        parts = [given[p] for p in places if p in given]
        if not parts or (len(parts) != len(places) and places != _CHOICE):
            return node
        said = " and ".join(f"`{p}`" for p in places if p in given)
        self.notes.remark(
            node,
            f"`{text}` is returned as the arrays that it is made of, {said}",
            "make the distribution of them where the layer is called",
        )
        made = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
        return ast.copy_location(made, node)
