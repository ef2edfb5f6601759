"""Lambdas that call each layer of a list, as functions with a name, whose lines are their own.

y = jax.vmap(lambda h: jnp.stack([c(h) for c in self.critics]))(x)
becomes
def each(h):
    return jnp.stack([c(h) for c in self.critics])
y = jax.vmap(each)(x)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import self_attribute, targets
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk

_LISTS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)


def with_named_lambdas(method: ast.FunctionDef) -> None:
    """Write them so, in place."""
    taken = {p.id for p in walk(method) if isinstance(p, ast.Name)}
    taken |= {p.arg for p in walk(method) if isinstance(p, ast.arg)}
    for node in list(walk(method)):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [s for p in block for s in _named(p, taken)])
    located(method)


def _named(node: ast.stmt, taken: set[str]) -> list[ast.stmt]:
    """A statement, behind the functions that its lambdas are."""
    if not isinstance(node, ast.Assign | ast.Return | ast.Expr):
        return [node]
    lambdas = _Lambdas(taken)
    lambdas.visit(node)
    return [*(ast.copy_location(f, node) for f in lambdas.found), node]


class _Lambdas(NodeTransformer):
    def __init__(self, taken: set[str]):
        self.taken = taken
        self.found: list[ast.FunctionDef] = []

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        if not any(map(_calls_each, walk(node.body))):
            return node
        title, count = "each", 1
        while title in self.taken:
            count += 1
            title = f"each_{count}"
        self.taken.add(title)
        made = ast.FunctionDef(title, node.args, [ast.Return(node.body)], [], None)
        self.found.append(made)
        return ast.copy_location(ast.Name(title, ast.Load()), node)


def _calls_each(node: ast.AST) -> bool:
    """Whether a comprehension goes over a list of an object and calls what it finds there."""
    if not isinstance(node, _LISTS):
        return False
    sources = [self_attribute(p) for g in node.generators for p in walk(g.iter)]
    bound = {t for g in node.generators for t in targets(g.target)}
    calls = (p.func for p in walk(node) if isinstance(p, ast.Call))
    return any(sources) and any(getattr(func, "id", "") in bound for func in calls)
