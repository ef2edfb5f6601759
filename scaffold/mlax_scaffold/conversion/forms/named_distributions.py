"""Distributions that PyTorch's code makes in a property, or where it reads them, as locals.

@property
def prior(self):                                            prior = Normal(self.loc, self.scale)
    return Normal(self.loc, self.scale)      becomes        return prior.log_prob(z)

return self.prior.log_prob(z)
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mlax_scaffold.conversion.source.trees import (
    AT_ONCE,
    LATER,
    names,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

Told = Callable[[ast.expr], bool]


def with_named_distributions(tree: ast.Module, is_distribution: Told) -> None:
    """Write them so, in place.

    Args:
        tree: of a file.
        is_distribution: whether an expression makes a distribution that is known.
    """
    for node in [n for n in walk(tree) if isinstance(n, ast.ClassDef)]:
        made = {
            m.name: value
            for m in node.body
            if isinstance(m, ast.FunctionDef)
            if (value := _returned(m)) is not None and is_distribution(value)
        }
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and part.name not in made:
                _OfProperties(made).visit(part)
        read = {self_attribute(p) for p in walk(node)}
        gone = {*made} - read
        node.body = [m for m in node.body if getattr(m, "name", "") not in gone]
    for function in [n for n in walk(tree) if isinstance(n, ast.FunctionDef)]:
        _name(function, is_distribution)
    located(tree)


def _returned(method: ast.FunctionDef) -> ast.expr | None:
    """What a property computes in one expression."""
    if [ast.unparse(d) for d in method.decorator_list] != ["property"]:
        return None
    match without_docstring(method.body):
        case [ast.Return(value=value)]:
            return value
    return None


class _OfProperties(NodeTransformer):
    def __init__(self, made: dict[str, ast.expr]):
        self.made = made

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        value = self.made.get(self_attribute(node.value) or "")
        if value is not None:
            node.value = ast.copy_location(cloned(value), node.value)
        return node


def _name(function: ast.FunctionDef, is_distribution: Told) -> None:
    """Bind what is read where it is made to a local of its own."""
    taken = names(function) | {a.arg for a in walk(function) if isinstance(a, ast.arg)}
    for owner in walk(function):
        for field in ("body", "orelse"):
            body = getattr(owner, field, None)
            if not isinstance(body, list):
                continue
            written: list[ast.stmt] = []
            for part in body:
                for read in _reads(part, is_distribution):
                    title = next(
                        t
                        for t in (
                            "distribution",
                            *(f"distribution{i}" for i in range(2, 99)),
                        )
                        if t not in taken
                    )
                    taken.add(title)
                    bound = ast.Assign([ast.Name(title, ast.Store())], read.value)
                    read.value = ast.copy_location(ast.Name(title, ast.Load()), read)
                    written.append(ast.copy_location(bound, part))
                written.append(part)
            setattr(owner, field, written)


def _reads(node: ast.AST, is_distribution: Told) -> list[ast.Attribute]:
    """What a statement reads of distributions that it makes itself, each time that it is run."""
    if isinstance(node, ast.stmt) and not isinstance(node, AT_ONCE):
        return []
    if isinstance(node, LATER):
        return []
    found = [r for c in ast.iter_child_nodes(node) for r in _reads(c, is_distribution)]
    if isinstance(node, ast.Attribute) and is_distribution(node.value):
        found.append(node)
    return found
